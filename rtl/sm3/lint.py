#!/usr/bin/env python3
"""Warnings of Verilator and Icarus Verilog for every design and every value of its parameters, and the
FuseSoC core. A warning is a failure.

Needs verilator, iverilog and fusesoc in PATH.
"""

import argparse
import itertools
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
OUT = ROOT / "target/rtl/lint"
# Folders of modules, each with the tops in it and the values of their parameters.
CORE_PARAMETERS = {"ROUNDS_PER_CYCLE": (1, 2), "V_IN_RAM": (0, 1)}
DESIGNS = {
    "src": {"sm3_core": CORE_PARAMETERS, "sm3_ahb": {**CORE_PARAMETERS, "INPUT_BUFFER": (0, 1)}},
    "compare": {"sm3_paper": {"NESTED": (0, 1)}, "sm3_paper_ahb": {"NESTED": (0, 1), "WIDE": (0, 1)}},
}
CORE = "manylane:crypto:sm3_ahb"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.parse_args()
    OUT.mkdir(parents=True, exist_ok=True)
    results = [check(name, command) for name, command in commands()]
    results += [complaints(f"{path.relative_to(HERE)}: style", path) for folder in DESIGNS for path in sources(folder)]
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    sys.exit(0 if all(results) else 1)


def sources(folder):
    return sorted(HERE.glob(f"{folder}/*.v"))


def commands():
    """Every command, with a name for people."""
    for folder, tops in DESIGNS.items():
        files = [str(path) for path in sources(folder)]
        for top, parameters in tops.items():
            for values in itertools.product(*parameters.values()):
                chosen = dict(zip(parameters, values))
                yield from linters(folder, top, chosen, files)
    fusesoc = ["fusesoc", "--cores-root", str(HERE), "run", "--clean", "--work-root"]
    yield "FuseSoC core", [*fusesoc, str(OUT / "fusesoc"), "--target", "lint", CORE]


def linters(folder, top, chosen, files):
    shown = " ".join([top, *(f"{name}={value}" for name, value in chosen.items())])
    include = f"-I{HERE / folder}"
    yield (
        f"verilator: {shown}",
        ["verilator", "--lint-only", "-Wall", "--default-language", "1364-2005", include]
        + ["--top-module", top, *(f"-G{name}={value}" for name, value in chosen.items()), *files],
    )
    yield (
        f"iverilog: {shown}",
        ["iverilog", "-g2005", "-Wall", "-o", str(OUT / "icarus.vvp"), include, "-s", top]
        + [f"-P{top}.{name}={value}" for name, value in chosen.items()]
        + files,
    )


def check(name, command):
    """Whether a command succeeds without a word that warns."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=OUT, check=False)
    except FileNotFoundError:
        print(f"{name}: FAILED: no {command[0]} in PATH")
        return False
    said = done.stdout + done.stderr
    passed = done.returncode == 0 and not re.search(r"\bwarning\b|\berror\b", said, re.I)
    print(f"{name}: {'passed' if passed else 'FAILED'}")
    if not passed:
        print(said.rstrip())
    return passed


def complaints(name, path):
    """Whether a file is one module of its name, with no implicit nets before or after it."""
    text = path.read_text(encoding="utf-8")
    modules = re.findall(r"^\s*module\s+(\w+)", text, re.M)
    found = []
    if modules != [path.stem]:
        found.append(f"modules {modules} instead of {path.stem} alone")
    if "`default_nettype none" not in text or "`default_nettype wire" not in text:
        found.append("no `default_nettype none ... wire around the module")
    if re.search(r"^\s*initial\b|#\s*\d|\$(?:display|finish)", text, re.M):
        found.append("something that does not synthesise")
    print(f"{name}: {'passed' if not found else 'FAILED: ' + '; '.join(found)}")
    return not found


if __name__ == "__main__":
    main()
