#!/usr/bin/env python3
"""The driver's unit tests on this machine, against a model of the register block.

    run.py             GCC with sanitizers, a bus that reverses bytes, optimised, Clang; every line is run
    run.py --quick     without Clang and -O3, for CI

Vectors: vectors/sm3.json, vectors/hmac_sm3_wycheproof.json, and every length to 200 by ref/sm3.py.
"""

import argparse
import json
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
DRIVER = HERE.parent
ROOT = DRIVER.parent.parent.parent
TARGET = ROOT / "target" / "rtl" / "driver-test"

WARNINGS = """-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wcast-align -Wcast-qual
    -Wundef -Wstrict-prototypes -Wmissing-prototypes -Wdouble-promotion -Wformat=2 -Werror""".split()
SANITIZERS = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
SOURCES = [*sorted(DRIVER.glob("*.c")), HERE / "model.c", HERE / "test_driver.c"]
IO_HEADER = ['-DMANYLANE_SM3_IO_HEADER="model_io.h"', f"-I{DRIVER}", f"-I{HERE}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="without Clang and -O3")
    options = parser.parse_args()

    TARGET.mkdir(parents=True, exist_ok=True)
    vectors = TARGET / "vectors.txt"
    vectors.write_text("\n".join(lines_of_vectors()) + "\n", encoding="utf-8")
    passed = check("gcc", "sanitized", SANITIZERS, vectors)
    passed += check("gcc", "reversing", [*SANITIZERS, "-DMANYLANE_SM3_SWAP=0"], vectors)
    compile_alone("gcc")
    if not options.quick:
        passed += check("gcc", "optimised", ["-O3"], vectors)
        passed += check("clang", "optimised", ["-O2"], vectors)
        compile_alone("clang")
    passed += covered(vectors)
    # What fails ends the program.
    print(f"{passed} passed, 0 failed")


def run(command, folder=TARGET):
    command = [str(part) for part in command]
    if shutil.which(command[0]) is None:
        sys.exit(f"error: {command[0]} is not in PATH")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{done.stdout[-4000:]}{done.stderr[-4000:]}error: {command[0]} ended with {done.returncode}")
    return done.stdout


def check(compiler, name, options, vectors):
    """The number of vectors, all right."""
    program = TARGET / f"{compiler}-{name}"
    run([compiler, *WARNINGS, *options, *IO_HEADER, *SOURCES, "-o", program])
    said = run([program, vectors]).strip()
    print(f"{compiler} {name}: {said}")
    count = int(said.split()[0])
    if count != len(vectors.read_text(encoding="utf-8").splitlines()):
        sys.exit(f"error: {compiler} {name}: not all vectors were tried")
    return count


def compile_alone(compiler):
    """As a port compiles it: volatile accesses, C and C++, both orders of bytes."""
    for endian in (0, 1):
        for source in DRIVER.glob("*.c"):
            run([compiler, *WARNINGS, "-O2", f"-DMANYLANE_SM3_BIG_ENDIAN={endian}", "-c", source, "-o", "alone.o"])
    header = TARGET / "header.cpp"
    header.write_text('#include "manylane_sm3.h"\n', encoding="utf-8")
    run([compiler, "-x", "c++", "-std=c++11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{DRIVER}",
         "-fsyntax-only", header])  # fmt: skip


def covered(vectors):
    """Every line of the driver is run by the tests: the number of its files."""
    folder = TARGET / "coverage"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    run(["gcc", *WARNINGS, "-O0", "--coverage", *IO_HEADER, *SOURCES, "-o", "covered"], folder)
    run([folder / "covered", vectors], folder)
    sources = sorted(DRIVER.glob("*.c"))
    for source in sources:
        report = run(["gcov", "--object-directory", folder, f"covered-{source.stem}.gcda"], folder)
        text = (folder / f"{source.name}.gcov").read_text(encoding="utf-8")
        missed = [line.split(":", 2)[1].strip() for line in text.splitlines() if line.lstrip().startswith("#####")]
        share = re.search(r"Lines executed:([\d.]+)% of (\d+)", report)
        if missed or share is None:
            sys.exit(f"error: {source.name}: lines {', '.join(missed)} are not run by the tests")
        print(f"{source.name}: {share[2]} lines, all run")
    return len(sources)


def painted(start, length):
    """The bytes that vectors/README.md calls painted."""
    return bytes((start + i) % 251 for i in range(length))


def lines_of_vectors():
    sys.path.insert(0, str(ROOT / "ref"))
    import sm3 as reference

    vectors = json.loads((ROOT / "vectors/sm3.json").read_text(encoding="utf-8"))
    wycheproof = json.loads((ROOT / "vectors/hmac_sm3_wycheproof.json").read_text(encoding="utf-8"))
    for entry in vectors["examples"]:
        yield f"digest {entry['message']} {entry['digest']}"
    for entry in vectors["painted"]:
        if entry["length"] <= 20000:
            yield f"digest {painted(0, entry['length']).hex() or '-'} {entry['digest']}"
    for length in range(201):
        message = bytes((i * 167 + length) & 0xFF for i in range(length))
        yield f"digest {message.hex() or '-'} {reference.sm3(message).hex()}"
    for entry in vectors["hmac"]:
        key, message = painted(100, entry["key_length"]), painted(0, entry["length"])
        yield f"hmac {key.hex() or '-'} {message.hex() or '-'} {entry['tag']} 1"
    for group in wycheproof["testGroups"]:
        for entry in group["tests"]:
            right = int(entry["result"] == "valid")
            yield f"hmac {entry['key'] or '-'} {entry['msg'] or '-'} {entry['tag']} {right}"


if __name__ == "__main__":
    main()
