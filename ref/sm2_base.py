#!/usr/bin/env python3
"""The table of multiples of SM2's G that the library reads.

    python3 ref/sm2_base.py FILE                                        writes it
    python3 ref/sm2_base.py --check crates/manylane/src/sm2/base.bin    makes it again and compares

For windows i = 0 … 36 and multiples d = 1 … 64: the affine coordinates x and y of d 2^(7i) G, each as
x 2^256 mod p in four little-endian 64-bit words.
"""

import sys

# GB/T 32918.5-2017, clause 2.
p = 0xFFFFFFFEFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF00000000FFFFFFFFFFFFFFFF
a = p - 3
G = (
    0x32C4AE2C1F1981195F9904466A39C9948FE30BBFF2660BE1715A4589334C74C7,
    0xBC3736A2F4F6779C59BDCEE36B692153D0A9877CC62A474002DF32E52139F0A0,
)


def add(P, Q):
    """P + Q (GB/T 32918.1-2016, 3.2.3.1), which is never infinity here."""
    (x1, y1), (x2, y2) = P, Q
    if P == Q:
        slope = (3 * x1 * x1 + a) * pow(2 * y1, -1, p)
    else:
        slope = (y2 - y1) * pow(x2 - x1, -1, p)
    x3 = (slope * slope - x1 - x2) % p
    return x3, (slope * (x1 - x3) - y1) % p


def table():
    base = G
    for _ in range(37):
        multiple = base
        for _ in range(64):
            yield multiple
            last, multiple = multiple, add(multiple, base)
        base = add(last, last)  # 128 times the old one


def contents():
    coordinates = (coordinate for point in table() for coordinate in point)
    return b"".join((c * 2**256 % p).to_bytes(32, "little") for c in coordinates)


def main():
    *check, path = sys.argv[1:]
    if check == ["--check"]:
        with open(path, "rb") as file:
            if file.read() != contents():
                sys.exit(f"{path} is not what {sys.argv[0]} writes")
    elif not check:
        with open(path, "wb") as file:
            file.write(contents())
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
