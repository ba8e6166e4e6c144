#!/usr/bin/env python3
"""SM4 as GB/T 32907-2016 writes it, to be read and to check others against.

    python3 ref/sm4.py KEY BLOCK        the block encrypted, all in hexadecimal

Letters and clause numbers are the standard's. Nothing here is fast or constant-time: the S-box is looked up.
"""

import sys

MASK = 0xFFFFFFFF

# 6.2.1, table 1.
SBOX = bytes.fromhex(
    "d690e9fecce13db716b614c228fb2c052b679a762abe04c3aa44132649860699"
    "9c4250f491ef987a33540b43edcfac62e4b31ca9c908e89580df94fa758f3fa6"
    "4707a7fcf37317ba83593c19e6854fa8686b81b27164da8bf8eb0f4b70569d35"
    "1e240e5e6358d1a225227c3b01217887d40046579fd327524c3602e7a0c4c89e"
    "eabf8ad240c738b5a3f7f2cef96115a1e0ae5da49b341a55ad933230f58cb1e3"
    "1df6e22e8266ca60c02923ab0d534e6fd5db3745defd8e2f03ff6a726d6c5b51"
    "8d1baf92bbddbc7f11d95c411f105ad80ac13188a5cd7bbd2d74d012b8e5b4b0"
    "8969974a0c96777e65b9f109c56ec68418f07dec3adc4d2079ee5f3ed7cb3948"
)

# 7.3.
FK = (0xA3B1BAC6, 0x56AA3350, 0x677D9197, 0xB27022DC)
CK = [int.from_bytes(bytes((4 * i + j) * 7 % 256 for j in range(4)), "big") for i in range(32)]


def rol(x, n):
    return (x << n | x >> (32 - n)) & MASK


def tau(A):  # 6.2.1
    return int.from_bytes(bytes(SBOX[a] for a in A.to_bytes(4, "big")), "big")


def L(B):  # 6.2.2
    return B ^ rol(B, 2) ^ rol(B, 10) ^ rol(B, 18) ^ rol(B, 24)


def L_(B):  # 7.3: L'
    return B ^ rol(B, 13) ^ rol(B, 23)


def words(block):
    return [int.from_bytes(block[i : i + 4], "big") for i in range(0, 16, 4)]


def F(X, rk):
    """6.1: the round function, of four words and a round key."""
    return X[0] ^ L(tau(X[1] ^ X[2] ^ X[3] ^ rk))


def expand(MK):
    """7.3: rk_0 ... rk_31."""
    K = [mk ^ fk for mk, fk in zip(words(MK), FK)]
    for i in range(32):
        K.append(K[i] ^ L_(tau(K[i + 1] ^ K[i + 2] ^ K[i + 3] ^ CK[i])))
    return K[4:]


def rounds(block, rk):
    """7.1: thirty-two rounds; X_0 ... X_35."""
    X = words(block)
    for i in range(32):
        X.append(F(X[i : i + 4], rk[i]))
    return X


def crypt(block, rk):
    """7.1: the rounds, then R: the last four words in reverse."""
    return b"".join(x.to_bytes(4, "big") for x in reversed(rounds(block, rk)[32:]))


class SM4:
    def __init__(self, key):
        assert len(key) == 16
        self.rk = expand(key)

    def encrypt(self, block):
        return crypt(block, self.rk)

    def decrypt(self, block):  # 7.2
        return crypt(block, self.rk[::-1])


def main(arguments):
    match arguments:
        case [key, block] if not key.startswith("-"):
            print(SM4(bytes.fromhex(key)).encrypt(bytes.fromhex(block)).hex())
        case _:
            print(__doc__.strip())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
