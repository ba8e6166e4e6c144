#!/usr/bin/env python3
"""Tests of rtl/sm3/src: cocotb suites and random messages in Verilator, unknowns in Icarus, coverage.

    python3 rtl/sm3/test/run.py                 everything but the long runs
    python3 rtl/sm3/test/run.py --ci            what CI runs: the same with fewer messages, and mutations' smoke
    python3 rtl/sm3/test/run.py --long          100,000 random messages, every vector, every address
    python3 rtl/sm3/test/run.py timing errors   these suites alone

Every suite runs for all parameter sets: set 0 to 3 is ROUNDS_PER_CYCLE - 1 + 2 * INPUT_BUFFER. Tools come from PATH
(iverilog, make, a C++ compiler) and from this Python's packages (requirements.txt); output goes below target/rtl/test.
Each suite ends with a line of its counts; the exit status is 1 if anything has failed.
"""

import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree

import coverage_data
import simulators
import stimulus

TEST = simulators.TEST
ROOT = simulators.ROOT

# cocotb's modules; the core has no INPUT_BUFFER, so two of the sets are the same for it.
COCOTB = ("vectors", "registers", "errors", "timing", "interruptions", "core")
SUITES = COCOTB + ("random", "unknowns", "memory", "coverage", "mutations")

# In Icarus every signal starts unknown: these read whatever can be read after reset.
UNKNOWNS = "reset_values|reserved_bits|init_while_idle|chaining_value|examples"

MESSAGES = {"ci": 500, "default": 5000, "long": 100_000}


class Suite:
    """Counts tests and prints what has failed."""

    def __init__(self, name):
        self.name = name
        self.passed = 0
        self.failed = 0
        print(f"== {name}", flush=True)

    def count(self, passed, failed, note=""):
        self.passed += passed
        self.failed += failed
        if note:
            print(note, flush=True)

    def close(self):
        if self.passed + self.failed == 0:
            self.count(0, 1, f"{self.name}: no test has run")
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        return self.failed == 0


