#!/usr/bin/env python3
"""SM3 as GB/T 32905-2016 writes it, to be read and to check others against.

    python3 ref/sm3.py FILE...                      digests, tagged as `cksum -a sm3` does
    python3 ref/sm3.py --vectors                    prints vectors/sm3.json
    python3 ref/sm3.py --check vectors/sm3.json     makes it again and compares

Letters and clause numbers are the standard's. Nothing here is fast or constant-time.
"""

import json
import sys

MASK = 0xFFFFFFFF

# 4.1: the initial value.
IV = (0x7380166F, 0x4914B2B9, 0x172442D7, 0xDA8A0600, 0xA96F30BC, 0x163138AA, 0xE38DEE4D, 0xB0FB0E4E)


def T(j):  # 4.2
    return 0x79CC4519 if j < 16 else 0x7A879D8A


def rol(x, n):
    n %= 32
    return (x << n | x >> (32 - n)) & MASK


def FF(j, X, Y, Z):  # 4.3
    return X ^ Y ^ Z if j < 16 else (X & Y) | (X & Z) | (Y & Z)


def GG(j, X, Y, Z):  # 4.3
    return X ^ Y ^ Z if j < 16 else (X & Y) | (~X & Z)


def P0(X):  # 4.4
    return X ^ rol(X, 9) ^ rol(X, 17)


def P1(X):  # 4.4
    return X ^ rol(X, 15) ^ rol(X, 23)


def pad(message):
    """5.2: the bit 1, zeros, and the length in bits as 64 bits."""
    zeros = (55 - len(message)) % 64
    return message + b"\x80" + bytes(zeros) + (8 * len(message)).to_bytes(8, "big")


def expand(B):
    """5.3.2: W_0 ... W_67 and W'_0 ... W'_63 of one block."""
    W = [int.from_bytes(B[4 * j : 4 * j + 4], "big") for j in range(16)]
    for j in range(16, 68):
        W.append(P1(W[j - 16] ^ W[j - 9] ^ rol(W[j - 3], 15)) ^ rol(W[j - 13], 7) ^ W[j - 6])
    return W, [W[j] ^ W[j + 4] for j in range(64)]


def CF(V, B):
    """5.3.3: the compression function."""
    W, W_ = expand(B)
    A, B, C, D, E, F, G, H = V
    for j in range(64):
        SS1 = rol((rol(A, 12) + E + rol(T(j), j)) & MASK, 7)
        SS2 = SS1 ^ rol(A, 12)
        TT1 = (FF(j, A, B, C) + D + SS2 + W_[j]) & MASK
        TT2 = (GG(j, E, F, G) + H + SS1 + W[j]) & MASK
        D = C
        C = rol(B, 9)
        B = A
        A = TT1
        H = G
        G = rol(F, 19)
        F = E
        E = P0(TT2)
    return tuple(v ^ x for v, x in zip(V, (A, B, C, D, E, F, G, H)))


def blocks(message):
    padded = pad(message)
    return [padded[i : i + 64] for i in range(0, len(padded), 64)]


def chain(message):
    """5.3.1: V(0) ... V(n)."""
    V = [IV]
    for B in blocks(message):
        V.append(CF(V[-1], B))
    return V


def words(W):
    return b"".join(word.to_bytes(4, "big") for word in W)


def sm3(message):
    """5.4: the digest is V(n)."""
    return words(chain(message)[-1])


def hmac(key, message):
    """RFC 2104."""
    K0 = (sm3(key) if len(key) > 64 else key).ljust(64, b"\0")
    inner = sm3(bytes(k ^ 0x36 for k in K0) + message)
    return sm3(bytes(k ^ 0x5C for k in K0) + inner)


