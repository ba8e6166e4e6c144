#!/usr/bin/env python3
"""What makes vectors/sha3.json, from keccak.py.

    python3 ref/sha3_vectors.py --vectors                     prints the file
    python3 ref/sha3_vectors.py --check vectors/sha3.json     makes it again and compares

The standards' examples are given as they are printed, and must come out, but for the longest.
"""

import sys

import sha3_examples as examples
from keccak import FUNCTIONS, capacity_rate, cshake, keccak_p, kmac, kmacxof, kt, turboshake
from sm3 import make, painted

# Painted bytes begin here: messages at 0.
KEY, CUSTOMIZATION, NAME = 100, 50, 150

# Longer messages take this generator minutes; vectors/verify_sha3.py does them.
LONGEST = 50_000


def hex_or_painted(data):
    """Long bytes that are painted from 0, as what makes them again."""
    return {"painted": len(data)} if len(data) > 16 and data == examples.ptn(len(data)) else data.hex()


def from_(start, length):
    return {"painted": length, "from": start}


def printed(source, made, expected):
    """The printed value, if the last bytes of what is made are the same."""
    assert made is None or made.hex().endswith(expected), source
    return expected


def permutations():
    for rounds in (24, 12):
        for state in (bytes(200), painted(200)):
            yield {"rounds": rounds, "input": state.hex(), "output": keccak_p(state, rounds).hex()}


