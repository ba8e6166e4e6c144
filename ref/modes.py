"""Modes of operation of a block cipher with blocks of sixteen bytes: SP 800-38A, C, D and E,
IEEE 1619-2018 and GB/T 17964-2021.

A cipher is an object with `encrypt(block)` and `decrypt(block)`, such as aes.AES and sm4.SM4. Letters are the
standards'. Nothing here is fast or constant-time.
"""


def xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b))


def blocks(data, size=16):
    return [data[i : i + size] for i in range(0, len(data), size)]


# SP 800-38A.


def ecb_encrypt(cipher, P):  # 6.1
    return b"".join(cipher.encrypt(block) for block in blocks(P))


def ecb_decrypt(cipher, C):
    return b"".join(cipher.decrypt(block) for block in blocks(C))


def cbc_encrypt(cipher, IV, P):  # 6.2
    C = [IV]
    for block in blocks(P):
        C.append(cipher.encrypt(xor(block, C[-1])))
    return b"".join(C[1:])


def cbc_decrypt(cipher, IV, C):
    previous = [IV] + blocks(C)
    return b"".join(xor(cipher.decrypt(c), p) for c, p in zip(blocks(C), previous))


def cfb_encrypt(cipher, IV, P, s=16):
    """6.3, with segments of s bytes; the last may be shorter."""
    I, C = IV, b""
    for segment in blocks(P, s):
        C += xor(segment, cipher.encrypt(I))
        I = (I + C[-len(segment) :])[-16:]
    return C


def cfb_decrypt(cipher, IV, C, s=16):
    I, P = IV, b""
    for segment in blocks(C, s):
        P += xor(segment, cipher.encrypt(I))
        I = (I + segment)[-16:]
    return P


def ofb(cipher, IV, P):
    """6.4, encryption and decryption."""
    O, C = IV, b""
    for block in blocks(P):
        O = cipher.encrypt(O)
        C += xor(block, O)
    return C


def inc(bits, X):
    """B.1, the standard incrementing function of the last bits: SP 800-38D's inc_s."""
    X = int.from_bytes(X, "big")
    low = (1 << bits) - 1
    return (X & ~low | (X + 1) & low).to_bytes(16, "big")


def ctr(cipher, ICB, X, bits=128):
    """6.5, encryption and decryption: SP 800-38D's GCTR if bits = 32."""
    CB, Y = ICB, b""
    for block in blocks(X):
        Y += xor(block, cipher.encrypt(CB))
        CB = inc(bits, CB)
    return Y


def pkcs7(P):
    """RFC 5652, clause 6.3."""
    n = 16 - len(P) % 16
    return P + bytes([n]) * n


# SP 800-38D: GCM.

R = 0xE1 << 120


def product(X, Y):
    """6.3: X . Y; bit 0 is the most significant one of the first byte."""
    Z, V = 0, Y
    for i in range(127, -1, -1):
        if X >> i & 1:
            Z ^= V
        V = V >> 1 ^ (R if V & 1 else 0)
    return Z


def ghash(H, X):  # 6.4
    Y, H = 0, int.from_bytes(H, "big")
    for block in blocks(X):
        Y = product(Y ^ int.from_bytes(block, "big"), H)
    return Y.to_bytes(16, "big")


def filled(X):
    return X + bytes(-len(X) % 16)


def lengths(A, C):
    return (8 * len(A)).to_bytes(8, "big") + (8 * len(C)).to_bytes(8, "big")


def gcm_crypt(cipher, IV, A, X, encrypts):
    H = cipher.encrypt(bytes(16))
    J0 = IV + b"\0\0\0\1" if len(IV) == 12 else ghash(H, filled(IV) + lengths(b"", IV))
    Y = ctr(cipher, inc(32, J0), X, 32)
    C = Y if encrypts else X
    S = ghash(H, filled(A) + filled(C) + lengths(A, C))
    return Y, ctr(cipher, J0, S, 32)


