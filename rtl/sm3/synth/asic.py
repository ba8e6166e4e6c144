"""Standard cells: Yosys and ABC map a design to a Liberty library, OpenSTA times it."""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

import chains
import limits
import yosys

HERE = Path(__file__).resolve().parent
FLOOR_MHZ = 36  # the paper's clock: what the area script has to meet
CONDITIONS = ("typical corner; ideal clock, no wires; inputs from the smallest buffer without external delay, "
              "outputs drive four 2-input NANDs; Fmax over all paths, fmax_reg_reg_mhz from register to register; "
              "1 GE is the area of the library's smallest 2-input NAND; clock gates are counted")


@dataclass(frozen=True)
class Recipe:
    """How additions are built (`FULL_ADDER`: rows of the library's cell) and which ABC script maps.

    `spare` is for additions on shorter chains than the longest (chains.py).
    """
    adder: str
    spare: str
    abc: str
    target_ps: int
    gate_from: int  # flip-flops from which a common enable becomes a clock gate

    @property
    def name(self):
        return f"{self.abc}-{self.adder.lower()}-{self.spare.lower()}-{self.target_ps}-{self.gate_from}"


# Every design is mapped by every recipe of a script; `area` keeps the smallest that meets FLOOR_MHZ;
# `speed`, of those within SPEED_MARGIN of the fastest, the one with the most throughput for its area.
# The lists are the outcome of a search on these designs (README.md).
SPEED_MARGIN = 0.97
SCRIPTS = {
    "area": [
        Recipe("FULL_ADDER", "FULL_ADDER", "area-buffers", 27000, 3),
        Recipe("FULL_ADDER", "FULL_ADDER", "area", 27000, 3),
        Recipe("RIPPLE", "RIPPLE", "area", 27000, 3),
    ],
    "speed": [
        Recipe("KOGGE_STONE", "BRENT_KUNG", "speed", 3300, 3),
        Recipe("KOGGE_STONE", "KOGGE_STONE", "speed", 3300, 3),
        Recipe("SKLANSKY", "BRENT_KUNG", "speed", 3300, 3),
    ],
}


def output_load(library):
    """What an output drives: four of the smallest NANDs, in the library's unit."""
    return 4 * library.nand2.capacitance(library.nand2.inputs[0])


def prepare_library(library, folder):
    """Writes what the tools read: lib.lib (all), abc.lib (gates), driver and load, FA mapping."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)

    def mappable(cell):
        # Flip-flops of more than one data input (scan, enable) are larger than gates around a plain one.
        return not cell.ff or re.fullmatch(r"\(?\w+\)?", cell.ff.get("next_state")) is not None

    library.write(folder / "lib.lib", mappable)
    library.write(folder / "abc.lib",
                  lambda c: c.combinational and len(c.outputs) == 1 and c.inputs)
    load = output_load(library) * library.farad
    (folder / "constr").write_text(
        f"set_driving_cell {library.buffer().name}\nset_load {load * 1e15:.3f}\n")
    adder = library.full_adder()
    if adder:
        cell, total, carry = adder
        pins = ", ".join(f".{pin}({net})" for pin, net in zip(cell.inputs, "abc"))
        (folder / "full_adder.v").write_text(
            '(* techmap_celltype = "$__FULL_ADDER" *)\n'
            "module full_adder (input a, b, c, output sum, carry);\n"
            f"    {cell.name} _TECHMAP_REPLACE_ ({pins}, .{total}(sum), .{carry}(carry));\n"
            "endmodule\n")


def elaborate(design):
    """The commands from the sources to a flat netlist of words."""
    include = f"-I{design.files()[0].parent}"
    commands = [f"read_verilog {include} {path}" for path in design.files()]
    if design.parameters:
        values = " ".join(f"-set {k} {v}" for k, v in design.parameters.items())
        commands.append(f"chparam {values} {design.top}")
    return commands + [
        f"hierarchy -check -top {design.top}", "proc", "flatten", "opt_expr", "opt_clean",
        "check -assert", "opt -nodffe -nosdff", "fsm", "opt -nosdff", "wreduce", "peepopt",
        "opt_clean", "alumacc", "share", "opt -nosdff", "memory -nomap", "opt_clean", "memory_map",
        "opt -undriven -fine -nosdff",
    ]


def gate_clocks(library, gate_from):
    cell = library.clock_gate()
    if cell is None:
        return []
    pin = {role: next(n for n, p in cell.pins.items() if p.flag(f"clock_gate_{role}_pin"))
           for role in ("enable", "clock", "out")}
    # The pass counts cells: of one bit each.
    return ["simplemap t:$*ff*", "opt_dff -nosdff", f"clockgate -pos {cell.name} {pin['enable']}:{pin['clock']}:{pin['out']}"
            f" -min_net_size {gate_from}", "opt -nosdff -nodffe"]


def words_commands(design, library, recipe):
    """Clock gates, if the design is to have them, and carry-save sums: the netlist that chains.py looks at."""
    gates = gate_clocks(library, recipe.gate_from) if design.gates else []
    return gates + ["maccmap", "opt_clean", "write_rtlil words.il", "write_json words.json"]


def map_commands(library, shared, recipe, spare):
    """The commands from words to the library's cells; `shared` is prepare_library's folder."""
    commands = ["read_rtlil words.il"]
    if recipe.adder == "FULL_ADDER":
        commands.append(f"techmap -map {HERE}/full_adders.v t:$alu t:$fa")
    adder, rest = ("RIPPLE" if a == "FULL_ADDER" else a for a in (recipe.adder, recipe.spare))
    if spare and rest != adder:
        commands.append(f"techmap -map {HERE}/adders.v -D {rest} " + " ".join(f"c:{name}" for name in spare))
    commands += [
        f"techmap -map {HERE}/adders.v -D {adder} t:$alu", "techmap", "opt -fast -nosdff -nodffe",
        f"dfflibmap -liberty {shared}/lib.lib", "opt -fast -nosdff -nodffe",
    ]
    if recipe.adder == "FULL_ADDER":
        commands.append(f"techmap -map {shared}/full_adder.v")
    commands += [
        "opt_clean -purge", f"abc -liberty {shared}/abc.lib -constr {shared}/constr -script map.abc",
        "opt_clean -purge",
    ]
    tie = library.tie()
    if tie:
        (high, one), (low, zero) = tie[1], tie[0]
        commands.append(f"hilomap -singleton -hicell {high.name} {one} -locell {low.name} {zero}")
    return commands + ["write_json mapped.json"]


def finish_commands(shared):
    """The netlist within the library's limits (limits.py)."""
    # OpenSTA 2.0 reads no concatenations: one net a bit, no assignments of vectors.
    return [
        "read_json limited.json",
        "write_json netlist.json", "splitnets -ports -format __", "opt_clean -purge",
        "check -mapped", f"tee -q -o stat.json stat -json -liberty {shared}/lib.lib",
        "write_verilog -noattr -noexpr -nohex netlist.v",
    ]