def printed_hashes():
    for what, rows in (("FIPS 202, example values", examples.FIPS_202), ("Keccak, submission", examples.KECCAK)):
        for function, M, output in rows:
            made = FUNCTIONS[function](M, len(output) // 2)
            yield {
                "source": what, "function": function, "message": M.hex(),
                "output": printed(function, made, output),
            }
    for function, M, D, L, output in examples.TURBOSHAKE:
        made = turboshake(int(function[-3:]), M, D, L) if len(M) <= LONGEST else None
        yield {
            "source": "RFC 9861, 5", "function": function, "domain": D, "message": hex_or_painted(M),
            "skip": L - len(output) // 2, "output": printed(function, made, output),
        }


def lengths(rate):
    """On both sides of the places where a word, a block, and the first of several blocks begin."""
    return sorted(
        {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 32, 33, 64, 200}
        | {rate * n + d for n in (1, 2, 3) for d in (-9, -8, -7, -2, -1, 0, 1, 8)}
        | {rate * n + d for n in (5, 8, 17) for d in (-1, 0)}
    )


def painted_hashes():
    for function, of in FUNCTIONS.items():
        if function.startswith("KT"):
            continue
        bits = int(function.split("-")[-1].rpartition("E")[2])
        rate = capacity_rate(bits)
        name = {"function": function} | ({"domain": 0x1F} if function.startswith("Turbo") else {})
        default = bits // 8 if "-" in function else bits // 4
        outputs = [(n, default) for n in lengths(rate)]
        if "-" not in function:  # the XOFs; whole blocks of output too, and more than one
            outputs += [(n, L) for n in (0, rate) for L in (1, 8, 9, rate - 1, rate, rate + 1, 2 * rate, 3 * rate + 5)]
        for n, L in outputs:
            yield {"source": "generated"} | name | {"message": from_(0, n), "output": of(painted(n), L).hex()}
    for bits in (128, 256):
        for D in (0x01, 0x02, 0x40, 0x7F):
            for n in (0, 5, capacity_rate(bits) - 1, 400):
                yield {
                    "source": "generated", "function": f"TurboSHAKE{bits}", "domain": D, "message": from_(0, n),
                    "output": turboshake(bits, painted(n), D, 40).hex(),
                }


def customized():
    for number, bits, X, S, output in examples.CSHAKE:
        made = cshake(bits, X, len(output) // 2, b"", S)
        yield {
            "source": f"SP 800-185, cSHAKE sample {number}", "function": f"cSHAKE{bits}", "name": "",
            "customization": S.hex(), "message": X.hex(), "output": printed(number, made, output),
        }
    for bits in (128, 256):
        rate = capacity_rate(bits)
        # Lengths of N and S that fill a block of the prefix, and lengths in bits of one, two and three bytes.
        for n, s, x, L in (
            (0, 0, 40, 32), (4, 0, 0, 32), (0, 1, 0, 64), (3, 31, 1, 65), (4, rate - 10, rate - 1, 32),
            (4, rate - 9, rate, 200), (4, rate - 8, rate + 1, 32), (32, 300, 500, 32), (40, 8192, 10, 2 * rate + 1),
        ):
            N, S, X = painted(n, NAME), painted(s, CUSTOMIZATION), painted(x)
            yield {
                "source": "generated", "function": f"cSHAKE{bits}", "name": from_(NAME, n),
                "customization": from_(CUSTOMIZATION, s), "message": from_(0, x),
                "output": cshake(bits, X, L, N, S).hex(),
            }


def codes():
    of = {"KMAC": kmac, "KMACXOF": kmacxof}
    for function, number, X, S, output in examples.KMAC:
        made = of[function[:-3]](int(function[-3:]), examples.KMAC_KEY, X, len(output) // 2, S)
        yield {
            "source": f"SP 800-185, {function[:-3]} sample {number}", "function": function,
            "key": examples.KMAC_KEY.hex(), "customization": S.hex(), "message": X.hex(),
            "output": printed(number, made, output),
        }
    for bits in (128, 256):
        rate = capacity_rate(bits)
        for k, s, x, L in (
            (0, 0, 0, 32), (1, 0, 1, 4), (16, 20, rate - 4, 32), (31, 0, rate - 3, 31), (32, 0, rate - 2, 32),
            (32, 3, rate - 1, 64), (33, 0, rate, 16), (64, 100, rate + 1, 33), (rate - 5, 0, 77, 32),
            (rate - 4, 0, 0, 8), (rate, 0, 5, 32), (300, 400, 1000, 8192), (32, 0, 3 * rate - 3, rate + 1),
        ):
            K, S, X = painted(k, KEY), painted(s, CUSTOMIZATION), painted(x)
            for function, code in of.items():
                yield {
                    "source": "generated", "function": f"{function}{bits}", "key": from_(KEY, k),
                    "customization": from_(CUSTOMIZATION, s), "message": from_(0, x),
                    "output": code(bits, K, X, L, S).hex()[-2 * 80 :],
                } | ({"skip": L - 80} if L > 80 else {})


def kangaroos():
    for function, M, C, L, output in examples.KT:
        made = kt(int(function[-3:]), M, C, L) if len(M) <= LONGEST else None
        yield {
            "source": "RFC 9861, 5", "function": function, "customization": hex_or_painted(C),
            "message": hex_or_painted(M), "skip": L - len(output) // 2, "output": printed(function, made, output),
        }
    # Both sides of where a chunk ends, with and without a customization in another chunk than the message's end; more
    # chaining values than lanes, and than fill a block.
    cases = [(8192 * n + d, 0) for n in (1, 2, 3) for d in (-2, -1, 0, 1)]
    cases += [(8192 * n + d, 5) for n in (1, 2) for d in (-7, -6, -5)]
    cases += [(8192 * n + 100, 0) for n in (5, 9, 17)] + [(8192 * 9 - 1, 0), (8192 * 8, 0)]
    cases += [(0, 8190), (0, 8189), (100, 20_000), (8192 * 3 - 100, 200), (8192 * 2, 8192 * 2)]
    for bits in (128, 256):
        for m, c in cases:
            yield {
                "source": "generated", "function": f"KT{bits}", "customization": from_(CUSTOMIZATION, c),
                "message": from_(0, m), "output": kt(bits, painted(m), painted(c, CUSTOMIZATION), bits // 4).hex(),
            }


def vectors():
    return {
        "algorithm": "SHA-3",
        "permutations": list(permutations()),
        "hashes": [*printed_hashes(), *painted_hashes()],
        "cshake": list(customized()),
        "kmac": list(codes()),
        "kt": list(kangaroos()),
    }


if __name__ == "__main__":
    if len(sys.argv) == 1:
        print(__doc__.strip())
    sys.exit(make(vectors, sys.argv[1:]))
