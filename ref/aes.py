#!/usr/bin/env python3
"""AES as FIPS 197 writes it, to be read and to check others against.

    python3 ref/aes.py KEY BLOCK        the block encrypted, all in hexadecimal

Names and section numbers are the standard's. Nothing here is fast or constant-time: the S-box is looked up.
"""

import sys


def xtimes(b):  # 4.2
    return b << 1 ^ (0x11B if b & 0x80 else 0)


def mul(a, b):
    """4.2: the product in GF(2^8)."""
    product = 0
    while b:
        product ^= a if b & 1 else 0
        a, b = xtimes(a), b >> 1
    return product


def sbox(b):
    """5.1.1: the inverse in GF(2^8), and the affine map of (5.4)."""
    inverse = next((c for c in range(256) if mul(b, c) == 1), 0)
    rol = lambda n: (inverse << n | inverse >> (8 - n)) & 0xFF
    return inverse ^ rol(1) ^ rol(2) ^ rol(3) ^ rol(4) ^ 0x63


SBOX = bytes(sbox(b) for b in range(256))
INVSBOX = bytes(SBOX.index(b) for b in range(256))  # 5.3.2


# The state is sixteen bytes, column after column: s[r, c] is state[r + 4 * c] (3.4).


def SubBytes(state):  # 5.1.1
    return bytes(SBOX[s] for s in state)


def InvSubBytes(state):  # 5.3.2
    return bytes(INVSBOX[s] for s in state)


def ShiftRows(state):  # 5.1.2
    return bytes(state[(i + 4 * (i % 4)) % 16] for i in range(16))


def InvShiftRows(state):  # 5.3.1
    return bytes(state[(i - 4 * (i % 4)) % 16] for i in range(16))


# Products by the few constants of (5.7) and (5.15), each computed once.
PRODUCTS = {c: bytes(mul(c, b) for b in range(256)) for c in (1, 2, 3, 9, 11, 13, 14)}


def mix(state, row):
    """Each column times the circulant matrix of which `row` is the first row."""
    return bytes(
        PRODUCTS[row[-r % 4]][state[4 * c]]
        ^ PRODUCTS[row[(1 - r) % 4]][state[4 * c + 1]]
        ^ PRODUCTS[row[(2 - r) % 4]][state[4 * c + 2]]
        ^ PRODUCTS[row[(3 - r) % 4]][state[4 * c + 3]]
        for c in range(4)
        for r in range(4)
    )


def MixColumns(state):  # 5.1.3
    return mix(state, (2, 3, 1, 1))


def InvMixColumns(state):  # 5.3.3
    return mix(state, (14, 11, 13, 9))


def AddRoundKey(state, key):  # 5.1.4
    return bytes(s ^ k for s, k in zip(state, key))


def KeyExpansion(key):
    """5.2: Nr + 1 round keys of sixteen bytes."""
    Nk = len(key) // 4
    Nr = Nk + 6
    w = [key[4 * i : 4 * i + 4] for i in range(Nk)]
    Rcon = 1
    for i in range(Nk, 4 * Nr + 4):
        temp = w[i - 1]
        if i % Nk == 0:
            temp = AddRoundKey(SubBytes(temp[1:] + temp[:1]), (Rcon, 0, 0, 0))
            Rcon = xtimes(Rcon)
        elif Nk > 6 and i % Nk == 4:
            temp = SubBytes(temp)
        w.append(AddRoundKey(w[i - Nk], temp))
    return [b"".join(w[4 * i : 4 * i + 4]) for i in range(Nr + 1)]


class AES:
    def __init__(self, key):
        assert len(key) in (16, 24, 32)
        self.w = KeyExpansion(key)

    def encrypt(self, block):
        """5.1: Cipher."""
        state = AddRoundKey(block, self.w[0])
        for w in self.w[1:-1]:
            state = AddRoundKey(MixColumns(ShiftRows(SubBytes(state))), w)
        return AddRoundKey(ShiftRows(SubBytes(state)), self.w[-1])

    def decrypt(self, block):
        """5.3: InvCipher."""
        state = AddRoundKey(block, self.w[-1])
        for w in self.w[-2:0:-1]:
            state = InvMixColumns(AddRoundKey(InvSubBytes(InvShiftRows(state)), w))
        return AddRoundKey(InvSubBytes(InvShiftRows(state)), self.w[0])


def main(arguments):
    match arguments:
        case [key, block] if not key.startswith("-"):
            print(AES(bytes.fromhex(key)).encrypt(bytes.fromhex(block)).hex())
        case _:
            print(__doc__.strip())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