class Runner:
    def __init__(self, options):
        self.options = options
        self.src = pathlib.Path(options.src).resolve()
        self.out = pathlib.Path(options.out).resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.mode = "ci" if options.ci else "long" if options.long else "default"
        # Two builds or simulations at a time, never more than there are cores.
        self.pool = concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1))
        self.results = {}

    def results_of(self, item):
        """Plays all wanted cocotb modules for one parameter set in one simulation; results by module."""
        simulator, number, pattern = item
        wanted = COCOTB if pattern else [m for m in COCOTB if m in self.options.suites]
        modules = [m for m in wanted if m != "core" or number < 2]
        if not modules:
            return item, {}
        folder = self.folder(item)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        build = self.out / simulator
        if simulator == "icarus":
            build = folder / "build"
            self.log(f"icarus-set{number}-build.log", simulators.build_harness, simulator, self.src, build, number)
        xml_path = simulators.run_cocotb(
            simulator, build, folder, [f"test_{m}" for m in modules], number, self.mode == "long", pattern
        )
        found = {m: [] for m in modules}
        if xml_path.is_file():
            for case in xml.etree.ElementTree.parse(xml_path).getroot().iter("testcase"):
                module = case.get("classname").split(".")[-1].removeprefix("test_")
                bad = case.find("failure") is not None or case.find("error") is not None
                if case.find("skipped") is None and module in found:
                    found[module].append((case.get("name"), bad))
        return item, found

    def folder(self, item):
        simulator, number, pattern = item
        return self.out / f"{'unknowns' if pattern else simulator}-set{number}"

    def play_cocotb(self, simulator, pattern=None):
        if simulator == "verilator":
            started = time.monotonic()
            self.log("verilator-build.log", simulators.build_harness, simulator, self.src, self.out / simulator)
            print(f"{simulator}: built in {time.monotonic() - started:.0f} s", flush=True)
        for item, found in self.pool.map(self.results_of, [(simulator, n, pattern) for n in self.options.sets]):
            self.results[item] = found

    def log(self, name, build, *arguments):
        """A build whose output goes to a file; a failed one ends everything."""
        path = self.out / name
        try:
            build(*arguments, log=path)
        except (subprocess.CalledProcessError, RuntimeError, SystemExit) as error:
            sys.exit(f"{path}: {error}\n{path.read_text(errors='replace')[-4000:] if path.is_file() else ''}")

    def report(self, suite, modules, pattern=None):
        for item, found in self.results.items():
            if item[2] != pattern:
                continue
            log = self.folder(item) / "log"
            for module in (m for m in modules if m in found):
                bad = [name for name, failed in found[module] if failed]
                suite.count(len(found[module]) - len(bad), len(bad))
                for name in bad:
                    print(f"set {item[1]}: {module}.{name} has failed: {log}", flush=True)
                if not found[module] and not pattern:
                    suite.count(0, 1, f"set {item[1]}: {module} has not run: {log}")
            if pattern and not any(found.values()):
                suite.count(0, 1, f"set {item[1]}: nothing has run: {log}")

    def random(self, suite):
        """The file of messages through all sets at once; every digest is a test."""
        messages = self.options.messages or MESSAGES[self.mode]
        started = time.monotonic()
        stimulus.write_messages(self.out / "messages.txt", messages, self.options.seed)
        written = time.monotonic()
        self.log("replay-build.log", simulators.build_replay, self.src, self.out / "replay")
        built = time.monotonic()
        # The C++ runtime's random values for what has no reset come from the seed, too.
        text = simulators.run_replay(self.out / "replay", self.out / "messages.txt", self.options.seed)
        self.count_digests(suite, text, messages)
        print(f"messages {written - started:.0f} s, build {built - written:.0f} s, run {time.monotonic() - built:.0f} s")

    def count_digests(self, suite, text, messages):
        print(text.strip())
        for number in range(4):
            if f"set {number} passed: {messages} digests," in text and "FAIL" not in text:
                suite.count(messages, 0)
            else:
                suite.count(0, 1, f"set {number} has failed")

    def memory(self, suite):
        """V_IN_RAM 1: messages with their contexts, in Icarus."""
        folder = self.out / "memory"
        folder.mkdir(exist_ok=True)
        stimulus.write_messages(folder / "messages.txt", 50, self.options.seed)
        text = simulators.icarus_replay(self.src, folder, folder / "messages.txt", memory=1)
        self.count_digests(suite, text or "FAIL: the replay does not compile", 50)

    def coverage(self, suite):
        files = [self.out / f"verilator-set{n}" / "coverage.dat" for n in range(4)]
        files.append(self.out / "replay" / "coverage.dat")
        missing = [str(f) for f in files if not f.is_file()]
        if missing:
            suite.count(0, 1, f"no coverage data: {', '.join(missing)}; run all suites first")
            return
        passed, failed, text = coverage_data.check(files, self.src, TEST / "coverage.toml")
        suite.count(passed, failed, text)

    def mutations(self, suite):
        command = [sys.executable, str(TEST / "mutate.py"), "--src", str(self.src), "--out", str(self.out / "mutations")]
        if self.mode != "long":
            command.append("--smoke")
        lines = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout.splitlines()
        counts = lines[-1].split() if lines else []
        print("\n".join(lines[:-1]), flush=True)
        if len(counts) == 4 and counts[1] == "passed," and counts[3] == "failed":
            suite.count(int(counts[0]), int(counts[2]))

    def run(self):
        suites = self.options.suites
        if any(name in suites for name in COCOTB):
            self.play_cocotb(self.options.simulator)
        fine = True
        for name in (s for s in SUITES if s in suites):
            suite = Suite(name)
            if name in COCOTB:
                self.report(suite, [name])
            elif name == "unknowns":
                self.play_cocotb("icarus", UNKNOWNS)
                self.report(suite, COCOTB, UNKNOWNS)
            else:
                getattr(self, name)(suite)
            fine = suite.close() and fine
        return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"of {', '.join(SUITES)}; all if none is named")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--ci", action="store_true", help="few random messages")
    length.add_argument("--long", action="store_true", help="100,000 messages, every vector and address, all mutations")
    parser.add_argument("--set", type=int, dest="sets", action="append", choices=range(4), help="parameter sets")
    parser.add_argument("--simulator", choices=("verilator", "icarus"), default="verilator", help="for cocotb's suites")
    parser.add_argument("--messages", type=int, help="random messages, instead of the mode's number")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--src", default=str(ROOT / "rtl/sm3/src"), help="the Verilog under test")
    parser.add_argument("--out", default=str(ROOT / "target/rtl/test"))
    options = parser.parse_args()
    unknown = set(options.suites) - set(SUITES)
    if unknown:
        parser.error(f"no such suite: {', '.join(sorted(unknown))}")
    options.suites = options.suites or list(SUITES)
    options.sets = options.sets or list(range(4))
    simulators.find_tools()
    sys.exit(0 if Runner(options).run() else 1)


if __name__ == "__main__":
    main()
