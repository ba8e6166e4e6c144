#!/usr/bin/env python3
"""The driver on an RV32 system in simulation, in cycles: software against co-design by length of message.

    run.py            three cores (one round, two rounds, with input buffer), all lengths: a few minutes
    run.py --quick    one core, few lengths, the driver's promises: for CI

The system is Ibex (from the package pythondata-cpu-ibex), ROM, RAM, the SM3 core, the paper's core and a
DMA controller on one AHB-Lite bus. Every digest is compared with hashlib's SM3, or with ref/sm3.py where
hashlib has none. Writes system.json and prints the tables.
"""

import argparse
import bisect
import collections
import hashlib
import json
import pathlib
import struct
import subprocess
import sys

import build
import tables

LENGTHS = [8, 32, 55, 56, 64, 128, 256, 512, 1024, 4096, 16384]
QUICK_LENGTHS = [8, 55, 64, 1024]
PROFILE_LENGTHS = [32, 64, 1024, 4096]
QUICK_PROFILE_LENGTHS = [64]
VARIANTS = [build.Variant("one", 1, 0), build.Variant("two", 2, 0), build.Variant("buffered", 1, 1)]
METHODS = ["software", "software_zbb", "stall", "poll", "interrupt", "dma", "unaligned", "paper"]
# Functions of the software, as the paper's Fig. 5 names its parts.
PARTS = {"sm3_software_pad": "padding", "sm3_software_expand": "expansion", "sm3_software_compress": "compression"}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one core and few lengths")
    parser.add_argument("--output", metavar="FILE", type=pathlib.Path, help="default: target/rtl/system.json")
    parser.add_argument("--readme", action="store_true", help="also put the tables into the driver's README.md")
    options = parser.parse_args()
    if options.quick and options.readme:
        parser.error("--readme needs all lengths")

    variants = VARIANTS[:1] if options.quick else VARIANTS
    lengths = QUICK_LENGTHS if options.quick else LENGTHS
    build.lint()
    elf, rom = build.firmware()
    record = {"processor": "Ibex, RV32IMC, two stages, no cache", "code_bytes": build.sizes(), "cores": []}
    simulators = [build.simulator(variant) for variant in variants]
    for variant, simulator in zip(variants, simulators):
        rows = measure(simulator, rom, lengths)
        check_promises(simulator, rom)
        record["cores"].append(
            {"name": variant.name, "rounds": variant.rounds, "buffered": variant.buffered, "rows": rows}
        )
    profile_lengths = QUICK_PROFILE_LENGTHS if options.quick else PROFILE_LENGTHS
    record["profile"] = [profile(simulators[0], rom, elf, length) for length in profile_lengths]
    output = options.output or build.TARGET.parent / "system.json"
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(tables.text(record))
    print(f"{output}: written")
    # Each row's digest was compared, and each core's promises; what fails ends the program.
    passed = sum(len(core["rows"]) + 1 for core in record["cores"]) + len(record["profile"])
    print(f"{passed} passed, 0 failed")
    if options.readme:
        put_into_readme(tables.text(record, cores=1))


def put_into_readme(text):
    path = build.DRIVER / "README.md"
    begin, end = "<!-- cycles -->\n", "<!-- /cycles -->\n"
    before, rest = path.read_text(encoding="utf-8").split(begin)
    after = rest.split(end)[1]
    path.write_text(f"{before}{begin}{text}{end}{after}", encoding="utf-8")


def simulate(simulator, rom, commands, *arguments):
    """The lines that the firmware prints for those commands."""
    source = build.TARGET / "input.bin"
    source.write_bytes(commands)
    command = [str(simulator), f"+rom={rom}", f"+input={source}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"error: the firmware ended with {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout.splitlines()


def message(length):
    """What the firmware's fill() makes."""
    return bytes((i * 167 + (i >> 8) * 31 + 11) & 0xFF for i in range(length))


def sm3(data):
    if "sm3" in hashlib.algorithms_available:
        return hashlib.new("sm3", data).hexdigest()
    sys.path.insert(0, str(build.SM3.parent.parent / "ref"))
    import sm3 as reference

    return reference.sm3(data).hex()


def compare(digest, length, what):
    if digest != sm3(message(length)):
        sys.exit(f"error: {what}: digest of {length} bytes is {digest}")


def measure(simulator, rom, lengths):
    """Cycles of every method for every length."""
    commands = b"".join(b"T" + struct.pack("<I", length) for length in lengths)
    rows = []
    for line in simulate(simulator, rom, commands):
        _, method, length, cycles, slept, waited, digest = line.split()
        compare(digest, int(length), method)
        rows.append(
            {
                "method": method,
                "length": int(length),
                "cycles": int(cycles),
                "slept": int(slept),
                "bus_waited": int(waited),
            }
        )
    missing = {(m, n) for m in METHODS for n in lengths} - {(row["method"], row["length"]) for row in rows}
    if missing:
        sys.exit(f"error: no row for {sorted(missing)}")
    return rows


def check_promises(simulator, rom):
    if simulate(simulator, rom, b"C") != ["checks passed"]:
        sys.exit("error: the firmware's checks did not end")


def profile(simulator, rom, elf, length):
    """Where the software's cycles go: every cycle belongs to the function that has it."""
    counts = build.TARGET / "profile.txt"
    lines = simulate(simulator, rom, b"P" + struct.pack("<I", length), f"+profile={counts}")
    compare(lines[0].split()[2], length, "profile")
    functions = build.functions(elf)
    parts = collections.Counter()
    for line in counts.read_text(encoding="utf-8").splitlines():
        address, cycles = line.split()
        name = functions[bisect.bisect(functions, (int(address, 16), "\x7f")) - 1][1]
        parts[PARTS.get(name, "others")] += int(cycles)
    return {"length": length, "cycles": dict(parts)}


if __name__ == "__main__":
    main()
