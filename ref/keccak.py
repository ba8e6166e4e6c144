#!/usr/bin/env python3
"""Keccak as FIPS 202, SP 800-185 and RFC 9861 write it, to be read and to check others against.

    python3 ref/keccak.py FUNCTION FILE...      digests, tagged; FUNCTION is one of those below

Letters and clause numbers are the standards', but lengths are in bytes. Nothing here is fast or constant-time.
"""

import sys

MASK = 0xFFFFFFFFFFFFFFFF


def rol(x, n):
    return (x << n | x >> (64 - n)) & MASK


def rc(t):  # FIPS 202, algorithm 5
    R = 0x80  # bit 7 is R[0]
    for _ in range(t % 255):
        R = R >> 1 ^ (0x8E if R & 1 else 0)
    return R >> 7


# FIPS 202, 3.2.5: the round constants of iota.
RC = [sum(rc(j + 7 * i) << (2**j - 1) for j in range(7)) for i in range(24)]


def rho_offsets():  # FIPS 202, algorithm 2
    offsets = {(0, 0): 0}
    x, y = 1, 0
    for t in range(24):
        offsets[x, y] = (t + 1) * (t + 2) // 2 % 64
        x, y = y, (2 * x + 3 * y) % 5
    return offsets


OFFSETS = rho_offsets()

# From where word (x, y) comes under rho and pi (FIPS 202, algorithms 2 and 3), and by how much it is rotated.
MOVES = [((x + 3 * y) % 5 + 5 * x, OFFSETS[(x + 3 * y) % 5, x]) for y in range(5) for x in range(5)]

# Words (x, y), (x + 1, y) and (x + 2, y), for chi (algorithm 4).
ROWS = [(x + 5 * y, (x + 1) % 5 + 5 * y, (x + 2) % 5 + 5 * y) for y in range(5) for x in range(5)]


def Rnd(A, constant):
    """FIPS 202, 3.3: iota(chi(pi(rho(theta(A))))) of 25 words, (x, y) at x + 5y."""
    C = [A[x] ^ A[x + 5] ^ A[x + 10] ^ A[x + 15] ^ A[x + 20] for x in range(5)]
    D = [C[x - 1] ^ rol(C[(x + 1) % 5], 1) for x in range(5)]
    B = [rol(A[source] ^ D[source % 5], offset) for source, offset in MOVES]
    A = [B[i] ^ (~B[j] & B[k]) for i, j, k in ROWS]
    A[0] ^= constant
    return A


def keccak_p(S, n_r=24):
    """FIPS 202, 3.3: Keccak-p[1600, n_r] of 200 bytes. RFC 9861, 2.1: twelve rounds have the last twelve constants."""
    A = [int.from_bytes(S[8 * i : 8 * i + 8], "little") for i in range(25)]
    for constant in RC[24 - n_r :]:
        A = Rnd(A, constant)
    return b"".join(word.to_bytes(8, "little") for word in A)


def sponge(rate, n_r, suffix, M, d):
    """FIPS 202, algorithm 8, with pad10*1. `suffix`: the bits after M, and the first bit of the padding above."""
    P = M + bytes([suffix]) + bytes(-(len(M) + 1) % rate)
    P = P[:-1] + bytes([P[-1] | 0x80])
    S = bytes(200)
    for i in range(0, len(P), rate):
        block = int.from_bytes(S[:rate], "little") ^ int.from_bytes(P[i : i + rate], "little")
        S = keccak_p(block.to_bytes(rate, "little") + S[rate:], n_r)
    Z = S[:rate]
    while len(Z) < d:
        S = keccak_p(S, n_r)
        Z += S[:rate]
    return Z[:d]


def capacity_rate(bits):
    """Bytes of a block where the capacity is twice `bits`."""
    return 200 - bits // 4


