"""SM2 as GB/T 32918-2016/2017 writes it, to be read and to check others against.

The curve is the one that GB/T 32918.5 recommends. Letters and clause numbers are the standard's.
Nothing here is fast or constant-time, and nonces are the caller's: never use it on secrets.
`sm2_vectors.py` makes vectors/sm2.json with it.
"""

from sm3 import sm3

# GB/T 32918.5, clause 2: y^2 = x^3 + ax + b over F_p; G generates a group of prime order n, and the
# cofactor h is 1.
p = 0xFFFFFFFE_FFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFF_00000000_FFFFFFFF_FFFFFFFF
a = 0xFFFFFFFE_FFFFFFFF_FFFFFFFF_FFFFFFFF_FFFFFFFF_00000000_FFFFFFFF_FFFFFFFC
b = 0x28E9FA9E_9D9F5E34_4D5A9E4B_CF6509A7_F39789F5_15AB8F92_DDBCBD41_4D940E93
n = 0xFFFFFFFE_FFFFFFFF_FFFFFFFF_FFFFFFFF_7203DF6B_21C6052B_53BBF409_39D54123
G = (
    0x32C4AE2C_1F198119_5F990446_6A39C994_8FE30BBF_F2660BE1_715A4589_334C74C7,
    0xBC3736A2_F4F6779C_59BDCEE3_6B692153_D0A9877C_C62A4740_02DF32E5_2139F0A0,
)
h = 1

# GM/T 0009, clause 10: the ID of a user who has no other.
DEFAULT_ID = b"1234567812345678"

# 32918.1, 3.2.3: affine points, and None for O, the point at infinity.


def is_on_curve(P):
    x, y = P
    return 0 <= x < p and 0 <= y < p and (y * y - x**3 - a * x - b) % p == 0


def neg(P):
    return P and (P[0], -P[1] % p)


def add(P, Q):
    if P is None or Q is None:
        return P or Q
    (x1, y1), (x2, y2) = P, Q
    if x1 == x2 and (y1 + y2) % p == 0:
        return None
    if P == Q:
        slope = (3 * x1 * x1 + a) * pow(2 * y1, -1, p)
    else:
        slope = (y2 - y1) * pow(x2 - x1, -1, p)
    x3 = (slope * slope - x1 - x2) % p
    return x3, (slope * (x1 - x3) - y1) % p


def mul(k, P):
    """[k]P, 32918.1, A.3."""
    Q = None
    for bit in bin(k)[2:]:
        Q = add(Q, Q)
        if bit == "1":
            Q = add(Q, P)
    return Q


# 32918.1, 4.2: what goes between numbers, points and bytes.


def octets(*numbers):
    return b"".join(x.to_bytes(32, "big") for x in numbers)


def number(data):
    return int.from_bytes(data, "big")


def uncompressed(P):  # 4.2.8
    return b"\x04" + octets(*P)


def compressed(P):  # 4.2.8
    return bytes([2 + P[1] % 2]) + octets(P[0])


