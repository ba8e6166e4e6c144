#!/usr/bin/env python3
"""Gate equivalents, Fmax, throughput, FPGA resources and energy of every SM3 design, by the same scripts.

Standard cells: the OSU 180 nm library of Debian's qflow-tech-osu018, and any Liberty file (also .gz)
named by --liberty or SM3_LIBERTY. FPGA: ECP5 with place and route, Xilinx 7 mapping.
"""

import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import asic
import liberty
import yosys
from designs import DESIGNS, RTL

ROOT = RTL.parent.parent
OSU = Path("/usr/share/qflow/tech/osu018/osu018_stdcells.lib")
DONT_USE = ("*lpflow*", "*probe*", "*dly*")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--design", action="append", choices=sorted(DESIGNS), help="only these designs")
    parser.add_argument("--target", action="append", help="only these: osu018, liberty, ecp5, xc7")
    parser.add_argument("--script", action="append", choices=sorted(asic.SCRIPTS), help="only these scripts")
    parser.add_argument("--liberty", default=os.environ.get("SM3_LIBERTY"),
                        help="a Liberty file more (default: the variable SM3_LIBERTY)")
    parser.add_argument("--osu", default=str(OSU), help="the OSU 180 nm library (default: Debian's)")
    parser.add_argument("--dont-use", action="append", default=list(DONT_USE), metavar="GLOB",
                        help=f"cells not to use, besides {' '.join(DONT_USE)}")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at once")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "rtl" / "synth", help="folder of all output")
    parser.add_argument("-o", "--output", type=Path, help="the JSON (default: synth.json beside that folder)")
    return parser.parse_args()


def synthesise_all(options, libraries, pool):
    """{(design, target, script): [recipe results]}."""
    jobs = {}
    for target, (library, shared) in libraries.items():
        for name in options.design or DESIGNS:
            for script in options.script or asic.SCRIPTS:
                for recipe in asic.SCRIPTS[script]:
                    folder = options.out / target / name / recipe.name
                    job = pool.submit(asic.synthesise, DESIGNS[name], library, shared, recipe, folder)
                    jobs.setdefault((name, target, script), []).append(job)
    return {key: [job.result() for job in waiting] for key, waiting in jobs.items()}


def main():
    options = arguments()
    libraries = {}
    for name, path in (("osu018", options.osu), ("liberty", options.liberty)):
        if path and (not options.target or name in options.target):
            library = liberty.Library(path, options.dont_use)
            target = name if name == "osu018" else library.name
            shared = options.out / target / "library"
            asic.prepare_library(library, shared)
            libraries[target] = (library, shared)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for key, results in synthesise_all(options, libraries, pool).items():
            for r in results:
                print(*key, r)
            print("BEST", asic.best(key[2], results))


if __name__ == "__main__":
    main()
