"""Which additions lie on the longest chains of additions from register to register.

A design's slowest paths go through the most additions. Those on shorter chains have time to spare, so
that the speed script may give them fewer cells. It is asked of the netlist of words, for every design alike.
"""

import collections
import json
from pathlib import Path


def spare_additions(path, shortest=8):
    """Names of the $alu cells of at least `shortest` bits that no longest chain goes through."""
    modules = json.loads(Path(path).read_text())["modules"]
    top = next(m for m in modules.values() if m.get("attributes", {}).get("top"))
    cells = {name: cell for name, cell in top["cells"].items() if combinational(cell)}
    driver = {bit: name for name, cell in cells.items() for bit in bits(cell, "output")}
    before = {name: {driver[b] for b in bits(cell, "input") if b in driver} for name, cell in cells.items()}
    after = collections.defaultdict(set)
    for name, sources in before.items():
        for source in sources:
            after[source].add(name)
    adders = {name for name, cell in cells.items() if cell["type"] == "$alu"
              and int(cell["parameters"]["Y_WIDTH"], 2) >= shortest}
    order = topological(before, after)
    into = depths(order, before, adders)
    out = depths(reversed(order), after, adders)
    through = {name: into[name] + out[name] - 1 for name in adders if name in into}
    longest = max(through.values(), default=0)
    return sorted(name for name, n in through.items() if n < longest)


def combinational(cell):
    """Neither flip-flops nor cells of the library (clock gates)."""
    return cell["type"].startswith("$") and not cell["type"].startswith(("$_DFF", "$_SDFF", "$_ALDFF", "$_SR"))


def bits(cell, direction):
    return [b for port, kind in cell["port_directions"].items() if kind == direction
            for b in cell["connections"][port] if isinstance(b, int)]


def topological(before, after):
    """Cells after all that they read; words that only seem to form loops are left out."""
    missing = {name: len(sources) for name, sources in before.items()}
    ready = [name for name, n in missing.items() if n == 0]
    order = []
    while ready:
        name = ready.pop()
        order.append(name)
        for reader in after[name]:
            missing[reader] -= 1
            if missing[reader] == 0:
                ready.append(reader)
    return order


def depths(order, sources, adders):
    """The most additions up to and with each cell."""
    depth = {}
    for name in order:
        depth[name] = max((depth.get(s, 0) for s in sources[name]), default=0) + (name in adders)
    return depth