def gcm_encrypt(cipher, IV, P, A, t=16):
    """7.1: C and T of t bytes."""
    C, T = gcm_crypt(cipher, IV, A, P, True)
    return C, T[:t]


def gcm_decrypt(cipher, IV, C, A, T):
    """7.2: P, or None where the standard says FAIL."""
    P, T_ = gcm_crypt(cipher, IV, A, C, False)
    return P if T == T_[: len(T)] else None


# SP 800-38C: CCM.


def ccm_mac(cipher, N, A, P, t):
    """6.1, steps 1 to 4, with the formatting function of A.2."""
    q = 15 - len(N)
    flags = (64 if A else 0) + 8 * ((t - 2) // 2) + q - 1
    B = bytes([flags]) + N + len(P).to_bytes(q, "big")
    if A:
        if len(A) < 0xFF00:
            a = len(A).to_bytes(2, "big")
        elif len(A) < 1 << 32:
            a = b"\xff\xfe" + len(A).to_bytes(4, "big")
        else:
            a = b"\xff\xff" + len(A).to_bytes(8, "big")
        B += filled(a + A)
    return cbc_encrypt(cipher, bytes(16), B + filled(P))[-16:]


def ccm_counter(N, i):
    """A.3: Ctr_i."""
    q = 15 - len(N)
    return bytes([q - 1]) + N + i.to_bytes(q, "big")


def ccm_encrypt(cipher, N, P, A, t):
    """6.1: C without the tag, and the tag of t bytes."""
    bits = 8 * (15 - len(N))
    T = ctr(cipher, ccm_counter(N, 0), ccm_mac(cipher, N, A, P, t))
    return ctr(cipher, ccm_counter(N, 1), P, bits), T[:t]


def ccm_decrypt(cipher, N, C, A, T):
    """6.2: P, or None where the standard says INVALID."""
    P = ctr(cipher, ccm_counter(N, 1), C, 8 * (15 - len(N)))
    T_ = ctr(cipher, ccm_counter(N, 0), ccm_mac(cipher, N, A, P, len(T)))
    return P if T == T_[: len(T)] else None


# IEEE 1619 (SP 800-38E), and GB/T 17964-2021.


def double_ieee(T):
    """T times alpha; byte 0 has the lowest powers, and of each byte the lowest bit (5.2)."""
    T = int.from_bytes(T, "little") << 1
    return (T & ((1 << 128) - 1) ^ (0x87 if T >> 128 else 0)).to_bytes(16, "little")


def double_gb(T):
    """T times alpha, in the order of bits that GHASH has."""
    T = int.from_bytes(T, "big")
    return (T >> 1 ^ (R if T & 1 else 0)).to_bytes(16, "big")


def xts(crypt, cipher2, tweak, X, double, encrypts):
    """5.3 and 5.4: `crypt` is encryption or decryption under Key_1, `cipher2` the cipher under Key_2."""
    T = cipher2.encrypt(tweak)
    whole, rest = len(X) // 16, len(X) % 16
    Y = []
    for j in range(whole if rest == 0 else whole - 1):
        Y.append(xor(crypt(xor(X[16 * j : 16 * j + 16], T)), T))
        T = double(T)
    if rest:
        # Ciphertext stealing: decryption takes the last two tweaks in the other order.
        first, second = (T, double(T)) if encrypts else (double(T), T)
        CC = xor(crypt(xor(X[16 * (whole - 1) : 16 * whole], first)), first)
        PP = X[16 * whole :] + CC[rest:]
        Y += [xor(crypt(xor(PP, second)), second), CC[:rest]]
    return b"".join(Y)


def xts_encrypt(cipher1, cipher2, tweak, P, double=double_ieee):
    return xts(cipher1.encrypt, cipher2, tweak, P, double, True)


def xts_decrypt(cipher1, cipher2, tweak, C, double=double_ieee):
    return xts(cipher1.decrypt, cipher2, tweak, C, double, False)
