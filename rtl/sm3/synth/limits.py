"""Keeps a mapped netlist within the library's max_capacitance, changing nothing else.

An output with too much load gets the smallest stronger cell of the same function; where there is none, its readers are
shared out among buffers. What clock gates drive belongs to the clock tree, which is ideal here, as it is for the
flip-flops on the clock itself; so does the reset.
"""

import json
import math
from pathlib import Path

import yosys

UNLIMITED = float("inf")


def repair(source, target, library, output_load):
    """Writes the Yosys JSON `source` within the limits to `target`; (cells made stronger, buffers added)."""
    data = json.loads(Path(source).read_text())
    top = next(m for m in data["modules"].values() if m.get("attributes", {}).get("top"))
    netlist = Mapped(top, library, output_load)
    stronger = set()
    while True:
        loads = netlist.loads()
        over = [name for name in top["cells"] if netlist.overloaded(name, loads)]
        if not over:
            break
        # A stronger cell and a buffer are loads themselves: look again.
        for name in over:
            if netlist.strengthen(name, loads):
                stronger.add(name)
            else:
                netlist.split(name)
    Path(target).write_text(json.dumps(data))
    return len(stronger), netlist.buffers


class Mapped:
    """One flat module of Yosys' JSON, changed in place."""

    def __init__(self, top, library, output_load):
        self.cells, self.ports = top["cells"], top["ports"].values()
        self.library, self.output_load, self.buffers = library, output_load, 0
        bits = [b for c in self.cells.values() for pin in c["connections"].values() for b in pin if isinstance(b, int)]
        self.next_bit = max(bits) + 1

    def kind(self, name):
        return self.library.cells[self.cells[name]["type"]]

    def net(self, name, pin):
        return self.cells[name]["connections"].get(pin, [None])[0]

    def loads(self):
        found = {}
        for name in self.cells:
            for pin in self.kind(name).inputs:
                net = self.net(name, pin)
                found[net] = found.get(net, 0.0) + self.kind(name).capacitance(pin)
        for port in self.ports:
            for bit in port["bits"] if port["direction"] == "output" else ():
                found[bit] = found.get(bit, 0.0) + self.output_load
        return found

    def overloaded(self, name, loads, kind=None):
        kind = kind or self.kind(name)
        return not kind.is_gate and any(loads.get(self.net(name, pin), 0.0) > limit(kind, pin) for pin in kind.outputs)

    def strengthen(self, name, loads):
        now = behaviour(self.kind(name))
        fit = [c for c in self.library.cells.values() if behaviour(c) == now and not self.overloaded(name, loads, c)]
        if fit:
            self.cells[name]["type"] = min(fit, key=lambda c: (c.area, c.name)).name
        return bool(fit)

    def split(self, name):
        """Buffers between the cell's heaviest output and the cells that read it."""
        loads = self.loads()
        net = max((self.net(name, pin) for pin in self.kind(name).outputs), key=lambda n: loads.get(n, 0.0))
        readers = [(reader, pin, self.kind(reader).capacitance(pin)) for reader in self.cells
                   for pin in self.kind(reader).inputs if self.net(reader, pin) == net]
        if not readers:
            raise yosys.YosysError(f"{self.cells[name]['type']} {name}: no cell is strong enough for the outputs it drives")
        total = sum(load for _, _, load in readers)
        buffer = min(self.library.buffers(), key=lambda c: (c.area * math.ceil(total / limit(c, c.outputs[0])), c.name))
        room, bit = 0.0, None
        for reader, pin, load in readers:
            if load > room:
                bit, room = self.add_buffer(buffer, net), limit(buffer, buffer.outputs[0])
            self.cells[reader]["connections"][pin] = [bit]
            room -= load

    def add_buffer(self, buffer, net):
        bit, self.next_bit = self.next_bit, self.next_bit + 1
        self.cells[f"$limit${self.buffers}"] = {
            "hide_name": 1, "type": buffer.name, "parameters": {}, "attributes": {},
            "port_directions": {buffer.inputs[0]: "input", buffer.outputs[0]: "output"},
            "connections": {buffer.inputs[0]: [net], buffer.outputs[0]: [bit]}}
        self.buffers += 1
        return bit


def limit(cell, pin):
    return cell.pins[pin].number("max_capacitance", UNLIMITED)


def behaviour(cell):
    state = [(g.name, g.args, sorted(g.attrs.items(), key=str)) for g in (cell.ff, cell.latch) if g]
    return (sorted(cell.inputs), {pin: cell.pins[pin].get("function") for pin in cell.outputs}, state, cell.is_gate)
