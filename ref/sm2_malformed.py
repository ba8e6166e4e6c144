"""Bytes of no valid form, for vectors/sm2.json: points, signatures, ciphertexts."""

from sm2 import a, b, compressed, encrypt, integer, is_on_curve, n, number, octet_string, octets, p
from sm2 import point, public_key, sequence, sign_digest, signature_der, tlv, uncompressed
from sm3 import painted, sm3


def seeded(label, i=0):
    """A number in [1, n-2], the same every time."""
    return number(sm3(f"{label} {i}".encode())) % (n - 2) + 1


def bad_points():
    """Bytes that are no public key."""
    P = public_key(seeded("d"))
    x, y = P
    no_root = next(x for x in range(1, 99) if pow(x**3 + a * x + b, (p - 1) // 2, p) == p - 1)
    # The curve has a point with a small x, so that x + p still has 32 bytes.
    small = next(x for x in range(1, 99) if pow(x**3 + a * x + b, (p - 1) // 2, p) == 1)
    small = point(b"\x02" + octets(small))
    return [
        {"what": what, "bytes": data.hex()}
        for what, data in (
            ("empty", b""),
            ("infinity", b"\x00"),
            ("infinity in 65 bytes", bytes(65)),
            ("zeros", b"\x04" + bytes(64)),
            ("y off by one", b"\x04" + octets(x, y + 1)),
            ("x and y swapped", b"\x04" + octets(y, x)),
            ("x + p", b"\x04" + octets(small[0] + p, small[1])),
            ("x + p, compressed", b"\x02" + octets(small[0] + p)),
            ("x = p", b"\x04" + octets(p, y)),
            ("y = p", b"\x04" + octets(x, p)),
            ("all ones", b"\x04" + b"\xff" * 64),
            ("no such x", b"\x02" + octets(no_root)),
            ("x = p, compressed", b"\x03" + octets(p)),
            ("a byte short", uncompressed(P)[:-1]),
            ("a byte long", uncompressed(P) + b"\0"),
            ("compressed, a byte short", compressed(P)[:-1]),
            ("compressed, a byte long", compressed(P) + b"\0"),
            ("unknown form 01", b"\x01" + octets(x, y)),
            ("unknown form 05", b"\x05" + octets(x)),
            ("compressed length, form 04", b"\x04" + octets(x)),
            ("uncompressed length, form 02", b"\x02" + octets(x, y)),
            ("hybrid with the wrong parity", bytes([6 + (y + 1) % 2]) + octets(x, y)),
            ("on another curve", b"\x04" + octets(*other_curve_point())),
        )
    ]


def other_curve_point():
    """A point of a curve with the same a and p and another b, which formulas cannot tell."""
    x = 5
    y = next(y for y in range(1, 99) if not is_on_curve((x, y)))
    return x, y


def bad_signature_der():
    """Bytes that are no SM2Signature in DER, or whose numbers are out of range."""
    r, s = sign_digest(seeded("d"), sm3(b"der"), seeded("k"))
    R, S, good = integer(r), integer(s), signature_der(r, s)
    body = R + S
    cases = [
        ("empty", b""),
        ("a byte short", good[:-1]),
        ("a byte behind", good + b"\0"),
        ("only the header", good[:2]),
        ("sequence too long by one", bytes([0x30, len(body) + 1]) + body),
        ("sequence too short by one", bytes([0x30, len(body) - 1]) + body),
        ("length in the long form", b"\x30\x81" + bytes([len(body)]) + body),
        ("length in two bytes", b"\x30\x82\x00" + bytes([len(body)]) + body),
        ("indefinite length", b"\x30\x80" + body + b"\0\0"),
        ("a set", tlv(0x31, body)),
        ("no constructed bit", tlv(0x10, body)),
        ("one number", sequence(R)),
        ("three numbers", sequence(R, S, S)),
        ("a null behind the numbers", sequence(R, S, b"\x05\x00")),
        ("r with a zero too many", sequence(tlv(2, b"\0" + R[2:]), S)),
        ("s with a zero too many", sequence(R, tlv(2, b"\0" + S[2:]))),
        ("r in the long form of length", sequence(b"\x02\x81" + R[1:], S)),
        ("r negative", sequence(tlv(2, b"\xff" + R[3:]), S)),
        ("r = -1", sequence(tlv(2, b"\xff"), S)),
        ("s negative", sequence(R, tlv(2, b"\x80" + octets(s)[1:]))),
        ("r empty", sequence(tlv(2, b""), S)),
        ("s empty", sequence(R, tlv(2, b""))),
        ("r = 0", sequence(integer(0), S)),
        ("s = 0", sequence(R, integer(0))),
        ("r = n", sequence(integer(n), S)),
        ("s = n", sequence(R, integer(n))),
        ("s = 2^256 - 1", sequence(R, integer(2**256 - 1))),
        ("r = 2^256 + r", sequence(integer(2**256 + r), S)),
        ("s of 64 bytes", sequence(R, integer(s << 256))),
        ("r an octet string", sequence(octet_string(octets(r)), S)),
        ("s a bit string", sequence(R, tlv(3, b"\0" + octets(s)))),
        ("r an enumerated", sequence(tlv(0x0A, R[2:]), S)),
        ("raw", octets(r, s)),
        ("length of 2^64 bytes", b"\x30\x89\x01" + bytes(8) + body),
        ("length of 2^31 bytes", b"\x30\x84\x80\0\0\0" + body),
    ]
    return [{"what": what, "der": data.hex()} for what, data in cases]


def bad_ciphertext_der():
    """Bytes that are no SM2Cipher in DER."""
    C1, C3, C2 = encrypt(public_key(seeded("d")), painted(20), seeded("k"))
    X, Y, H, T = integer(C1[0]), integer(C1[1]), octet_string(C3), octet_string(C2)
    good, body = sequence(X, Y, H, T), X + Y + H + T
    cases = [
        ("empty", b""),
        ("a byte short", good[:-1]),
        ("a byte behind", good + b"\0"),
        ("only the header", good[:2]),
        ("without C2", sequence(X, Y, H)),
        ("without the hash", sequence(X, Y, T)),
        ("C2 twice", sequence(X, Y, H, T, T)),
        ("C2 empty", sequence(X, Y, H, octet_string(b""))),
        ("hash of 31 bytes", sequence(X, Y, octet_string(C3[:31]), T)),
        ("hash of 33 bytes", sequence(X, Y, octet_string(C3 + b"\0"), T)),
        ("hash empty", sequence(X, Y, octet_string(b""), T)),
        ("hash and C2 swapped", sequence(X, Y, T, H)),
        ("X an octet string", sequence(octet_string(octets(C1[0])), Y, H, T)),
        ("C2 a bit string", sequence(X, Y, H, tlv(3, b"\0" + C2))),
        ("C2 constructed", sequence(X, Y, H, tlv(0x24, T))),
        ("X with a zero too many", sequence(tlv(2, b"\0" + X[2:]), Y, H, T)),
        ("Y with a zero too many", sequence(X, tlv(2, b"\0" + Y[2:]), H, T)),
        ("X negative", sequence(tlv(2, b"\x80" + octets(C1[0])[1:]), Y, H, T)),
        ("X empty", sequence(tlv(2, b""), Y, H, T)),
        ("X of 33 bytes", sequence(integer(C1[0] + 2**256), Y, H, T)),
        ("Y of 64 bytes", sequence(X, integer(C1[1] << 256), H, T)),
        ("X = p", sequence(integer(p), Y, H, T)),
        ("Y = p", sequence(X, integer(p), H, T)),
        ("length in a byte too many", b"\x30\x82\0" + bytes([len(body)]) + body),
        ("C2's length in the long form", sequence(X, Y, H, b"\x04\x81" + T[1:])),
        ("indefinite length", b"\x30\x80" + body + b"\0\0"),
        ("C2 longer than the sequence", sequence(X, Y, H, T[:1] + bytes([T[1] + 1]) + T[2:])),
        ("a set", tlv(0x31, body)),
        ("C2 of 2^64 bytes", sequence(X, Y, H, b"\x04\x89\x01" + bytes(8) + C2)),
        ("raw, with 04", uncompressed(C1) + C3 + C2),
    ]
    return [{"what": what, "der": data.hex()} for what, data in cases]
