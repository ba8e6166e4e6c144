#!/usr/bin/env python3
"""Mutates rtl/sm3/src and asks the tests to notice.

    python3 rtl/sm3/test/mutate.py                all mutants
    python3 rtl/sm3/test/mutate.py --smoke        eight of them, for CI, none of those listed as equivalent
    python3 rtl/sm3/test/mutate.py --list         what would be changed, nothing is run

A mutant is the source with one token changed: an operator, a constant, a condition, an assignment dropped, an output
stuck. Which ones is drawn by --seed, in every file by the number of its places. Each is played the replay's random
messages in Icarus (all parameter sets at once), then, if that has not noticed, cocotb's suites. What survives must be
equivalent: proven by Yosys for all parameter sets, or listed in equivalents.toml with a reason. A listed mutant is played
the messages and the suite of registers all the same, and being killed is an error.
"""

import argparse
import concurrent.futures
import hashlib
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import tomllib
import xml.etree.ElementTree

import simulators
import stimulus

SETS = range(4)

# In the order in which they find most for their time.
MODULES = ("registers", "timing", "errors", "interruptions", "core")

OPERATORS = {
    "&": "|", "|": "&", "^": "|", "+": "-", "-": "+", "==": "!=", "!=": "==", "~": "", "!": "",
}
TOKEN = re.compile(
    r"(?P<literal>\d+'[bhd][0-9a-fA-F_]+)|(?P<word>[A-Za-z_$][\w$]*)|(?P<number>\d+)|"
    r"(?P<operator>&&|\|\||<=|>=|==|!=|<<|>>|[-+&|^~!])|(?P<other>\S)"
)
# Structure is not mutated: what does not elaborate says nothing about the tests.
STRUCTURE = re.compile(r"^\s*(module|parameter|input|output|genvar|for|generate|endgenerate|localparam (R|LANE|TOP)\b|`|\.)|if \((R|INPUT_BUFFER|V_IN_RAM) ")
DECLARATION = re.compile(r"^\s*(wire|reg|localparam|assign)\b[^=;]*(=|;)")
# A constant rotation as this Verilog writes it: {x[22:0], x[31:23]}.
ROTATION = re.compile(r"\[(\d+):0\], (\w+)\[(\d+):(\d+)\]")


