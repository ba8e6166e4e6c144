"""Reads Liberty files: cells, functions, roles found by function (never by name), power tables."""

import bisect
import fnmatch
import gzip
import hashlib
import itertools
import re
from pathlib import Path

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/|//[^\n]*|[{}():;,]|[^\s{}():;,"]+', re.S)
BRACES = re.compile(r'"(?:[^"\\]|\\.)*"|/\*.*?\*/|[{}]', re.S)
CELL = re.compile(r'^[ \t]*cell\s*\(\s*"?([^\s")]+)"?\s*\)\s*\{', re.M)


class LibertyError(Exception):
    """A Liberty file that lacks what the flow needs."""


class Group:
    """`name (args) { attributes; groups }`."""

    def __init__(self, name, args):
        self.name, self.args = name, args
        self.attrs, self.groups = {}, []

    def get(self, name, default=None):
        return self.attrs.get(name, default)

    def number(self, name, default=0.0):
        return float(self.attrs.get(name, default))

    def sub(self, name):
        return [g for g in self.groups if g.name == name]

    def flag(self, name):
        return str(self.attrs.get(name, "false")).lower() == "true"


def parse_group(text):
    """The first group of `text`."""
    tokens = [t for t in TOKEN.findall(text) if not t.startswith(("/*", "//")) and t != "\\"]
    root = Group("", [])
    stack, i = [root], 0
    while i < len(tokens):
        token = tokens[i]
        if token == "}":
            stack.pop()
            i += 1
            if len(stack) == 1:
                break
        elif token in ";,":
            i += 1
        elif tokens[i + 1] == ":":
            end = i + 2
            while tokens[end] not in (";", "}"):
                end += 1
            stack[-1].attrs[token] = " ".join(t.strip('"') for t in tokens[i + 2:end])
            i = end
        elif tokens[i + 1] == "(":
            end = tokens.index(")", i)
            args = [t.strip('"') for t in tokens[i + 2:end] if t != ","]
            i = end + 1
            if i < len(tokens) and tokens[i] == "{":
                group = Group(token, args)
                stack[-1].groups.append(group)
                stack.append(group)
                i += 1
            else:
                stack[-1].attrs[token] = args
        else:
            raise LibertyError(f"cannot read Liberty near {token!r}")
    return root.groups[0]


class Expression:
    """A Liberty Boolean expression; `evaluate` with a dict, `verilog` as text."""

    TOKENS = re.compile(r"[A-Za-z_][\w\[\]]*|[01]|[()!'*&+|^]")

    def __init__(self, text):
        self.tokens, self.at = self.TOKENS.findall(text), 0
        self.tree = self._or()
        if self.at != len(self.tokens):
            raise LibertyError(f"cannot read the function {text!r}")
        self.inputs = sorted({t for t in self.tokens if re.match(r"[A-Za-z_]", t)})

    def _peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def _or(self):
        terms = [self._and()]
        while self._peek() in ("+", "|"):
            self._take()
            terms.append(self._and())
        return ("|", terms)

    def _and(self):
        factors = [self._xor()]
        while self._peek() and self._peek() not in ("+", "|", ")"):
            if self._peek() in ("*", "&"):
                self._take()
            factors.append(self._xor())
        return ("&", factors)

    def _xor(self):
        operands = [self._unary()]
        while self._peek() == "^":
            self._take()
            operands.append(self._unary())
        return ("^", operands)

    def _unary(self):
        token = self._take()
        if token == "!":
            tree = ("!", [self._unary()])
        elif token == "(":
            tree = self._or()
            self._take()
        else:
            tree = token
        while self._peek() == "'":
            self._take()
            tree = ("!", [tree])
        return tree

    def evaluate(self, values, tree=None):
        tree = self.tree if tree is None else tree
        if isinstance(tree, str):
            return int(tree) if tree in "01" else values[tree]
        operator, operands = tree
        results = [self.evaluate(values, operand) for operand in operands]
        if operator == "!":
            return 1 - results[0]
        if operator == "^":
            return sum(results) & 1
        return int(any(results)) if operator == "|" else int(all(results))

    def verilog(self, tree=None):
        tree = self.tree if tree is None else tree
        if isinstance(tree, str):
            return f"1'b{tree}" if tree in "01" else tree
        operator, operands = tree
        if operator == "!":
            return f"~{self.verilog(operands[0])}"
        text = f" {operator} ".join(self.verilog(operand) for operand in operands)
        return text if len(operands) == 1 else f"({text})"

    def table(self, order):
        """The truth table over `order` as a tuple of bits."""
        return tuple(self.evaluate(dict(zip(order, bits)))
                     for bits in itertools.product((0, 1), repeat=len(order)))


