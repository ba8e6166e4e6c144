#!/usr/bin/env python3
"""Makes vectors/sm2.json from ref/sm2.py; vectors/README.md has the schema.

python3 ref/sm2_vectors.py --vectors                    prints vectors/sm2.json
python3 ref/sm2_vectors.py --check vectors/sm2.json     makes it again and compares
"""

import sys

from sm2 import DEFAULT_ID, G, KDF, Retry, Z, a, add, b, bar, ciphertext_der, compressed, decrypt
from sm2 import digest, encrypt, exchange, is_on_curve, mul, n, neg, number, octets, p, public_key
from sm2 import sign_digest, signature_der, uncompressed, verify_digest
from sm2_malformed import bad_ciphertext_der, bad_points, bad_signature_der, other_curve_point
from sm2_malformed import seeded
from sm3 import make, painted, sm3

# RFC 8998, clause 3.2.1, and the ID of an example in GM/T 0003 (there for another curve).
TLS_ID = b"TLSv1.3+GM+Cipher+Suite"
ALICE = b"ALICE123@YAHOO.COM"


def hex32(x):
    return octets(x).hex()


def multiples(P, start, count):
    """[start]P, [start+1]P ... and their factors: neighbours cost one addition."""
    Q = mul(start, P)
    for k in range(start, start + count):
        yield k, Q
        Q = add(Q, P)


def first(condition, points):
    """The factor of the first point that meets the condition."""
    return next(k for k, P in points if condition(P))


def zeros(x, count):
    """Whether the 32 bytes of x begin with exactly `count` of zero."""
    return x.bit_length() <= 8 * (32 - count) and x.bit_length() > 8 * (31 - count)


# Worked examples of GB/T 32918.5-2017, as printed there.

D = 0x3945208F7B2144B13F36E38AC6D39F95889393692860B51A42FB81EF4DF7C5B8
K = 0x59276E27D506861A16680F3AD9C02DCCEF3CC1FA3CDBE4CE6D54B80DEAC1BC21
PUBLIC = (
    0x09F9DF311E5421A150DD7D161E4BC5C672179FAD1833FC076BB08FF356F35020,
    0xCCEA490CE26775A52DC6EA718CC1AA600AED05FBF35E084A6632F6072DA9AD13,
)
A_M = b"message digest"
A_Z = "b2e14c5c79c6df5b85f4fe7ed8db7a262b9da7e07ccb0ea9f4747b8ccda8a4f3"
A_E = "f0b43e94ba45accaace692ed534382eb17e6ab5a19ce7b31f4486fdfc0d28640"
A_R = 0xF5A03B0648D2C4630EEAC513E1BB81A15944DA3827D5B74143AC7EACEEE720B3
A_S = 0xB1B6AA29DF212FD8763182BC0D421CA1BB9038FD1F7F42D4840B69C485BBC1AA
B_DA = 0x81EB26E941BB5AF16DF116495F90695272AE2CD63D6C4AE1678418BE48230029
B_DB = 0x785129917D45A9EA5437A59356B82338EAADDA6CEB199088F14AE10DEFA229B5
B_RA = 0xD4DE15474DB74D06491C440D305E012400990F3E390C7E87153C12DB2EA60BB3
B_RB = 0x7E07124814B309489125EAED101113164EBF0F3458C5BD88335C1F9D596243D6
B_KEY = "6c89347354de2484c60b4ab1fde4c6e5"
B_S1 = "d3a0fe15dee185ceae907a6b595cc32a266ed7b3367e9983a896dc32fa20f8eb"
B_S2 = "18c7894b3816df16cf07b05c5ec0bef5d655d58f779cc1b400a4f3884644db88"
C_M = b"encryption standard"
C_C1 = (
    0x04EBFC718E8D1798620432268E77FEB6415E2EDE0E073C0F4F640ECD2E149A73,
    0xE858F9D81E5430A57B36DAAB8F950A3C64E6EE6A63094D99283AFF767E124DF0,
)
C_C3 = "59983c18f809e262923c53aec295d30383b54e39d609d160afcb1908d0bd8766"
C_C2 = "21886ca989ca9c7d58087307ca93092d651efa"


