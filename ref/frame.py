#!/usr/bin/env python3
"""Frames: encrypted files as `manylane aes` and `manylane sm4` write them.

    python3 ref/frame.py encrypt aes|sm4 KEY [AAD] < MESSAGE > FRAME    key and AAD in hexadecimal
    python3 ref/frame.py decrypt aes|sm4 KEY [AAD] < FRAME > MESSAGE
    python3 ref/frame.py --vectors                                      prints vectors/frame.json
    python3 ref/frame.py --check FILE                                   makes it again and compares

The description of the format is that of the Rust module manylane_engine::frame. Frames are written with
chunks of 4 KiB. Nothing here is fast or constant-time.
"""

import hashlib
import hmac
import os
import sys

import modes
import sm3
from aes import AES
from sm4 import SM4

MAGIC = b"mlframe\x01"
LABEL = b"manylane frame"
TAG = 16

# Suites by number: name, bytes of a key, cipher, and HMAC over the hash that keys are derived with.
hmac_sha256 = lambda key, message: hmac.digest(key, message, "sha256")
SUITES = {
    1: ("AES-128-GCM", 16, AES, hmac_sha256),
    2: ("AES-192-GCM", 24, AES, hmac_sha256),
    3: ("AES-256-GCM", 32, AES, hmac_sha256),
    4: ("SM4-GCM", 16, SM4, sm3.hmac),
}


def hkdf(hmac, salt, ikm, info, length):
    """RFC 5869."""
    prk, t, okm, i = hmac(salt, ikm), b"", b"", 0
    while len(okm) < length:
        i += 1
        t = hmac(prk, t + info + bytes([i]))
        okm += t
    return okm[:length]


def derive(suite, key, salt, header, aad):
    """The commitment and the file key."""
    _, length, _, hmac = SUITES[suite]
    assert len(key) == length
    okm = hkdf(hmac, salt, key, LABEL + header + aad, 32 + length)
    return okm[:32], okm[32:]


def iv(number, is_last):
    return number.to_bytes(11, "big") + bytes([is_last])


def encrypt(suite, key, aad, message, log2=12, salt=None):
    header = MAGIC + bytes([suite, log2, 0, 0])
    salt = os.urandom(32) if salt is None else salt
    commitment, file_key = derive(suite, key, salt, header, aad)
    cipher = SUITES[suite][2](file_key)
    chunks = modes.blocks(message, 1 << log2) or [b""]
    frame = header + salt + commitment
    for i, chunk in enumerate(chunks):
        C, T = modes.gcm_encrypt(cipher, iv(i, i == len(chunks) - 1), chunk, b"")
        frame += C + T
    return frame


def decrypt(suites, key, aad, frame):
    """The message, or a ValueError that says why there is none."""
    header, salt, commitment, chunks = frame[:12], frame[12:44], frame[44:76], frame[76:]
    suite, log2 = (header + bytes(12))[8:10]
    if header[:8] != MAGIC or header[10:] != bytes(2) or not 12 <= log2 <= 24:
        raise ValueError("no frame")
    if suite not in suites or SUITES[suite][1] != len(key):
        raise ValueError("of another suite")
    expected, file_key = derive(suite, key, salt, header, aad)
    if commitment != expected:
        raise ValueError("another key, or other associated data")
    cipher = SUITES[suite][2](file_key)
    chunks = modes.blocks(chunks, (1 << log2) + TAG) or [b""]
    message = []
    for i, chunk in enumerate(chunks):
        C, T = chunk[:-TAG], chunk[-TAG:]
        last = i == len(chunks) - 1
        P = modes.gcm_decrypt(cipher, iv(i, last), C, b"", T) if len(T) == TAG else None
        if P is None or not P and i > 0:
            raise ValueError("altered, or not complete")
        message.append(P)
    return b"".join(message)


# Lengths of messages: in one chunk of 4 KiB, on both sides of its end, and in more.
LENGTHS = (0, 1, 16, 100, 4095, 4096, 4097, 8192, 10000)


def vectors():
    frames = []
    for suite, (name, length, _, _) in SUITES.items():
        for n in LENGTHS if suite in (1, 4) else (0, 100, 4097):
            for a in (0, 20) if n == 100 else (0,):
                salt, key, aad = sm3.painted(32, 200), sm3.painted(length, 100), sm3.painted(a, 50)
                frame = encrypt(suite, key, aad, sm3.painted(n), 12, salt)
                assert decrypt({suite}, key, aad, frame) == sm3.painted(n)
                frames.append(
                    {"suite": name, "chunk_log2": 12, "aad_length": a, "length": n}
                    | {"header": frame[:76].hex(), "frame_sm3": sm3.sm3(frame).hex()}
                )
    # Whose chunks are so long that no message here fills one.
    for log2 in (20, 24):
        frame = encrypt(1, sm3.painted(16, 100), b"", sm3.painted(100), log2, sm3.painted(32, 200))
        frames.append(
            {"suite": SUITES[1][0], "chunk_log2": log2, "aad_length": 0, "length": 100}
            | {"header": frame[:76].hex(), "frame_sm3": sm3.sm3(frame).hex()}
        )
    return {"format": "mlframe 1", "frames": frames}


def main(arguments):
    families = {"aes": {1, 2, 3}, "sm4": {4}}
    match arguments:
        case [("encrypt" | "decrypt") as verb, ("aes" | "sm4") as family, key, *aad] if len(aad) < 2:
            key, aad = bytes.fromhex(key), bytes.fromhex("".join(aad))
            fits = [suite for suite in families[family] if SUITES[suite][1] == len(key)]
            if not fits:
                return f"no key of {family} is as long"
            data = sys.stdin.buffer.read()
            try:
                result = encrypt(*fits, key, aad, data) if verb == "encrypt" else decrypt(fits, key, aad, data)
            except ValueError as error:
                return str(error)
            sys.stdout.buffer.write(result)
        case ["--vectors"]:
            sys.stdout.write(sm3.dump(vectors()))
        case ["--check", path]:
            with open(path, encoding="ascii") as file:
                if file.read() != sm3.dump(vectors()):
                    return f"{path} is not what --vectors prints"
            print(f"{path}: as generated")
        case _:
            print(__doc__.strip())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