def point(data):
    """4.2.9, without the mixed form; raises ValueError for what is no point."""
    match data[0:1], len(data):
        case b"\x04", 65:
            P = number(data[1:33]), number(data[33:])
        case b"\x02" | b"\x03", 33:
            x = number(data[1:])
            y = pow(x**3 + a * x + b, (p + 1) // 4, p)  # the root, if there is one: p mod 4 = 3
            P = x, y if y % 2 == data[0] % 2 else p - y
        case _:
            raise ValueError("no form of a point")
    if not is_on_curve(P):
        raise ValueError("not on the curve")
    return P


def public_key(d):
    """32918.1, 6.1: d is in [1, n-2], for (1 + d)^-1 must exist."""
    assert 1 <= d <= n - 2
    return mul(d, G)


# 32918.2: signatures.


def Z(ID, P):
    """5.5: the hash of a user's ID, the curve and the public key."""
    entl = 8 * len(ID)
    return sm3(entl.to_bytes(2, "big") + ID + octets(a, b, *G, *P))


def digest(ID, P, M):
    """6.1, A1 and A2: e."""
    return sm3(Z(ID, P) + M)


class Retry(Exception):
    """This nonce will not do; the standard draws another."""


def sign_digest(d, e, k):
    """6.1, A4 to A7, with the nonce k."""
    x1, _ = mul(k, G)
    r = (number(e) + x1) % n
    if r == 0:
        raise Retry("r = 0")
    if r + k == n:
        raise Retry("r + k = n")
    s = pow(1 + d, -1, n) * (k - r * d) % n
    if s == 0:
        raise Retry("s = 0")
    return r, s


def sign(d, ID, M, k):
    return sign_digest(d, digest(ID, public_key(d), M), k)


def verify_digest(P, e, r, s):
    """7.1, B1, B2 and B5 to B7."""
    if not (1 <= r < n and 1 <= s < n):
        return False
    t = (r + s) % n
    if t == 0:
        return False
    Q = add(mul(s, G), mul(t, P))
    return Q is not None and (number(e) + Q[0]) % n == r


def verify(P, ID, M, r, s):
    return verify_digest(P, digest(ID, P, M), r, s)


# 32918.3: key exchange.


def KDF(z, klen):
    """32918.4, 5.4.3 (and 32918.3): klen bytes, where the standard counts bits."""
    blocks = (sm3(z + ct.to_bytes(4, "big")) for ct in range(1, -(-klen // 32) + 1))
    return b"".join(blocks)[:klen]


def bar(x):
    """6.1, A4: 2^w + (x mod 2^w), w = 127 for this curve."""
    w = -(-n.bit_length() // 2) - 1
    return 2**w + (x & (2**w - 1))


def exchange(d, r, R, P_peer, R_peer, Z_A, Z_B, initiator, klen):
    """6.1 of one user: the key, and S1 and S2 (the responder's S_B and the initiator's S_A).

    R is [r]G. Z_A is the initiator's, for both. None if U (or V) is at infinity.
    """
    t = (d + bar(R[0]) * r) % n
    U = mul(h * t % n, add(P_peer, mul(bar(R_peer[0]), R_peer)))
    if U is None:
        return None
    R_A, R_B = (R, R_peer) if initiator else (R_peer, R)
    K = KDF(octets(*U) + Z_A + Z_B, klen)
    inner = sm3(octets(U[0]) + Z_A + Z_B + octets(*R_A, *R_B))
    return K, sm3(b"\x02" + octets(U[1]) + inner), sm3(b"\x03" + octets(U[1]) + inner)


# 32918.4: encryption.


def encrypt(P, M, k):
    """6.1, A1 to A7: C1, C3, C2, with the nonce k."""
    assert M, "an empty message has no SM2 ciphertext: an empty t is all zero"
    C1 = mul(k, G)
    S = mul(h, P)
    assert S is not None
    x2, y2 = mul(k, P)
    t = KDF(octets(x2, y2), len(M))
    if not any(t):
        raise Retry("t = 0")
    C2 = bytes(m ^ u for m, u in zip(M, t))
    return C1, sm3(octets(x2) + M + octets(y2)), C2


def decrypt(d, C1, C3, C2):
    """7.1, B1 to B6: the message, or None."""
    if not C2 or C1 is None or not is_on_curve(C1) or mul(h, C1) is None:
        return None
    x2, y2 = mul(d, C1)
    t = KDF(octets(x2, y2), len(C2))
    M = bytes(c ^ u for c, u in zip(C2, t))
    return M if any(t) and sm3(octets(x2) + M + octets(y2)) == C3 else None


# GM/T 0009, clause 7: forms in DER.


def tlv(tag, content):
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def integer(x):
    return tlv(0x02, x.to_bytes(x.bit_length() // 8 + 1, "big"))


def octet_string(data):
    return tlv(0x04, data)


def sequence(*items):
    return tlv(0x30, b"".join(items))


def signature_der(r, s):
    """SM2Signature."""
    return sequence(integer(r), integer(s))


def ciphertext_der(C1, C3, C2):
    """SM2Cipher."""
    return sequence(*map(integer, C1), octet_string(C3), octet_string(C2))
