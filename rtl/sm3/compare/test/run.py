#!/usr/bin/env python3
"""Simulates the paper's architecture with Icarus Verilog and checks digests and cycles.

    python3 run.py [--out FOLDER] [--messages N] [--seed N]

Every design of designs.json: the examples and painted messages of vectors/sm3.json, and N (default 200)
random messages of one to four blocks against ref/sm3.py; a third of them again with words and reads that
come late. Without late words every block's cycles must be those of designs.json.
Output goes to FOLDER, by default target/rtl/compare. The exit status is 0 if all is right.
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
COMPARE = HERE.parent
ROOT = COMPARE.parents[2]
sys.path.insert(0, str(ROOT / "ref"))
import sm3  # noqa: E402

LONGEST = 600  # bytes of a painted message; longer ones only repeat what these do
TOPS = {"sm3_paper": "bench_core", "sm3_paper_ahb": "bench_ahb"}


def messages(count, seed):
    """Pairs of message and digest: from the vectors first, then random ones."""
    vectors = json.loads((ROOT / "vectors/sm3.json").read_text(encoding="ascii"))
    pairs = [(bytes.fromhex(e["message"]), e["digest"]) for e in vectors["examples"]]
    pairs += [
        (sm3.painted(e["length"]), e["digest"])
        for e in vectors["painted"]
        if e["length"] <= LONGEST
    ]
    rng = random.Random(seed)
    for _ in range(count):
        message = rng.randbytes(rng.randrange(4 * 64 - 8))
        pairs.append((message, sm3.sm3(message).hex()))
    return pairs


def write_stimuli(path, pairs):
    with open(path, "w", encoding="ascii") as file:
        for message, _ in pairs:
            blocks = sm3.blocks(message)
            print(f"{len(blocks):x}", file=file)
            for block in blocks:
                print(*(block[i : i + 4].hex() for i in range(0, 64, 4)), file=file)


def simulate(out, top, parameters, stimuli, stalls, seed):
    """The lines that the bench prints."""
    bench = TOPS[top]
    binary = out / f"{bench}_{'_'.join(str(v) for v in parameters.values())}.vvp"
    if not stalls:
        sources = [HERE / f"{bench}.v", HERE / "monitor.v", *sorted(COMPARE.glob("*.v"))]
        command = ["iverilog", "-g2005", "-Wall", "-Wno-timescale"]
        command += [f"-P{bench}.{name}={value}" for name, value in parameters.items()]
        command += ["-s", bench, "-o", binary, *sources]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode or done.stderr:
            raise SystemExit(f"iverilog {bench}:\n{done.stderr}")
    command = ["vvp", "-n", binary, f"+stimuli={stimuli}", f"+stalls={int(stalls)}", f"+seed={seed}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise SystemExit(f"vvp {bench}:\n{done.stderr}")
    return done.stdout.splitlines()


def check(lines, pairs, cycles, stalls):
    """What is wrong in the lines of one simulation, and a summary."""
    errors = [line for line in lines if line.startswith("error")]
    if not lines or lines[-1] != "end":
        errors.append("the bench did not come to its end")
    digests = [line.split()[1] for line in lines if line.startswith("digest ")]
    if len(digests) != len(pairs):
        errors.append(f"{len(digests)} digests for {len(pairs)} messages")
    for (message, expected), got in zip(pairs, digests):
        if got != expected:
            errors.append(f"message of {len(message)} bytes: {got}, not {expected}")
    counts = {kind: [] for kind in cycles}
    for line in lines:
        kind, _, value = line.partition(" ")
        if kind in counts:
            counts[kind].append(int(value))
    blocks = sum(len(sm3.blocks(message)) for message, _ in pairs)
    wanted = {"compress": blocks, "block": blocks - len(pairs), "start": len(pairs)}
    for kind, values in counts.items():
        if stalls:
            if min(values, default=0) < cycles[kind]:
                errors.append(f"{kind}: {min(values, default=0)} cycles, fewer than {cycles[kind]}")
        elif len(values) != wanted[kind] or set(values) != {cycles[kind]}:
            errors.append(
                f"{kind}: {len(values)} of {wanted[kind]} counts, "
                f"{sorted(set(values))} cycles, not {cycles[kind]}"
            )
    ranges = ", ".join(f"{kind} {min(v)}...{max(v)}" for kind, v in counts.items() if v)
    return errors, f"{len(digests)} digests, cycles: {ranges}"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "target/rtl/compare")
    parser.add_argument("--messages", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for tool in ("iverilog", "vvp"):
        if not shutil.which(tool):
            return f"{tool} is missing: install Icarus Verilog (apt: iverilog)"
    options.out.mkdir(parents=True, exist_ok=True)
    designs = json.loads((COMPARE / "designs.json").read_text(encoding="ascii"))["designs"]
    pairs = messages(options.messages, options.seed)
    stimuli = {False: (options.out / "all.txt", pairs), True: (options.out / "late.txt", pairs[::3])}
    for path, chosen in stimuli.values():
        write_stimuli(path, chosen)
    failed = []
    for design in designs:
        top, parameters = design["top"], design["parameters"]
        for stalls in (False, True):
            path, chosen = stimuli[stalls]
            lines = simulate(options.out, top, parameters, path, stalls, options.seed)
            errors, summary = check(lines, chosen, design["cycles"], stalls)
            failed.append(bool(errors))
            values = " ".join(f"{name}={value}" for name, value in parameters.items())
            name = f"{top} {values}{' late words' if stalls else ''}"
            print(f"{name}: {'FAILED' if errors else 'ok'}, {summary}")
            for error in errors[:5]:
                print(f"  {error}")
    print(f"{failed.count(False)} passed, {failed.count(True)} failed")
    return int(any(failed))


if __name__ == "__main__":
    sys.exit(main())
