"""Simulates a mapped netlist with cells made from the Liberty file, checks digests, counts energy.

Model of the energy. Every net: 0.5 C V^2 a transition, C the sum of the input pins it drives, no wires.
Every cell: the library's internal energy of each pin's transitions, at the transition time of a gate
with fanout four and at the net's load, the mean over the library's conditions. Leakage times the time.
Delays are the library's mean arc at the same point, inertial, so that glitches count as a gate filters
them. The clock is ideal: its pins count, no clock tree does.
"""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

from designs import RTL
from liberty import Expression, Table

HERE = Path(__file__).resolve().parent
PERIOD_PS = 27778  # 36 MHz

sys.path.insert(0, str(HERE.parents[2] / "ref"))
import sm3  # noqa: E402


class SimulationError(Exception):
    """A simulation that failed or gave a wrong digest."""


def messages():
    """One, two, two and nine blocks: lengths at both sides of the padding's boundary."""
    long = b"".join(hashlib.sha256(bytes([i])).digest() for i in range(18))
    return [b"abc", bytes(range(56)), long[:119], long[:9 * 64 - 9]]


def write_messages(folder):
    padded = [sm3.pad(m) for m in messages()]
    data = b"".join(padded)
    words = [data[i:i + 4].hex() for i in range(0, len(data), 4)]
    (folder / "words.hex").write_text("\n".join(words) + "\n")
    (folder / "blocks.hex").write_text("\n".join(f"{len(p) // 64:x}" for p in padded) + "\n")
    return {"WORDS": len(words), "MESSAGES": len(padded)}


def cell_model(cell):
    """A cell as Verilog; D_<pin> is the delay of an output in ps."""
    ports = ", ".join(cell.inputs + cell.outputs)
    lines = [f"module {cell.name} ({ports});"]
    lines += [f"    parameter D_{o} = 1;" for o in cell.outputs]
    lines += [f"    input {i};" for i in cell.inputs] + [f"    output {o};" for o in cell.outputs]
    if cell.is_gate:
        pin = {role: next(n for n, p in cell.pins.items() if p.flag(f"clock_gate_{role}_pin"))
               for role in ("enable", "clock", "out")}
        lines += ["    reg open;", f"    always @* if (!{pin['clock']}) open = {pin['enable']};",
                  f"    assign {pin['out']} = {pin['clock']} & open;"]
    elif cell.ff:
        lines += flip_flop_model(cell)
    else:
        lines += [f"    assign #(D_{o}) {o} = {f.verilog()};" for o, f in cell.functions.items()]
    return "\n".join(lines + ["endmodule", ""])


def flip_flop_model(cell):
    """State at power-up is random, as in silicon; an unknown one would spread through multiplexers."""
    state, inverse = cell.ff.args
    clock = Expression(cell.ff.get("clocked_on")).verilog()
    value = Expression(cell.ff.get("next_state")).verilog()
    lines = [f"    reg {state};", f"    wire {inverse} = ~{state};", f"    initial {state} = $random;",
             f"    wire edge_now = {clock};"]
    edges, body = ["posedge edge_now"], f"{state} <= {value};"
    for name, attribute, constant in (("set_now", "preset", 1), ("clear_now", "clear", 0)):
        if cell.ff.get(attribute):
            lines.append(f"    wire {name} = {Expression(cell.ff.get(attribute)).verilog()};")
            edges.append(f"posedge {name}")
            body = f"if ({name}) {state} <= 1'b{constant}; else {body}"
    lines.append(f"    always @({' or '.join(edges)}) {body}")
    return lines + [f"    assign #(D_{o}) {o} = {f.verilog()};" for o, f in cell.functions.items()]