def hkdf(salt, ikm, info, length):
    """RFC 5869; no salt is 32 zeros, which HMAC cannot tell from an empty one."""
    prk = hmac(salt, ikm)
    okm = t = b""
    for i in range(1, -(-length // 32) + 1):
        t = hmac(prk, t + info + bytes([i]))
        okm += t
    return okm[:length]


def pbkdf2(password, salt, iterations, length):
    """RFC 8018, clause 5.2."""
    key = b""
    for i in range(1, -(-length // 32) + 1):
        u = hmac(password, salt + i.to_bytes(4, "big"))
        t = int.from_bytes(u, "big")
        for _ in range(iterations - 1):
            u = hmac(password, u)
            t ^= int.from_bytes(u, "big")
        key += t.to_bytes(32, "big")
    return key[:length]


# What follows makes vectors/sm3.json.

# GB/T 32905-2016, Annex A, as printed there.
ANNEX_A = [
    ("A.1", b"abc", "66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0"),
    ("A.2", b"abcd" * 16, "debe9ff92275b8a138604889c18e5a4d6fdb70e5387e5765293dcba39c0c5732"),
]

# On both sides of every place where the number of blocks changes (55/56 bytes into a block) or a
# block begins, for 0 ... 4 blocks, and where lanes, batches of blocks or pages may begin.
LENGTHS = sorted(
    {0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 32, 33}
    | {64 * n + d for n in range(5) for d in (-9, -8, -7, -1, 0, 1) if 64 * n + d >= 0}
    | {64 * n + d for n in (7, 8, 9, 15, 16, 17, 31, 32, 33) for d in (-9, -8, -1, 0, 1)}
    | {4095, 4096, 4097, 8192, 16384, 65535, 65536, 65537, 102400, 1000003}
)

KEY_LENGTHS = (0, 1, 16, 31, 32, 33, 63, 64, 65, 128, 129, 200)
MAC_LENGTHS = (0, 1, 55, 56, 64, 65, 119, 120, 300)


def painted(length, start=0):
    """Byte i is (start + i) mod 251, so that no two blocks, rows or pages are alike."""
    return bytes((start + i) % 251 for i in range(length))


def vectors():
    examples = []
    for clause, message, digest in ANNEX_A:
        assert sm3(message).hex() == digest, clause
        W, W_ = expand(blocks(message)[0])
        V = [words(v).hex() for v in chain(message)[1:]]
        example = {"source": f"GB/T 32905-2016, {clause}", "message": message.hex()}
        example |= {"digest": digest, "w": words(W).hex(), "w_prime": words(W_).hex(), "v": V}
        examples.append(example)

    return {
        "algorithm": "SM3",
        "examples": examples,
        "painted": [{"length": n, "digest": sm3(painted(n)).hex()} for n in LENGTHS],
        "hmac": [
            {"key_length": k, "length": n, "tag": hmac(painted(k, 100), painted(n)).hex()}
            for k in KEY_LENGTHS
            for n in MAC_LENGTHS
        ],
        "hkdf": [
            {"ikm": painted(ikm, 11).hex(), "salt": painted(salt, 96).hex()}
            | {"info": painted(info, 176).hex()}
            | {"okm": hkdf(painted(salt, 96), painted(ikm, 11), painted(info, 176), length).hex()}
            for ikm, salt, info, length in (
                (22, 13, 10, 42), (80, 80, 80, 82), (22, 0, 0, 42), (1, 64, 1, 1), (32, 65, 0, 32),
                (32, 32, 64, 33), (16, 16, 16, 255 * 32),
            )
        ],
        "pbkdf2": [
            {"password": password.hex(), "salt": salt.hex(), "iterations": iterations}
            | {"key": pbkdf2(password, salt, iterations, length).hex()}
            for password, salt, iterations, length in (
                (b"password", b"salt", 1, 32), (b"password", b"salt", 2, 32),
                (b"password", b"salt", 1000, 32), (b"", b"", 3, 1),
                (b"passwordPASSWORDpassword", b"saltSALT" * 4 + b"salt", 16, 80),
                (b"pass\0word", b"sa\0lt", 16, 16), (painted(64, 7), painted(55, 9), 3, 33),
                (painted(65, 7), painted(64, 9), 3, 64),
            )
        ],
    }


def dump(vectors):
    """JSON with one vector a line."""
    fields = []
    for name, value in vectors.items():
        if isinstance(value, list):
            value = "[\n" + ",\n".join("    " + json.dumps(item) for item in value) + "\n  ]"
        else:
            value = json.dumps(value)
        fields.append(f"  {json.dumps(name)}: {value}")
    return "{\n" + ",\n".join(fields) + "\n}\n"


def make(vectors, arguments):
    """What --vectors and --check PATH do; an error, or 0."""
    match arguments:
        case ["--vectors"]:
            sys.stdout.write(dump(vectors()))
        case ["--check", path]:
            with open(path, encoding="ascii") as file:
                if file.read() != dump(vectors()):
                    return f"{path} is not what --vectors prints"
            print(f"{path}: as generated")
    return 0


def main(arguments):
    match arguments:
        case ["--vectors"] | ["--check", _]:
            return make(vectors, arguments)
        case [] | ["-h" | "--help"]:
            print(__doc__.strip())
        case paths:
            for path in paths:
                with open(path, "rb") as file:
                    print(f"SM3 ({path}) = {sm3(file.read()).hex()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