def synthesise(design, library, shared, recipe, folder):
    """Maps `design` in `folder`; its figures."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    script = (HERE / "abc" / f"{recipe.abc}.abc").read_text()
    (folder / "map.abc").write_text(script.replace("{D}", str(recipe.target_ps)))
    yosys.run(elaborate(design) + words_commands(design, library, recipe), folder, "words")
    spare = chains.spare_additions(folder / "words.json")
    yosys.run(map_commands(library, shared, recipe, spare), folder, "synth")
    stronger, buffers = limits.repair(folder / "mapped.json", folder / "limited.json", library, output_load(library))
    yosys.run(finish_commands(shared), folder, "finish")
    result = {"recipe": recipe.name, "spare_additions": len(spare), "limit_stronger": stronger,
              "limit_buffers": buffers, **count(folder, library)}
    result.update(time(design, library, shared, folder))
    return result


def count(folder, library):
    """Gate equivalents, flip-flops, clock gates, from the netlist."""
    netlist = json.loads((folder / "netlist.json").read_text())
    top = next(m for m in netlist["modules"].values() if m.get("attributes", {}).get("top"))
    kinds = {}
    for cell in top["cells"].values():
        if cell["type"] not in library.cells:
            raise yosys.YosysError(f"{folder}: {cell['type']} was left unmapped")
        kinds[cell["type"]] = kinds.get(cell["type"], 0) + 1
    cells = [(library.cells[kind], n) for kind, n in kinds.items()]
    if any(cell.latch for cell, _ in cells):
        raise yosys.YosysError(f"{folder}: the netlist has latches")
    area = sum(cell.area * n for cell, n in cells)
    sequential = sum(cell.area * n for cell, n in cells if cell.ff or cell.is_gate)
    return {
        "area": round(area, 1), "ge": round(area / library.unit, 1),
        "ge_sequential": round(sequential / library.unit, 1),
        "flip_flops": sum(n for cell, n in cells if cell.ff),
        "clock_gates": sum(n for cell, n in cells if cell.is_gate),
        "cells": sum(kinds.values()),
    }


def run_sta(folder, attempts=3):
    """OpenSTA 2.0 now and then hangs before it has read anything: it is started again then."""
    for attempt in range(attempts):
        try:
            run = subprocess.run(["sta", "-threads", "1", "-no_init", "-no_splash", "-exit", "sta.tcl"],
                                 cwd=folder, text=True, input="", capture_output=True,
                                 timeout=60, check=False)
            (folder / "sta.log").write_text(run.stdout + run.stderr)
            return run
        except subprocess.TimeoutExpired:
            if attempt + 1 == attempts:
                raise


def time(design, library, shared, folder):
    """Periods in ns by OpenSTA: ideal clock, no wires; register to register and by the ports."""
    script = (HERE / "sta.tcl").read_text()
    values = {"LIBERTY": f"{shared}/lib.lib", "TOP": design.top, "CLOCK": design.clock,
              "RESET": design.reset, "DRIVER": library.buffer().name, "LOAD": f"{output_load(library):.6f}"}
    for key, value in values.items():
        script = script.replace(f"@{key}@", value)
    (folder / "sta.tcl").write_text(script)
    run = run_sta(folder)
    found = dict(re.findall(r"^SLACK (\w+) ([-\d.eE+]+)", run.stdout, re.M))
    if run.returncode or "Error" in run.stderr + run.stdout or "reg_reg" not in found:
        raise yosys.YosysError(f"sta failed, {folder}/sta.log:\n" + (run.stdout + run.stderr)[-800:])
    used = {group: 1000.0 - float(slack) for group, slack in found.items()}
    # No delay outside the ports: what a path through them takes is told, for the integrator to add to.
    return {"fmax_mhz": round(1000 / max(used.values()), 1), "fmax_reg_reg_mhz": round(1000 / used["reg_reg"], 1),
            "path_ns": {group: round(ns, 3) for group, ns in sorted(used.items())}}


def best(script, results):
    """What the script keeps of its recipes' results, or None where none meets the floor."""
    if script == "speed":
        fastest = max(r["fmax_mhz"] for r in results)
        near = [r for r in results if r["fmax_mhz"] >= SPEED_MARGIN * fastest]
        return max(near, key=lambda r: r["fmax_mhz"] / r["ge"])
    met = [r for r in results if r["fmax_mhz"] >= FLOOR_MHZ]
    return min(met, key=lambda r: r["ge"]) if met else None