def sha3(bits, M):  # FIPS 202, 6.1
    return sponge(capacity_rate(bits), 24, 0b0000_0110, M, bits // 8)


def keccak(bits, M):
    """The submission to the competition, as Ethereum has it: no bits after M."""
    return sponge(capacity_rate(bits), 24, 0b0000_0001, M, bits // 8)


def shake(bits, M, d):  # FIPS 202, 6.2
    return sponge(capacity_rate(bits), 24, 0b0001_1111, M, d)


def left_encode(x):  # SP 800-185, 2.3.1
    n = max(1, (x.bit_length() + 7) // 8)
    return bytes([n]) + x.to_bytes(n, "big")


def right_encode(x):  # SP 800-185, 2.3.1
    n = max(1, (x.bit_length() + 7) // 8)
    return x.to_bytes(n, "big") + bytes([n])


def encode_string(S):  # SP 800-185, 2.3.2
    return left_encode(8 * len(S)) + S


def bytepad(X, w):  # SP 800-185, 2.3.3
    z = left_encode(w) + X
    return z + bytes(-len(z) % w)


def cshake(bits, X, L, N, S):  # SP 800-185, 3.3
    if not N and not S:
        return shake(bits, X, L)
    rate = capacity_rate(bits)
    return sponge(rate, 24, 0b0000_0100, bytepad(encode_string(N) + encode_string(S), rate) + X, L)


def kmac(bits, K, X, L, S):  # SP 800-185, 4.3
    newX = bytepad(encode_string(K), capacity_rate(bits)) + X + right_encode(8 * L)
    return cshake(bits, newX, L, b"KMAC", S)


def kmacxof(bits, K, X, L, S):  # SP 800-185, 4.3.1
    newX = bytepad(encode_string(K), capacity_rate(bits)) + X + right_encode(0)
    return cshake(bits, newX, L, b"KMAC", S)


def turboshake(bits, M, D, L):  # RFC 9861, 2.2
    return sponge(capacity_rate(bits), 12, D, M, L)


def length_encode(x):  # RFC 9861, 3.3
    S = x.to_bytes((x.bit_length() + 7) // 8, "big")
    return S + bytes([len(S)])


def kt(bits, M, C, L):
    """RFC 9861, 3.2 and 4: KT128 and KT256, whose chaining values have 32 and 64 bytes."""
    S = M + C + length_encode(len(C))
    if len(S) <= 8192:
        return turboshake(bits, S, 0x07, L)
    CV = [turboshake(bits, S[i : i + 8192], 0x0B, bits // 4) for i in range(8192, len(S), 8192)]
    FinalNode = S[:8192] + b"\x03" + bytes(7) + b"".join(CV) + length_encode(len(CV)) + b"\xff\xff"
    return turboshake(bits, FinalNode, 0x06, L)


# Every function under its name, of a message and of the length of the output; all that is optional is left out.
FUNCTIONS = (
    {f"SHA3-{bits}": lambda M, _, bits=bits: sha3(bits, M) for bits in (224, 256, 384, 512)}
    | {f"Keccak-{bits}": lambda M, _, bits=bits: keccak(bits, M) for bits in (224, 256, 384, 512)}
    | {f"SHAKE{bits}": lambda M, d, bits=bits: shake(bits, M, d) for bits in (128, 256)}
    | {f"TurboSHAKE{bits}": lambda M, d, bits=bits: turboshake(bits, M, 0x1F, d) for bits in (128, 256)}
    | {f"KT{bits}": lambda M, d, bits=bits: kt(bits, M, b"", d) for bits in (128, 256)}
)


def main(arguments):
    match arguments:
        case [function, *paths] if function in FUNCTIONS:
            for path in paths:
                with open(path, "rb") as file:
                    digest = FUNCTIONS[function](file.read(), 64 if function.endswith("256") else 32)
                print(f"{function} ({path}) = {digest.hex()}")
        case _:
            print(__doc__.strip(), *FUNCTIONS, sep="\n    ")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