def interpolate(axis, at):
    """Index and weight of `at` on `axis`, extrapolating linearly beyond its ends."""
    if len(axis) == 1:
        return 0, 0.0
    i = min(max(bisect.bisect_right(axis, at) - 1, 0), len(axis) - 2)
    return i, (at - axis[i]) / (axis[i + 1] - axis[i])


class Table:
    """A look-up table; `at(slew, load)` whatever the order of its variables."""

    def __init__(self, group, templates):
        template = templates.get(group.args[0]) if group.args else None
        def axis(n):
            source = group if group.get(f"index_{n}") else template
            text = source.get(f"index_{n}") if source else None
            return [float(x) for x in re.split(r"[,\s]+", text[0].strip())] if text else None
        self.axes = [a for a in (axis(1), axis(2)) if a]
        values = [float(x) for row in group.get("values") for x in re.split(r"[,\s\\]+", row) if x]
        self.values = values
        first = template.get("variable_1", "") if template else ""
        self.load_first = "capacitance" in first

    def at(self, slew, load):
        if not self.axes:
            return self.values[0]
        if len(self.axes) == 1:
            i, w = interpolate(self.axes[0], load if self.load_first else slew)
            return self.values[i] + (w * (self.values[i + 1] - self.values[i]) if w else 0.0)
        x, y = (load, slew) if self.load_first else (slew, load)
        i, u = interpolate(self.axes[0], x)
        j, v = interpolate(self.axes[1], y)
        width = len(self.axes[1])
        low = self.values[i * width + j] * (1 - v) + self.values[i * width + j + 1] * v
        i += 1
        high = self.values[i * width + j] * (1 - v) + self.values[i * width + j + 1] * v
        return low * (1 - u) + high * u


class Cell:
    """One cell: pins, functions, what it is."""

    def __init__(self, group):
        self.name, self.group = group.args[0], group
        self.area = group.number("area")
        self.pins = {pin.args[0]: pin for pin in group.sub("pin")}
        self.inputs = [n for n, p in self.pins.items() if p.get("direction") == "input"]
        self.outputs = [n for n, p in self.pins.items() if p.get("direction") == "output"]
        self.functions = {n: Expression(self.pins[n].get("function"))
                          for n in self.outputs if self.pins[n].get("function")}
        self.ff = (group.sub("ff") or [None])[0]
        self.latch = (group.sub("latch") or [None])[0]
        self.is_gate = bool(group.get("clock_gating_integrated_cell"))

    @property
    def combinational(self):
        return not (self.ff or self.latch or self.is_gate) and \
            bool(self.outputs) and len(self.functions) == len(self.outputs)

    def special(self):
        """Cells no synthesis of ordinary logic takes: level shifters, isolation, tri-states, pads."""
        group = self.group
        pins = self.pins.values()
        return any(group.flag(a) for a in ("dont_use", "is_level_shifter", "is_isolation_cell")) \
            or any(p.flag("always_on") or p.get("three_state") or p.get("direction") == "inout"
                   for p in pins) or not self.outputs or group.sub("statetable") and not self.is_gate

    def capacitance(self, pin):
        return self.pins[pin].number("capacitance")

    def leakage(self):
        states = [float(g.get("value")) for g in self.group.sub("leakage_power")]
        if self.group.get("cell_leakage_power") is not None:
            return self.group.number("cell_leakage_power")
        return sum(states) / len(states) if states else 0.0


