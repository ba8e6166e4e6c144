#!/usr/bin/env python3
"""What makes vectors/aes.json and vectors/sm4.json, from aes.py, sm4.py and modes.py.

    python3 ref/block_vectors.py --vectors aes|sm4      prints the file
    python3 ref/block_vectors.py --check FILE           makes it again and compares

The standards' examples are given as they are printed, and must come out.
"""

import pathlib
import sys

import block_examples
import modes
from aes import AES
from sm3 import dump, painted, sm3
from sm4 import SM4

KEY, IV = 100, 200  # what keys and IVs are painted from

# On both sides of the places where a block begins, and where lanes of one to sixteen blocks and groups of them end.
LENGTHS = sorted(
    {16 * n + d for n in range(6) for d in (-1, 0, 1) if 16 * n + d >= 0}
    | {16 * n + d for n in (8, 16, 32, 64) for d in (-16, -1, 0, 1)}
    | {4095, 4096, 4097}
)

# Counters that come to the end of their 32, 64 and 128 bits in the second and the twentieth block.
COUNTERS = {
    bits: [painted((128 - bits) // 8, IV) + (2**bits - n).to_bytes(bits // 8, "big") for n in (1, 19)]
    for bits in (32, 64, 128)
}


def shown(name, data):
    """Bytes, or of many the SM3."""
    return {name: data.hex()} if len(data) <= 96 else {name + "_sm3": sm3(data).hex()}


def confidential(cipher, key_lengths):
    """The modes that only encrypt, of painted plaintext."""
    plain = {
        "ecb": lambda c, iv, p: modes.ecb_encrypt(c, p),
        "cbc": modes.cbc_encrypt,
        "cbc-pkcs7": lambda c, iv, p: modes.cbc_encrypt(c, iv, modes.pkcs7(p)),
        "cfb": modes.cfb_encrypt,
        "cfb8": lambda c, iv, p: modes.cfb_encrypt(c, iv, p, 1),
        "ofb": modes.ofb,
        "ctr32": lambda c, iv, p: modes.ctr(c, iv, p, 32),
        "ctr64": lambda c, iv, p: modes.ctr(c, iv, p, 64),
        "ctr128": modes.ctr,
    }
    # One of the counters' widths suffices for all lengths: the others differ where they end.
    whole, few = {"ecb", "cbc"}, {"ctr32", "ctr64", "cfb8", "cbc-pkcs7"}
    for k in key_lengths:
        c = cipher(painted(k, KEY))
        for mode, encrypt in plain.items():
            ivs = [painted(16, IV)]
            if mode.startswith("ctr"):
                ivs += COUNTERS[int(mode[3:])]
            for iv in ivs:
                for n in LENGTHS if iv is ivs[0] else (16, 17, 304, 305, 640):
                    if mode in whole and n % 16 or mode in few and iv is ivs[0] and n > 81:
                        continue
                    entry = {"mode": mode, "key_length": k, "iv": iv.hex(), "length": n}
                    yield entry | shown("ciphertext", encrypt(c, iv, painted(n)))


def of_xts(cipher, key_lengths, doubles):
    for k in key_lengths:
        c1, c2 = cipher(painted(k, KEY)), cipher(painted(k, KEY + k))
        for mode, double in doubles.items():
            for n in LENGTHS:
                if n >= 16:
                    tweak = painted(16, IV)
                    C = modes.xts_encrypt(c1, c2, tweak, painted(n), double)
                    entry = {"mode": mode, "key_length": 2 * k, "iv": tweak.hex(), "length": n}
                    yield entry | shown("ciphertext", C)


def inverse(X):
    """X to the power 2^128 - 2."""
    Y = 1 << 127
    for i in range(127, -1, -1):
        Y = modes.product(Y, Y)
        Y = modes.product(Y, X) if i else Y
    return Y


def iv_of(cipher, J0):
    """The IV of sixteen bytes that makes this J0 (SP 800-38D, 7.1, step 2)."""
    H_ = inverse(int.from_bytes(cipher.encrypt(bytes(16)), "big"))
    return modes.product(modes.product(int.from_bytes(J0, "big"), H_) ^ 128, H_).to_bytes(16, "big")


def authenticated(cipher, key_lengths):
    """GCM and CCM of painted plaintext and associated data (from 50)."""

    def entry(mode, k, iv, a, n, C, T):
        of = {"mode": mode, "key_length": k, "iv": iv.hex(), "aad_length": a, "length": n}
        return of | shown("ciphertext", C) | {"tag": T.hex()}

    for k in key_lengths:
        c = cipher(painted(k, KEY))
        # Shapes of GCM: IV, length of associated data, of plaintext, of tag.
        shapes = [(painted(12, IV), 20, n, 16) for n in LENGTHS]
        shapes += [(painted(12, IV), a, 33, 16) for a in (0, 1, 15, 16, 17, 32, 255, 256, 1025)]
        shapes += [(painted(v, IV), 5, 40, 16) for v in (1, 8, 11, 13, 16, 17, 32, 60, 128, 300)]
        shapes += [(painted(12, IV), 7, 19, t) for t in (4, 8, 12, 13, 14, 15)]
        # The counter's 32 bits pass their end: at once, and in the twentieth block.
        shapes += [
            (iv_of(c, painted(12, IV) + (2**32 - low).to_bytes(4, "big")), 3, n, 16)
            for low, n in ((1, 33), (20, 640))
        ]
        for iv, a, n, t in shapes:
            C, T = modes.gcm_encrypt(c, iv, painted(n), painted(a, 50), t)
            yield entry("gcm", k, iv, a, n, C, T)
        shapes = [(12, 20, n, 16) for n in LENGTHS if n < 300]
        shapes += [(12, a, 33, 16) for a in (0, 1, 13, 14, 15, 16, 29, 30, 31, 255)]
        shapes += [(v, 5, 40, t) for v, t in ((7, 4), (8, 6), (9, 8), (10, 10), (11, 12), (13, 14))]
        if k == 16:
            shapes += [(12, a, 33, 16) for a in (0xFEFF, 0xFF00)]  # A.2.2: two forms of a
        for v, a, n, t in shapes:
            iv = painted(v, IV)
            C, T = modes.ccm_encrypt(c, iv, painted(n), painted(a, 50), t)
            yield entry("ccm", k, iv, a, n, C, T)


def vectors(algorithm):
    cipher, key_lengths = {"aes": (AES, (16, 24, 32)), "sm4": (SM4, (16,))}[algorithm]
    doubles = {"xts": modes.double_ieee}
    if algorithm == "sm4":
        doubles["xts-gb"] = modes.double_gb
    # IEEE 1619 has no keys of 192 bits.
    xts = of_xts(cipher, [k for k in key_lengths if k != 24], doubles)
    return {"algorithm": algorithm.upper()} | block_examples.examples(algorithm) | {
        "painted": [*confidential(cipher, key_lengths), *xts],
        "painted_aead": list(authenticated(cipher, key_lengths)),
    }


def main(arguments):
    match arguments:
        case ["--vectors", ("aes" | "sm4") as algorithm]:
            sys.stdout.write(dump(vectors(algorithm)))
        case ["--check", path]:
            with open(path, encoding="ascii") as file:
                if file.read() != dump(vectors(pathlib.Path(path).stem)):
                    return f"{path} is not what --vectors prints"
            print(f"{path}: as generated")
        case _:
            print(__doc__.strip())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