def curve():
    assert p % 4 == 3 and is_on_curve(G) and mul(n, G) is None and public_key(D) == PUBLIC
    values = {"p": p, "a": a, "b": b, "n": n, "gx": G[0], "gy": G[1]}
    return {name: hex32(value) for name, value in values.items()}


def keys():
    """Pairs: both ends, leading zeros in x and y, either parity, and whatever the seeds give."""
    near = list(multiples(G, 1, 1500))
    interesting = [
        ("smallest", 1),
        ("2", 2),
        ("3", 3),
        ("largest", n - 2),
        ("largest but one", n - 3),
        ("half of n", (n - 1) // 2),
        ("the standard's", D),
        ("x begins with 00", first(lambda P: zeros(P[0], 1), near)),
        ("y begins with 00", first(lambda P: zeros(P[1], 1), near)),
        ("x begins with a one bit", first(lambda P: P[0] >> 255, near)),
        ("y begins with a one bit", first(lambda P: P[1] >> 255, near)),
        ("d begins with 00", seeded("d") >> 8),
        ("d begins with 16 zeros", seeded("d") >> 128),
        ("d ends with 16 zeros", seeded("d") >> 128 << 128),
        ("d is a power of two", 1 << 255),
        ("d is all ones below it", (1 << 255) - 1),
    ] + [(f"seed {i}", seeded("d", i)) for i in range(16)]
    return [
        {"what": what, "d": hex32(d)}
        | {"point": uncompressed(P).hex(), "compressed": compressed(P).hex()}
        | {"z": Z(DEFAULT_ID, P).hex()}
        for what, d in interesting
        for P in [public_key(d)]
    ]


def signature(what, d, ID, length, k, r_s=None):
    P, M = public_key(d), painted(length)
    e = digest(ID, P, M)
    r, s = r_s or sign_digest(d, e, k)
    assert verify_digest(P, e, r, s)
    fields = {"what": what, "d": hex32(d), "id": ID.hex(), "length": length, "k": hex32(k)}
    fields |= {"z": Z(ID, P).hex(), "e": e.hex(), "r": hex32(r), "s": hex32(s)}
    return fields | {"der": signature_der(r, s).hex()}


def signatures():
    """Of painted messages: lengths, IDs, and leading zeros, found by lengthening the message."""
    lengths = [
        (f"{i} bytes", seeded("d", 1), DEFAULT_ID, i, seeded("k", i))
        for i in (0, 1, 31, 32, 33, 55, 56, 64, 119, 1000)
    ]
    ids = [
        (what, seeded("d", 2), ID, 20, seeded("k", 1000 + i))
        for i, (what, ID) in enumerate(
            (
                ("no ID", b""),
                ("RFC 8998's ID", TLS_ID),
                ("an address", ALICE),
                ("zero byte in the ID", b"a\0b"),
                ("largest ID", painted(8191)),
                ("ID that fills a block", painted(62 + 64)),
            )
        )
    ]
    ends = [
        (what, d, DEFAULT_ID, 3, k)
        for what, d, k in (
            ("d = 1", 1, seeded("k")),
            ("d = n - 2", n - 2, seeded("k")),
            ("k = 1", seeded("d"), 1),
            ("k = n - 1", seeded("d"), n - 1),
            ("k = d", seeded("d"), seeded("d")),
            (
                "x1 begins with 00",
                seeded("d"),
                first(lambda P: zeros(P[0], 1), multiples(G, 1, 1500)),
            ),
        )
    ]
    made = [signature(*case) for case in lengths + ids + ends]

    d, k = seeded("d", 3), seeded("k", 2000)
    P, x1 = public_key(d), mul(k, G)[0]
    inverse, z = pow(1 + d, -1, n), Z(DEFAULT_ID, P)
    wanted = {
        "r begins with 00": lambda r, s: zeros(r, 1),
        "s begins with 00": lambda r, s: zeros(s, 1),
        "r begins with a one bit, s not": lambda r, s: r >> 255 and not s >> 255,
        "s begins with a one bit, r not": lambda r, s: s >> 255 and not r >> 255,
        "r begins with 00, then a one bit": lambda r, s: zeros(r, 1) and r >> 247,
        "s begins with 00, then a one bit": lambda r, s: zeros(s, 1) and s >> 247,
    }
    length = 0
    while wanted:
        e = number(sm3(z + painted(length)))
        r = (e + x1) % n
        s = inverse * (k - r * d) % n
        for what in [what for what, holds in wanted.items() if holds(r, s)]:
            made.append(signature(what, d, DEFAULT_ID, length, k, (r, s)))
            del wanted[what]
        length += 1
    return made


def digest_signatures():
    """Of digests, which can be chosen so that r and s are what one wants."""
    d, k = seeded("d", 4), seeded("k", 3000)
    x1 = mul(k, G)[0]
    for_r = lambda r: (r - x1) % n
    for_s = lambda s: ((k - s * (1 + d)) * pow(d, -1, n) - x1) % n
    chosen = [
        ("e = 0", 0),
        ("e = 1", 1),
        ("e = n", n),
        ("e = n - 1", n - 1),
        ("e = p", p),
        ("e is all ones", 2**256 - 1),
        ("r = 1", for_r(1)),
        ("r = n - 1", for_r(n - 1)),
        ("r = 127", for_r(127)),
        ("r = 128", for_r(128)),
        ("r of 30 bytes", for_r(seeded("r") >> 16)),
        ("r = 2^255", for_r(2**255)),
        ("s = 1", for_s(1)),
        ("s = n - 1", for_s(n - 1)),
        ("s = 127", for_s(127)),
        ("s = 128", for_s(128)),
        ("s of 30 bytes", for_s(seeded("s") >> 16)),
        ("s = 2^255", for_s(2**255)),
    ]
    made = []
    for what, e in chosen:
        e = octets(e)
        r, s = sign_digest(d, e, k)
        assert verify_digest(public_key(d), e, r, s)
        made.append(
            {"what": what, "d": hex32(d), "e": e.hex(), "k": hex32(k)}
            | {"r": hex32(r), "s": hex32(s), "der": signature_der(r, s).hex()}
        )
    return made


def sign_retries():
    """Digests and nonces for which the standard draws another nonce."""
    d, k = seeded("d", 5), seeded("k", 4000)
    x1 = mul(k, G)[0]
    made = []
    for what, r in (("r = 0", 0), ("r + k = n", n - k), ("s = 0", k * pow(d, -1, n) % n)):
        e = octets((r - x1) % n)
        try:
            sign_digest(d, e, k)
        except Retry as retry:
            assert str(retry) == what
        else:
            raise AssertionError(what)
        made.append({"what": what, "d": hex32(d), "e": e.hex(), "k": hex32(k)})
    return made


def bad_signatures():
    """What no verifier may accept, of digests: numbers of 32 bytes."""
    d, k, e = seeded("d", 6), seeded("k", 5000), sm3(b"bad signatures")
    P = public_key(d)
    r, s = sign_digest(d, e, k)
    # With t = r + s = n the point is [s]G alone: without the check of t, r would fit.
    s_t = seeded("t")
    e_t = octets((n - s_t - mul(s_t, G)[0]) % n)
    # [s]G + [t]P = O: there is no x1 at all. s = -t d, and r = t - s.
    t = seeded("O")
    s_o = -t * d % n
    cases = [
        ("r = 0", e, 0, s),
        ("s = 0", e, r, 0),
        ("r = n", e, n, s),
        ("s = n", e, r, n),
        ("both 0", e, 0, 0),
        ("r + s = n", e, r, n - r),
        ("r + s = n where r fits", e_t, n - s_t, s_t),
        ("r and s swapped", e, s, r),
        ("n - r", e, n - r, s),
        ("n - s", e, r, n - s),
        ("r off by one", e, r + 1, s),
        ("s off by one", e, r, s - 1),
        ("all ones", e, 2**256 - 1, 2**256 - 1),
        ("another digest", sm3(b"other"), r, s),
        ("r = p", e, p, s),
        ("the sum is at infinity", e, (t - s_o) % n, s_o),
    ]
    # Numbers that would be right modulo n, where they still fit into 32 bytes.
    small = digest_signatures()
    one = next(v for v in small if v["what"] == "r = 1")
    cases.append(("r = n + 1 for r = 1", bytes.fromhex(one["e"]), n + 1, int(one["s"], 16)))
    one_s = next(v for v in small if v["what"] == "s = 1")
    cases.append(("s = n + 1 for s = 1", bytes.fromhex(one_s["e"]), int(one_s["r"], 16), n + 1))
    made = []
    for what, e, r, s in cases:
        key = seeded("d", 4) if "n + 1" in what else d
        assert not verify_digest(public_key(key), e, r, s), what
        made.append({"what": what, "d": hex32(key), "e": e.hex(), "r": hex32(r), "s": hex32(s)})
    return made


def kdf():
    return [
        {"z_length": z, "length": length, "key": KDF(painted(z, 5), length).hex()}
        for z, length in [
            (64, 1),
            (64, 16),
            (64, 31),
            (64, 32),
            (64, 33),
            (64, 64),
            (64, 65),
            (64, 127),
            (64, 300),
            (64, 600),
            (128, 48),
            (0, 32),
            (1, 32),
            (51, 40),
            (52, 40),
            (60, 40),
            (63, 40),
            (65, 40),
        ]
    ]


def ciphertext(what, d, length, k):
    """Of a painted message; a long C2 by its digest."""
    M = painted(length)
    C1, C3, C2 = encrypt(public_key(d), M, k)
    assert decrypt(d, C1, C3, C2) == M
    fields = {"what": what, "d": hex32(d), "length": length, "k": hex32(k)}
    fields |= {"c1": uncompressed(C1).hex(), "c3": C3.hex()}
    if length > 600:
        return fields | {"c2_sm3": sm3(C2).hex(), "der_sm3": sm3(ciphertext_der(C1, C3, C2)).hex()}
    return fields | {"c2": C2.hex(), "der": ciphertext_der(C1, C3, C2).hex()}


def ciphertexts():
    """Lengths around a KDF block, lanes of them and a DER length; leading zeros."""
    d = seeded("d", 7)
    made = [
        ciphertext(f"{m} bytes", d, m, nonce(d, m, seeded("k", 6000 + m)))
        for m in (
            1,
            2,
            19,
            31,
            32,
            33,
            63,
            64,
            65,
            95,
            127,
            128,
            129,
            255,
            256,
            257,
            511,
            512,
            513,
            600,
            1025,
            4097,
            20000,
        )
    ]
    near = list(multiples(G, 1, 1500))
    d, inverse = seeded("d", 8), pow(seeded("d", 8), -1, n)
    for i, name in enumerate("xy"):
        k = first(lambda P: zeros(P[i], 1), near)
        made.append(ciphertext(f"{name}1 begins with 00", d, 40, k))
        made.append(ciphertext(f"{name}2 begins with 00", d, 40, k * inverse % n))
    ends = (("k = 1", d, 1), ("k = n - 1", d, n - 1), ("d = 1", 1, seeded("k")))
    ends += (("d = n - 2", n - 2, seeded("k")),)
    return made + [ciphertext(what, d, 33, k) for what, d, k in ends]


def nonce(d, length, k):
    """k, or the first after it whose t is not all zero."""
    P = mul(k, public_key(d))
    while not any(KDF(octets(*P), length)):
        k, P = k + 1, add(P, public_key(d))
    return k


def zero_kdf():
    """Nonces whose t is all zero for one byte, each followed by one that will do."""
    d = seeded("d", 9)
    P = public_key(d)
    made = []
    for k, S in multiples(P, seeded("k", 7000), 10**6):
        if KDF(octets(*S), 1) == b"\0":
            k_good = nonce(d, 1, k)
            C1, C3, C2 = encrypt(P, b"\x5a", k_good)
            fields = {"d": hex32(d), "message": "5a", "k_refused": hex32(k), "k": hex32(k_good)}
            fields |= {"c1": uncompressed(C1).hex(), "c3": C3.hex(), "c2": C2.hex()}
            # What an encryption that did not look would have sent beside the message itself.
            c1, c3 = mul(k, G), sm3(octets(S[0]) + b"\x5a" + octets(S[1]))
            assert decrypt(d, c1, c3, b"\x5a") is None
            made.append(fields | {"c1_refused": uncompressed(c1).hex(), "c3_refused": c3.hex()})
            if len(made) == 3:
                return made


def bad_ciphertexts():
    """What decryption must refuse, as C1, C3, C2."""
    d, M = seeded("d", 10), painted(50)
    P = public_key(d)
    C1, C3, C2 = encrypt(P, M, seeded("k", 8000))
    x, y = C1
    flip = lambda data, i: data[:i] + bytes([data[i] ^ 1]) + data[i + 1 :]
    raw = lambda *xs: b"\x04" + octets(*xs)
    cases = [
        ("first bit of C2", raw(x, y), C3, flip(C2, 0)),
        ("last byte of C2", raw(x, y), C3, flip(C2, 49)),
        ("C2 a byte short", raw(x, y), C3, C2[:-1]),
        ("C2 a byte long", raw(x, y), C3, C2 + b"\0"),
        ("C2 empty", raw(x, y), C3, b""),
        ("first byte of C3", raw(x, y), flip(C3, 0), C2),
        ("last byte of C3", raw(x, y), flip(C3, 31), C2),
        ("C3 of zeros", raw(x, y), bytes(32), C2),
        ("C1 negated", raw(x, -y % p), C3, C2),
        ("C1 another point", raw(*G), C3, C2),
        ("C1 not on the curve", raw(x, y + 1), C3, C2),
        ("C1 of zeros", bytes(65), C3, C2),
        ("C1 with form 04 of zeros", raw(0, 0), C3, C2),
        ("x1 = p", raw(p, y), C3, C2),
        ("C1 on another curve", raw(*other_curve_point()), C3, C2),
        ("another key's", raw(*encrypt(G, M, 77)[0]), C3, C2),
    ]
    made = []
    for what, c1, c3, c2 in cases:
        assert c1[0] != 4 or decrypt(d, (number(c1[1:33]), number(c1[33:])), c3, c2) is None, what
        made.append({"what": what, "d": hex32(d), "c1": c1.hex(), "c3": c3.hex(), "c2": c2.hex()})
    return made


def one_exchange(what, dA, rA, idA, dB, rB, idB, klen):
    PA, PB, RA, RB = public_key(dA), public_key(dB), mul(rA, G), mul(rB, G)
    ZA, ZB = Z(idA, PA), Z(idB, PB)
    ours = exchange(dA, rA, RA, PB, RB, ZA, ZB, True, klen)
    assert ours == exchange(dB, rB, RB, PA, RA, ZA, ZB, False, klen)
    key, s1, s2 = ours
    fields = {"what": what, "d_a": hex32(dA), "r_a": hex32(rA), "id_a": idA.hex()}
    fields |= {"d_b": hex32(dB), "r_b": hex32(rB), "id_b": idB.hex()}
    return fields | {"key": key.hex(), "s1": s1.hex(), "s2": s2.hex()}


def exchanges():
    return (
        [
            one_exchange(
                "GB/T 32918.5-2017, Annex B", B_DA, B_RA, DEFAULT_ID, B_DB, B_RB, DEFAULT_ID, 16
            )
        ]
        + [
            one_exchange(
                f"{klen} bytes",
                seeded("d", i),
                seeded("r", i),
                ALICE,
                seeded("d", i + 1),
                seeded("r", i + 1),
                id_b,
                klen,
            )
            for i, (klen, id_b) in enumerate(
                ((1, b""), (32, TLS_ID), (33, b"B"), (48, DEFAULT_ID), (200, painted(8191))), 20
            )
        ]
        + [one_exchange("smallest and largest", 1, 1, DEFAULT_ID, n - 2, n - 1, DEFAULT_ID, 16)]
    )


def bad_exchanges():
    """An initiator whose t is 0, which puts the responder's V at infinity: the exchange fails."""
    rA, dB, rB = seeded("r", 40), seeded("d", 40), seeded("r", 41)
    RA = mul(rA, G)
    dA = -bar(RA[0]) * rA % n
    PA, RB = public_key(dA), mul(rB, G)
    ZA, ZB = Z(DEFAULT_ID, PA), Z(DEFAULT_ID, public_key(dB))
    assert exchange(dB, rB, RB, PA, RA, ZA, ZB, False, 16) is None
    return [
        {
            "what": "V at infinity",
            "d_a": hex32(dA),
            "r_a": hex32(rA),
            "d_b": hex32(dB),
            "r_b": hex32(rB),
        }
    ]


def ecdh():
    """x of [d]P, both ways."""
    pairs = [(seeded("e", i), seeded("f", i)) for i in range(6)] + [
        (1, 1),
        (1, n - 2),
        (n - 2, n - 2),
        (2, (n - 1) // 2),
    ]
    # A leading zero in the result: d = w / e for a multiple w of G that has one.
    w = first(lambda P: zeros(P[0], 1), multiples(G, 1, 1500))
    pairs.append((seeded("e"), w * pow(seeded("e"), -1, n) % n))
    made = []
    for d, e in pairs:
        S = mul(d, public_key(e))
        assert S == mul(e, public_key(d)) and neg(S) != S
        made.append({"d": hex32(d), "e": hex32(e), "x": hex32(S[0]), "y": hex32(S[1])})
    return made


def examples():
    """Annexes A and C; Annex B is the first exchange."""
    e = digest(DEFAULT_ID, PUBLIC, A_M)
    assert (
        Z(DEFAULT_ID, PUBLIC).hex() == A_Z and e.hex() == A_E and sign_digest(D, e, K) == (A_R, A_S)
    )
    C1, C3, C2 = encrypt(PUBLIC, C_M, K)
    assert C1 == C_C1 and C3.hex() == C_C3 and C2.hex() == C_C2
    first_exchange = exchanges()[0]
    assert [first_exchange[name] for name in ("key", "s1", "s2")] == [B_KEY, B_S1, B_S2]
    sign = {
        "source": "GB/T 32918.5-2017, Annex A",
        "d": hex32(D),
        "point": uncompressed(PUBLIC).hex(),
    }
    sign |= {"id": DEFAULT_ID.hex(), "message": A_M.hex(), "z": A_Z, "e": A_E, "k": hex32(K)}
    sign |= {"r": hex32(A_R), "s": hex32(A_S)}
    encryption = {
        "source": "GB/T 32918.5-2017, Annex C",
        "d": hex32(D),
        "point": uncompressed(PUBLIC).hex(),
    }
    encryption |= {
        "message": C_M.hex(),
        "k": hex32(K),
        "c1": uncompressed(C1).hex(),
        "c3": C_C3,
        "c2": C_C2,
    }
    return sign, encryption


def vectors():
    sign, encryption = examples()
    return {
        "algorithm": "SM2",
        "curve": curve(),
        "sign_examples": [sign],
        "encrypt_examples": [encryption],
        "keys": keys(),
        "bad_points": bad_points(),
        "signatures": signatures(),
        "digest_signatures": digest_signatures(),
        "sign_retries": sign_retries(),
        "bad_signatures": bad_signatures(),
        "bad_signature_der": bad_signature_der(),
        "kdf": kdf(),
        "ciphertexts": ciphertexts(),
        "zero_kdf": zero_kdf(),
        "bad_ciphertexts": bad_ciphertexts(),
        "bad_ciphertext_der": bad_ciphertext_der(),
        "exchanges": exchanges(),
        "bad_exchanges": bad_exchanges(),
        "ecdh": ecdh(),
    }


def main(arguments):
    match arguments:
        case ["--vectors"] | ["--check", _]:
            return make(vectors, arguments)
        case _:
            print(__doc__.strip())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