class Netlist:
    """Yosys' JSON of one flat module: cells with pins on numbered nets, ports."""

    def __init__(self, path, library):
        self.library = library
        modules = json.loads(Path(path).read_text())["modules"]
        self.name, top = next((n, m) for n, m in modules.items() if m.get("attributes", {}).get("top"))
        self.ports = top["ports"]
        self.cells = [(library.cells[c["type"]], {p: b[0] for p, b in c["connections"].items()})
                      for c in top["cells"].values()]
        self.load = {}
        for cell, pins in self.cells:
            for pin in cell.inputs:
                net = pins.get(pin)
                if isinstance(net, int):
                    self.load[net] = self.load.get(net, 0.0) + cell.capacitance(pin)

    @staticmethod
    def wire(bit):
        return f"n{bit}" if isinstance(bit, int) else "1'b" + (bit if bit in "01" else "0")

    def verilog(self, delays):
        """The netlist with each output's delay, its nets named by number."""
        nets = sorted({b for _, pins in self.cells for b in pins.values() if isinstance(b, int)}
                      | {b for p in self.ports.values() for b in p["bits"] if isinstance(b, int)})
        heads, lines = [], [f"wire n{n};" for n in nets]
        for name, port in self.ports.items():
            width = len(port["bits"])
            heads.append(f"{port['direction']} [{width - 1}:0] {name}" if width > 1
                         else f"{port['direction']} {name}")
            for i, bit in enumerate(port["bits"]):
                outer = f"{name}[{i}]" if width > 1 else name
                if port["direction"] == "input":
                    lines.append(f"assign n{bit} = {outer};")
                else:
                    lines.append(f"assign {outer} = {self.wire(bit)};")
        for i, ((cell, pins), delay) in enumerate(zip(self.cells, delays)):
            values = ", ".join(f".D_{o}({d})" for o, d in delay.items())
            links = ", ".join(f".{p}({self.wire(b)})" for p, b in pins.items())
            lines.append(f"{cell.name} #({values}) u{i} ({links});")
        return f"module {self.name} ({', '.join(heads)});\n" + "\n".join(lines) + "\nendmodule\n"


class Characteristics:
    """Delays and energies of the library's pins at one transition time, looked up by load."""

    def __init__(self, library):
        self.library, self.slew, self.known = library, library.slew(), {}

    def _tables(self, cell, pin, kind, names):
        """Per name, the tables of all groups `kind` of the pin (one for each related pin and state)."""
        key = (cell.name, pin, kind)
        if key not in self.known:
            groups = cell.pins[pin].sub(kind)
            self.known[key] = [[Table(t, self.library.templates) for g in groups for t in g.sub(name)]
                               for name in names]
        return self.known[key]

    def delay_ps(self, cell, pin, load):
        rise, fall = self._tables(cell, pin, "timing", ("cell_rise", "cell_fall"))
        tables = rise + fall
        if not tables:
            return 1
        mean = sum(t.at(self.slew, load) for t in tables) / len(tables)
        return max(1, round(mean * self.library.time * 1e12))

    def internal_pj(self, cell, pin, load):
        """(rise, fall): the mean over the pin's tables; `power` counts for both."""
        rise, fall, both = self._tables(cell, pin, "internal_power", ("rise_power", "fall_power", "power"))

        def mean(tables):
            return sum(t.at(self.slew, load) for t in tables) / len(tables) if tables else 0.0

        unit = self.library.farad * 1e12  # Liberty: the unit of load times volt squared
        return mean(rise + both) * unit, mean(fall + both) * unit


def simulate(design, folder, sources, defines, parameters):
    """Compiles and runs a testbench; (digests, [(blocks, cycles)])."""
    folder.mkdir(parents=True, exist_ok=True)
    defines = {**defines, **write_messages(folder), "PERIOD": PERIOD_PS,
               "PARAMETERS": "#(" + ", ".join(f".{k}({v})" for k, v in parameters.items()) + ")"
               if parameters else ""}
    flags = [f"-D{k}={v}" for k, v in defines.items()]
    build = subprocess.run(
        ["iverilog", "-g2005", "-gno-specify", f"-I{HERE / 'tb'}", f"-I{design.files()[0].parent}", "-s", "tb",
         "-o", "sim.vvp", *flags, str(HERE / "tb" / f"{design.port}.v"), *map(str, sources)],
        cwd=folder, text=True, capture_output=True, check=False)
    if build.returncode:
        raise SimulationError(f"{design.name}: iverilog failed:\n{build.stderr[-1500:]}")
    run = subprocess.run(["vvp", "-n", "sim.vvp"], cwd=folder, text=True, capture_output=True,
                         timeout=600, check=False)
    (folder / "sim.log").write_text(run.stdout + run.stderr)
    digests = re.findall(r"^DIGEST ([0-9a-fxz]+)$", run.stdout, re.M)
    cycles = [tuple(map(int, m)) for m in re.findall(r"^CYCLES (\d+) (\d+)$", run.stdout, re.M)]
    expected = [sm3.sm3(m).hex() for m in messages()]
    if run.returncode or digests != expected or "ERROR" in run.stdout:
        raise SimulationError(f"{design.name}: wrong digests, {folder}/sim.log:\n{run.stdout[-600:]}{run.stderr[-600:]}")
    return cycles


