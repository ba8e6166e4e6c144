#!/usr/bin/env python3
"""Counts the operations of one SM3 compression, beside Table 4 of the paper.

    python3 operations.py [--json]

Two schedules are run on words and memories that count what is done to them: the standard's, and the
paper's optimised one (W' beside the expansion, M and N a round ahead, T_j <<< j stored in advance).
LOAD and STORE are counted by the rule that gives the printed numbers of the standard's schedule: loads
from arrays (the message, W, W', T), stores to arrays and to variables (A...H, M, N, SS1, SS2, TT1, TT2);
loads of variables are shown beside them. The feed-forward V xor ABCDEFGH, which Table 4 leaves out, is counted
apart. Each schedule's result is checked with ref/sm3.py.
"""

import argparse
import collections
import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2] / "ref"))
import sm3  # noqa: E402

# Table 4's columns; that of rotations is headed "LOAD" a second time there.
COLUMNS = ("LOAD", "STORE", "XOR", "ROL", "ADD", "AND", "OR", "NOT", "Total")
SCHEDULES = ("non-optimized", "optimized")


class Word:
    """32 bits whose operations are counted."""

    def __init__(self, value, counts):
        self.value = value
        self.counts = counts

    def _make(self, kind, value):
        self.counts[kind] += 1
        return Word(value & sm3.MASK, self.counts)

    def __xor__(self, other):
        return self._make("XOR", self.value ^ other.value)

    def __and__(self, other):
        return self._make("AND", self.value & other.value)

    def __or__(self, other):
        return self._make("OR", self.value | other.value)

    def __invert__(self):
        return self._make("NOT", ~self.value)

    def __add__(self, other):
        return self._make("ADD", self.value + other.value)

    def rol(self, n):
        return self._make("ROL", sm3.rol(self.value, n))


class Array:
    """Words whose reads and writes are counted."""

    def __init__(self, counts, values=()):
        self.counts = counts
        self.words = {i: Word(value, counts) for i, value in enumerate(values)}

    def __getitem__(self, i):
        self.counts["LOAD"] += 1
        return self.words[i]

    def __setitem__(self, i, word):
        self.counts["STORE"] += 1
        self.words[i] = word


class Variables:
    """Named words; each use of a name is a LOAD, each assignment a STORE."""

    def __init__(self, counts, **values):
        self.__dict__["counts"] = counts
        self.__dict__["words"] = {name: Word(value, counts) for name, value in values.items()}

    def __getattr__(self, name):
        self.counts["LOAD of variables"] += 1
        return self.words[name]

    def __setattr__(self, name, word):
        self.counts["STORE"] += 1
        self.words[name] = word


def FF(j, X, Y, Z):
    return X ^ Y ^ Z if j < 16 else (X & Y) | (X & Z) | (Y & Z)


def GG(j, X, Y, Z):
    return X ^ Y ^ Z if j < 16 else (X & Y) | (~X & Z)


def P0(X):
    return X ^ X.rol(9) ^ X.rol(17)


def P1(X):
    return X ^ X.rol(15) ^ X.rol(23)


def recurrence(W, i):
    return P1(W[i - 16] ^ W[i - 9] ^ W[i - 3].rol(15)) ^ W[i - 13].rol(7) ^ W[i - 6]


def standard(V, message, counts):
    """Clauses 5.3.2 and 5.3.3 as they stand: A <<< 12 and T_j <<< j wherever they are written."""
    m, W, W_ = Array(counts, message), Array(counts), Array(counts)
    T = Array(counts, map(sm3.T, range(64)))
    for i in range(16):
        W[i] = m[i]
    for i in range(16, 68):
        W[i] = recurrence(W, i)
    for i in range(64):
        W_[i] = W[i] ^ W[i + 4]
    r = Variables(counts, **dict(zip("ABCDEFGH", V)))
    for j in range(64):
        r.SS1 = (r.A.rol(12) + r.E + T[j].rol(j)).rol(7)
        r.SS2 = r.SS1 ^ r.A.rol(12)
        r.TT1 = FF(j, r.A, r.B, r.C) + r.D + r.SS2 + W_[j]
        r.TT2 = GG(j, r.E, r.F, r.G) + r.H + r.SS1 + W[j]
        r.D = r.C
        r.C = r.B.rol(9)
        r.B = r.A
        r.A = r.TT1
        r.H = r.G
        r.G = r.F.rol(19)
        r.F = r.E
        r.E = P0(r.TT2)
    return r