class Mutant:
    """One changed line; `following` is the line after it, which tells equal lines apart."""

    def __init__(self, path, line, text, changed, kind):
        self.path, self.line, self.text, self.changed, self.kind = path, line, text, changed, kind
        self.following = ""
        self.verdict = None

    def __str__(self):
        return f"{self.path.name}:{self.line + 1} {self.kind}: {self.text.strip()}  ->  {self.changed.strip()}"

    def write(self, src, folder):
        folder.mkdir(parents=True)
        for path in simulators.sources(src):
            lines = path.read_text(encoding="utf-8").splitlines()
            if path == self.path:
                assert lines[self.line] == self.text
                lines[self.line] = self.changed
            (folder / path.name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def code_of(text):
    return text.split("//")[0].strip()


def changed_literal(text):
    width, base, digits = re.match(r"(\d+)'([bhd])(.*)", text).groups()
    value = int(digits.replace("_", ""), {"b": 2, "h": 16, "d": 10}[base]) ^ 1
    return f"{width}'{base}{value:{ {'b': 'b', 'h': 'x', 'd': 'd'}[base] }}"


def ranges(code):
    """Ranges of bits and replications: a changed one is cut to width again, or does not elaborate."""
    found = list(re.finditer(r"\[[^\[\]]*:[^\[\]]*\]", code)) + list(re.finditer(r"\{[\w*+ -]+(?=\{)", code))
    return [m.span() for m in found]


def token_mutants(path, number, text):
    """Operators and constants of one line."""
    code = text.split("//")[0]
    declaration = DECLARATION.match(code)
    kept = ranges(code) + ([declaration.span()] if declaration else [])
    for token in TOKEN.finditer(code):
        if any(start <= token.start() < end for start, end in kept):
            continue
        kind, value = token.lastgroup, token.group()
        if kind == "operator" and value in OPERATORS:
            new = OPERATORS[value]
        elif kind == "literal":
            new = changed_literal(value)
        elif kind == "number":
            new = str(int(value) + 1)
        else:
            continue
        yield Mutant(path, number, text, code[: token.start()] + new + code[token.end() :], kind)
    for rotation in ROTATION.finditer(code):
        high, low = int(rotation[1]), int(rotation[4])
        if high + 1 == low:
            new = f"[{high - 1}:0], {rotation[2]}[{rotation[3]}:{low - 1}]"
            yield Mutant(path, number, text, code[: rotation.start()] + new + code[rotation.end() :], "rotation")


def statement_mutants(path, number, text):
    """Conditions that are stuck, assignments that are dropped, outputs that are stuck."""
    code = text.split("//")[0]
    condition = re.search(r"\bif \(", code)
    if condition:
        start, depth = condition.end(), 1
        for end in range(start, len(code)):
            depth += {"(": 1, ")": -1}.get(code[end], 0)
            if depth == 0:
                inner = code[start:end]
                for new in ("1'b0", "1'b1", f"!({inner})"):
                    yield Mutant(path, number, text, code[:start] + new + code[end:], "condition")
                break
    assignment = re.search(r"[\w\[\]:{}, +*-]+<= [^;]+;", code)
    if assignment and "if (" not in assignment.group():
        yield Mutant(path, number, text, code[: assignment.start()] + " ;" + code[assignment.end() :], "dropped")
    stuck = re.match(r"^\s*(assign|wire)\b[^=]*= ([^;]+);", code)
    if stuck:
        for new in ("0", "~0"):
            if re.fullmatch(r"\d+'[bd]0", stuck[2]) and new == "0":
                continue
            yield Mutant(path, number, text, code[: stuck.start(2)] + new + code[stuck.end(2) :], "stuck")


def places(src):
    mutants = {}
    for path in simulators.sources(src):
        found = []
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, text in enumerate(lines):
            if not STRUCTURE.search(text) and code_of(text):
                found += token_mutants(path, number, text)
                found += statement_mutants(path, number, text)
        for mutant in found:
            mutant.following = code_of(lines[mutant.line + 1])
        mutants[path.name] = found
    return mutants


def drawn(src, count, seed):
    """Mutants in the order of trial: files take turns by their share of the places, none is left out.

    Within a file a mutant's rank is a hash of its text, so that editing one line changes nothing for the others.
    """

    def rank(mutant):
        return hashlib.sha256(f"{seed} {mutant.text} {mutant.changed} {mutant.following}".encode()).digest()

    first, rest = [], []
    for name, found in places(src).items():
        for i, mutant in enumerate(sorted(found, key=rank)):
            (rest if i else first).append(((i + 0.5) / len(found), name, mutant))
    order = sorted(first, key=lambda entry: entry[:2]) + sorted(rest, key=lambda entry: entry[:2])
    return [mutant for _, _, mutant in order][: 2 * count]


class Killer:
    def __init__(self, options):
        self.src = pathlib.Path(options.src).resolve()
        self.out = pathlib.Path(options.out).resolve()
        self.out.mkdir(parents=True, exist_ok=True)
        self.messages = self.out / "messages.txt"
        stimulus.write_messages(self.messages, 24, options.seed)
        listed = simulators.TEST / "equivalents.toml"
        self.listed = tomllib.loads(listed.read_text(encoding="utf-8")).get("equivalent", [])
        self.sound = {}
        self.lock = threading.Lock()
        folder = self.out / "original"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if self.replay(self.src, folder) is not False:
            sys.exit("the replay fails without any mutation")

    def replay(self, src, folder):
        """None if it does not compile, else whether the messages go wrong."""
        text = simulators.icarus_replay(src, folder, self.messages, limit=300)
        return None if text is None else "FAIL" in text or any(f"set {n} passed: 24 " not in text for n in SETS)

    def module_fails(self, src, folder, number, module):
        """The test of one suite that fails for one parameter set, or None."""
        build = folder / f"set{number}"
        if not build.is_dir():
            simulators.build_harness("icarus", src, build, number, log=folder / "build.log")
        test = build / module
        test.mkdir()
        results = simulators.run_cocotb("icarus", build, test, [f"test_{module}"], number, False, quiet=True)
        if not results.is_file():
            return f"{module}, set {number}"
        for case in xml.etree.ElementTree.parse(results).getroot().iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None:
                return f"{module}.{case.get('name')}, set {number}"
        return None

    def cocotb(self, src, folder, modules):
        """The first test that fails, or None. A suite counts only if it passes without the mutation."""
        for number, module in itertools.product(SETS, modules):
            if module == "core" and number >= 2:
                continue
            failed = self.module_fails(src, folder, number, module)
            if failed:
                with self.lock:
                    if (number, module) not in self.sound:
                        self.sound[number, module] = self.module_fails(self.src, self.out / "original", number, module)
                if self.sound[number, module]:
                    raise SystemExit(f"{self.sound[number, module]} fails without any mutation")
                return failed
        return None

    def proven(self, src, folder):
        """Yosys: the mutant and the original agree in every cycle, for all parameter sets."""
        for number in SETS:
            script = []
            for name, path in (("gold", self.src), ("gate", src)):
                files = " ".join(str(f) for f in simulators.sources(path))
                script += [f"read_verilog {files}", f"chparam -set ROUNDS_PER_CYCLE {1 + number % 2} sm3_ahb"]
                script += [f"chparam -set INPUT_BUFFER {number // 2} sm3_ahb", "hierarchy -top sm3_ahb", "proc", "memory_map"]
                script += ["async2sync", "flatten", "opt_clean", f"rename -top {name}", f"design -stash {name}"]
            script += ["design -copy-from gold -as gold gold", "design -copy-from gate -as gate gate"]
            script += ["equiv_make gold gate equiv", "hierarchy -top equiv", "equiv_struct", "equiv_simple -undef"]
            script += ["equiv_induct -undef -seq 4", "equiv_status -assert"]
            code = "from pyosys import libyosys as y\nd = y.Design()\n"
            code += "".join(f"y.run_pass({line!r}, d)\n" for line in script)
            command = [sys.executable, "-c", code]
            try:
                run = subprocess.run(command, cwd=folder, capture_output=True, timeout=600, check=False)
            except subprocess.TimeoutExpired:
                return False
            (folder / f"equiv{number}.log").write_bytes(run.stdout + run.stderr)
            if run.returncode:
                return False
        return True

    def reason(self, mutant):
        for entry in self.listed:
            wanted = (entry["file"], entry["line"], entry["mutant"], entry.get("next", mutant.following))
            if wanted == (mutant.path.name, code_of(mutant.text), code_of(mutant.changed), mutant.following):
                return entry["reason"]
        return None

    def judge(self, item):
        """The mutant with its verdict, None where it does not compile."""
        number, mutant = item
        folder = self.out / f"{number:03d}"
        src = folder / "src"
        shutil.rmtree(folder, ignore_errors=True)
        mutant.write(self.src, src)
        went_wrong = self.replay(src, folder)
        if went_wrong is None:
            return mutant
        listed = self.reason(mutant)
        killer = "replay" if went_wrong else self.cocotb(src, folder, MODULES[:1] if listed else MODULES)
        if killer:
            mutant.verdict = (not listed, f"killed by {killer}" + (", though listed as equivalent" if listed else ""))
        elif listed:
            mutant.verdict = (True, f"equivalent: {listed}")
        elif self.proven(src, folder):
            mutant.verdict = (True, "equivalent: proven")
        else:
            mutant.verdict = (False, "SURVIVED")
        return mutant


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smoke", action="store_true", help="eight mutants")
    parser.add_argument("--list", action="store_true", help="only say which")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--src", default=str(simulators.ROOT / "rtl/sm3/src"))
    parser.add_argument("--out", default=str(simulators.ROOT / "target/rtl/test/mutations"))
    options = parser.parse_args()
    count = 8 if options.smoke else options.count
    order = drawn(pathlib.Path(options.src).resolve(), count, options.seed)
    if options.list:
        print("\n".join(map(str, order[:count])))
        return
    simulators.find_tools()
    killer = Killer(options)
    if options.smoke:
        order = [mutant for mutant in order if not killer.reason(mutant)]
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        numbered = list(enumerate(order))
        # Those that do not compile are replaced by the next ones.
        while numbered and passed + failed < count:
            part, numbered = numbered[: count - passed - failed], numbered[count - passed - failed :]
            for mutant in pool.map(killer.judge, part):
                if mutant.verdict:
                    fine, text = mutant.verdict
                    passed, failed = passed + fine, failed + (not fine)
                    print(f"{mutant}\n    {text}", flush=True)
    if passed + failed < count:
        failed += 1
        print(f"only {passed + failed - 1} mutants compile, {count} are wanted")
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