def cycles_per_block(cycles):
    """Block to block: what eight more blocks of one message cost."""
    (short, few), (long, many) = cycles[0], cycles[-1]
    return (many - few) / (long - short)


def measure_source(design, folder):
    """Cycles a block of the design as written."""
    return cycles_per_block(simulate(design, folder, design.files(), {}, design.parameters))


def measure_gates(design, library, netlist_path, folder, energy):
    """Digests of the mapped netlist; with `energy`, what a block takes."""
    folder.mkdir(parents=True, exist_ok=True)
    netlist, known = Netlist(netlist_path, library), Characteristics(library)
    delays = [{o: 0 if cell.is_gate else known.delay_ps(cell, o, netlist.load.get(pins.get(o), 0.0))
               for o in cell.outputs} for cell, pins in netlist.cells]
    used = sorted({cell.name: cell for cell, _ in netlist.cells}.items())
    (folder / "cells.v").write_text("`timescale 1ps / 1ps\n" + "".join(cell_model(c) for _, c in used))
    (folder / "gates.v").write_text("`timescale 1ps / 1ps\n" + netlist.verilog(delays))
    cycles = simulate(design, folder, [folder / "gates.v", folder / "cells.v"],
                      {"ENERGY": 1} if energy else {}, {})
    result = {"cycles_per_block": cycles_per_block(cycles)}
    if energy:
        rises, falls = transitions(folder / "energy.vcd")
        (folder / "energy.vcd").unlink()
        blocks, long = cycles[-1]
        result.update(energy_of(netlist, known, rises, falls, blocks, long))
    return result


def transitions(path):
    """Rises and falls of each numbered net in a VCD."""
    names, counts = {}, {}
    with open(path, encoding="ascii") as vcd:
        for line in vcd:
            if line.startswith("$var"):
                field = line.split()
                if re.fullmatch(r"n\d+", field[4]) and field[2] == "1":
                    names[field[3]] = int(field[4][1:])
            elif line.startswith("$dumpvars"):
                break
        for line in vcd:
            if line.startswith("$end"):
                break
        for line in vcd:
            if line.startswith("$dumpoff"):
                break
            counts[line] = counts.get(line, 0) + 1
    rises, falls = {}, {}
    for line, n in counts.items():
        if line[0] in "01" and line[1:-1] in names:
            (rises if line[0] == "1" else falls)[names[line[1:-1]]] = n
    return rises, falls


def energy_of(netlist, known, rises, falls, blocks, cycles):
    library = netlist.library
    switching = sum(load * library.farad * library.voltage ** 2 / 2 * (rises.get(net, 0) + falls.get(net, 0))
                    for net, load in netlist.load.items()) * 1e12
    internal = sequential = 0.0
    for cell, pins in netlist.cells:
        for pin, net in pins.items():
            up, down = rises.get(net, 0), falls.get(net, 0)
            if up or down:
                load = netlist.load.get(net, 0.0) if pin in cell.outputs else 0.0
                rise, fall = known.internal_pj(cell, pin, load)
                internal += rise * up + fall * down
                if cell.ff or cell.is_gate:
                    sequential += rise * up + fall * down
    seconds = cycles * PERIOD_PS * 1e-12
    leakage = sum(cell.leakage() for cell, _ in netlist.cells) * library.watt * seconds * 1e12
    total = switching + internal + leakage
    return {
        "pj_per_block": round(total / blocks, 1),
        "pj_switching": round(switching / blocks, 1), "pj_internal": round(internal / blocks, 1),
        "pj_internal_sequential": round(sequential / blocks, 1),
        "pj_leakage": round(leakage / blocks, 4),
        "mw_at_36_mhz": round(total * 1e-12 / seconds * 1e3, 4),
    }