class Library:
    """A Liberty file reduced to the cells that synthesis may use."""

    NAND2 = (1, 1, 1, 0)
    XOR3 = (0, 1, 1, 0, 1, 0, 0, 1)
    MAJ3 = (0, 0, 0, 1, 0, 1, 1, 1)

    def __init__(self, path, dont_use=()):
        raw = Path(path).read_bytes()
        if raw[:2] == b"\x1f\x8b":
            raw = gzip.decompress(raw)
        self.sha256 = hashlib.sha256(raw).hexdigest()
        self.text = raw.decode("utf-8", "replace")
        spans = list(self._cell_spans())
        if not spans:
            raise LibertyError(f"{path}: no cells")
        self.head = self.text[:spans[0][1]]
        header = parse_group(self.head + "}")
        self.name, self.header = header.args[0], header
        self.templates = {g.args[0]: g for g in header.groups if g.name.endswith("template")}
        self.cells, self.spans = {}, {}
        for name, start, end in spans:
            if any(fnmatch.fnmatchcase(name, pattern) for pattern in dont_use):
                continue
            cell = Cell(parse_group(self.text[start:end]))
            if not cell.special():
                self.cells[name], self.spans[name] = cell, (start, end)
        self.voltage = float(header.get("nom_voltage") or
                             header.sub("operating_conditions")[0].get("voltage"))
        units = {"1ns": 1e-9, "1ps": 1e-12, "100ps": 1e-10, "10ps": 1e-11}
        self.time = units[header.get("time_unit", "1ns")]
        size, unit = header.get("capacitive_load_unit", ["1", "pf"])
        self.farad = float(size) * {"pf": 1e-12, "ff": 1e-15}[unit.lower()]
        leak = re.match(r"([\d.]+)\s*([munp])W", header.get("leakage_power_unit", "1nW"))
        self.watt = float(leak[1]) * {"m": 1e-3, "u": 1e-6, "n": 1e-9, "p": 1e-12}[leak[2]]
        self.nand2 = self._smallest(self._is(self.NAND2, 2))
        self.unit = self.nand2.area

    def _cell_spans(self):
        for match in CELL.finditer(self.text):
            depth = 0
            for brace in BRACES.finditer(self.text, match.end() - 1):
                if brace[0] == "{":
                    depth += 1
                elif brace[0] == "}":
                    depth -= 1
                    if depth == 0:
                        yield match[1], match.start(), brace.end()
                        break

    def _smallest(self, wanted, what="2-input NAND"):
        found = [c for c in self.cells.values() if wanted(c)]
        if not found:
            if what:
                raise LibertyError(f"{self.name}: no {what}")
            return None
        return min(found, key=lambda c: (c.area, c.name))

    @staticmethod
    def _is(table, inputs):
        return lambda c: c.combinational and len(c.outputs) == 1 and len(c.inputs) == inputs \
            and c.functions[c.outputs[0]].table(c.inputs) == table

    def buffer(self):
        return self._smallest(self._is((0, 1), 1), "buffer")

    def buffers(self):
        return [c for c in self.cells.values() if self._is((0, 1), 1)(c)]

    def inverters(self):
        return sorted((c for c in self.cells.values() if self._is((1, 0), 1)(c)),
                      key=lambda c: c.area)

    def full_adder(self):
        """(cell, sum pin, carry pin) of the smallest full adder, or None."""
        def wanted(c):
            return c.combinational and len(c.inputs) == 3 and \
                {c.functions[o].table(c.inputs) for o in c.outputs} == {self.XOR3, self.MAJ3}
        cell = self._smallest(wanted, None)
        if cell is None:
            return None
        pins = {cell.functions[o].table(cell.inputs): o for o in cell.outputs}
        return cell, pins[self.XOR3], pins[self.MAJ3]

    def tie(self):
        """(cell, pin of 1), (cell, pin of 0), or None where the library has no tie cells."""
        found = {}
        for cell in sorted(self.cells.values(), key=lambda c: c.area):
            if cell.combinational and not cell.inputs:
                for pin, function in cell.functions.items():
                    found.setdefault(function.evaluate({}), (cell, pin))
        return found

    def clock_gate(self):
        """The smallest posedge latch-based clock gate without a test pin, or None."""
        def wanted(c):
            return c.is_gate and c.group.get("clock_gating_integrated_cell") == "latch_posedge"
        return self._smallest(wanted, None)

    def slew(self):
        """The transition time at which energies and delays are read: of a gate with fanout 4."""
        load = 4 * max(self.nand2.capacitance(p) for p in self.nand2.inputs)
        timing = self.nand2.pins[self.nand2.outputs[0]].sub("timing")[0]
        tables = [Table(timing.sub(n)[0], self.templates) for n in ("rise_transition", "fall_transition")]
        start = tables[0].axes[1 if tables[0].load_first else 0][0]
        return sum(t.at(start, load) for t in tables) / 2

    def write(self, path, keep=lambda cell: True):
        """The reduced library as a file that Yosys, ABC and OpenSTA read."""
        parts = [self.head]
        parts += [self.text[slice(*self.spans[n])] + "\n" for n, c in self.cells.items() if keep(c)]
        Path(path).write_text("".join(parts) + "}\n")
