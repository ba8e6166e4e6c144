"""The package against the library itself, a loop over hashlib, and itself on two cores; see `cargo xtask python bench`.

Takes the program `rates` of manylane-engine, which measures the library in rounds that alternate with these.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import manylane
import numpy as np

COUNT, LENGTH, PIECE, CALLS, ROUNDS = 100_000, 1024, 65_536, 400, 15
ALLOWED = os.sched_getaffinity(0)


def timed(call: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def on_cores(count: int, *processes: int) -> None:
    """Has both sides of a comparison use the same cores: those of one machine differ by more than what is compared."""
    cores = sorted(ALLOWED)[:count]
    for process in processes:
        os.sched_setaffinity(process, cores)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rates")
    parser.add_argument("--output")
    options = parser.parse_args()
    library = subprocess.Popen([options.rates], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def rust(line: str) -> float:
        assert library.stdin is not None and library.stdout is not None
        library.stdin.write(line + "\n")
        library.stdin.flush()
        return float(library.stdout.readline())

    rows = (np.arange(COUNT * LENGTH, dtype=np.uint64) % 251).astype(np.uint8).reshape(COUNT, LENGTH)
    out = np.empty((COUNT, 32), np.uint8)
    piece = bytes([7]) * PIECE

    def loop(name: str) -> None:
        new = hashlib.new
        for row in rows[: COUNT // 10]:
            new(name, row).digest()

    def update(name: str) -> None:
        hash_object = manylane.new(name)
        for _ in range(CALLS):
            hash_object.update(piece)

    figures: dict[str, dict[str, float]] = {}
    for name, theirs in (("sm3", "sm3"), ("sha3_256", "sha3_256")):
        ours_name = name.replace("_", "-")
        arms: dict[str, Callable[[], float]] = {
            "hash_many, 1 thread": lambda n=name: timed(lambda: manylane.hash_many(n, rows, out=out, device="cpu", threads=1)),
            "library, 1 thread": lambda n=ours_name: rust(f"many {n} {COUNT} {LENGTH} 1"),
            "hash_many, 2 threads": lambda n=name: timed(lambda: manylane.hash_many(n, rows, out=out, device="cpu", threads=2)),
            "library, 2 threads": lambda n=ours_name: rust(f"many {n} {COUNT} {LENGTH} 2"),
            "hash_many, new array, 1 thread": lambda n=name: timed(lambda: manylane.hash_many(n, rows, device="cpu", threads=1)),
            "hashlib loop": lambda n=theirs: 10 * timed(lambda: loop(n)),
            "update of 64 KiB": lambda n=name: timed(lambda: update(n)) / CALLS,
            "library, update of 64 KiB": lambda n=ours_name: rust(f"update {n} {PIECE} {CALLS}") / CALLS,
        }
        if theirs not in hashlib.algorithms_available:
            print(f"hashlib has no {theirs} here: not compared", file=sys.stderr)
            del arms["hashlib loop"]
        times: dict[str, list[float]] = {arm: [] for arm in arms}
        for round_number in range(ROUNDS + 1):
            for arm, measure in arms.items():
                on_cores(2 if "2 threads" in arm else 1, 0, library.pid)
                seconds_taken = measure()
                if round_number > 0:
                    times[arm].append(seconds_taken)
        seconds = {arm: statistics.median(values) for arm, values in times.items()}
        ratio = lambda a, b, s=seconds: s[b] / s[a]  # noqa: E731
        figures[name] = {
            "of_library_1_thread": ratio("hash_many, 1 thread", "library, 1 thread"),
            "of_library_2_threads": ratio("hash_many, 2 threads", "library, 2 threads"),
            "two_over_one": ratio("hash_many, 2 threads", "hash_many, 1 thread"),
            "update_over_library": seconds["update of 64 KiB"] / seconds["library, update of 64 KiB"],
        } | {f"seconds: {arm}": value for arm, value in seconds.items()}
        if "hashlib loop" in arms:
            figures[name]["over_hashlib_loop"] = ratio("hash_many, 1 thread", "hashlib loop")
        for key, value in figures[name].items():
            print(f"{name}: {key} {value:.4g}")
    record = {
        "what": f"hash_many of {COUNT} rows of {LENGTH} bytes, and update, from Python",
        "python": platform.python_version(),
        "openssl": __import__("ssl").OPENSSL_VERSION,
        "manylane": manylane.__version__,
        "explain": manylane.explain(device="cpu"),
        "cores": os.cpu_count(),
        "rounds": ROUNDS,
        "figures": figures,
    }
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
