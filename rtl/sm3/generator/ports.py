"""Parameters and ports of a Verilog module, as its header declares them."""

import dataclasses
import re
import sys

PARAMETER = re.compile(r"^\s*parameter\s+(?:integer\s+)?(?P<name>\w+)\s*=\s*(?P<value>\w+)", re.M)
PORT = re.compile(
    r"^\s*(?P<way>input|output)\s+(?:wire\s+|reg\s+)?(?:\[(?P<high>\d+):0\]\s*)?(?P<name>\w+)\s*,?\s*$",
    re.M,
)


@dataclasses.dataclass(frozen=True)
class Port:
    name: str
    way: str
    width: int


def of_module(path):
    """Its parameters with their defaults, and its ports, in order. One declaration a line."""
    text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
    header = re.search(rf"\bmodule\s+{path.stem}\b(.*?);", text, re.S)
    if header is None:
        sys.exit(f"error: {path.name} declares no module {path.stem}")
    parameters = {found["name"]: found["value"] for found in PARAMETER.finditer(header[1])}
    ports = [
        Port(found["name"], "in" if found["way"] == "input" else "out", int(found["high"] or 0) + 1)
        for found in PORT.finditer(header[1])
    ]
    declared = len(re.findall(r"\b(?:input|output)\b", header[1]))
    if len(ports) != declared:
        sys.exit(f"error: {path.name}: {len(ports)} of {declared} ports were understood")
    return parameters, ports