def optimised(V, message, counts):
    """The paper's: step k takes or computes W_k and, from k = 4 on, W'_{k-4}; round k - 6 follows."""
    m, W, W_ = Array(counts, message), Array(counts), Array(counts)
    T = Array(counts, (sm3.rol(sm3.T(j), j) for j in range(64)))
    r = Variables(counts, **dict(zip("ABCDEFGH", V)))
    for k in range(70):
        j = k - 6
        if j >= 0:
            A12 = r.A.rol(12)
            SS1 = (A12 + r.E + T[j]).rol(7)
            TT1 = FF(j, r.A, r.B, r.C) + r.M + (SS1 ^ A12)
            TT2 = GG(j, r.E, r.F, r.G) + r.N + SS1
            r.D, r.C, r.B, r.A = r.C, r.B.rol(9), r.A, TT1
            r.H, r.G, r.F, r.E = r.G, r.F.rol(19), r.E, P0(TT2)
        if -1 <= j < 63:
            r.M, r.N = r.D + W_[j + 1], r.H + W[j + 1]
        if k < 68:
            word = m[k] if k < 16 else recurrence(W, k)
            W[k] = word
            if k >= 4:
                W_[k - 4] = W[k - 4] ^ word
    return r


def run(schedule):
    """{operation: count} of one compression, and of its feed-forward; the result is checked."""
    V, block = sm3.IV, sm3.blocks(b"abc")[0]
    message = [int.from_bytes(block[i : i + 4], "big") for i in range(0, 64, 4)]
    counts = collections.Counter()
    registers = schedule(V, message, counts)
    compression = dict(counts)
    counts.clear()
    after = Array(counts, V)
    for i, name in enumerate("ABCDEFGH"):
        after[i] = after[i] ^ getattr(registers, name)
    feed = dict(counts)
    if tuple(after.words[i].value for i in range(8)) != sm3.CF(V, block):
        raise SystemExit(f"{schedule.__name__}: not the digest of ref/sm3.py")
    return compression, feed


def table():
    """[{schedule, printed, counted: {column: count}, loads of variables, feed_forward, differs}]"""
    published = json.loads((HERE / "published.json").read_text(encoding="utf-8"))
    result = []
    for name, row, schedule in zip(SCHEDULES, published["table_4"]["rows"], (standard, optimised)):
        printed = dict(zip(COLUMNS, map(int, row[1:])))
        if sum(printed.values()) != 2 * printed["Total"]:
            raise SystemExit(f"Table 4, {name}: the printed numbers do not add up")
        counts, feed = run(schedule)
        counted = {kind: counts[kind] for kind in COLUMNS[:-1]}
        counted["Total"] = sum(counted.values())
        result.append(
            {
                "schedule": name,
                "printed": printed,
                "counted": counted,
                "loads_of_variables": counts["LOAD of variables"],
                "feed_forward": feed,
                "differs": [kind for kind in COLUMNS if printed[kind] != counted[kind]],
            }
        )
    return result


def saving(rows, which):
    """Per cent fewer operations in the optimised schedule."""
    before, after = (row[which]["Total"] for row in rows)
    return 100 * (1 - after / before)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true", help="machine-readable")
    options = parser.parse_args()
    rows = table()
    if options.json:
        print(json.dumps(rows, indent=2))
        return 0
    print(f"{'':24}", *(f"{kind:>6}" for kind in COLUMNS))
    for row in rows:
        for which in ("printed", "counted"):
            print(f"{row['schedule']:15}{which:9}", *(f"{row[which][k]:6}" for k in COLUMNS))
        print(f"{'':15}differs: {', '.join(row['differs']) or 'nothing'};", end=" ")
        print(f"besides, {row['loads_of_variables']} loads of variables, and for the feed-forward", end=" ")
        print(", ".join(f"{n} {kind}" for kind, n in sorted(row["feed_forward"].items())))
    print(f"saved: {saving(rows, 'printed'):.1f}% printed, {saving(rows, 'counted'):.1f}% counted")
    return 0


if __name__ == "__main__":
    sys.exit(main())
