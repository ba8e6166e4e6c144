#!/usr/bin/env python3
"""Checks aes.json and sm4.json against OpenSSL and libgcrypt, which share no code with their generator.

    python3 vectors/verify_block.py

The `openssl enc` command does ECB, CBC, CFB, OFB and CTR with 128 bits; libgcrypt (libgcrypt.so.20, 1.9 or later) GCM,
CCM, XTS and CFB of one byte. Neither counts with 32 or 64 bits alone, and neither has the tweaks of GB/T 17964 or a standard's round
keys: those rest on the standards' examples and on ref/.
"""

import ctypes
import hashlib
import json
import pathlib
import subprocess
import sys


def painted(length, start=0):
    return bytes((start + i) % 251 for i in range(length))


def openssl(*arguments, stdin=b""):
    return subprocess.run(["openssl", *arguments], input=stdin, stdout=subprocess.PIPE, check=True).stdout


def enc(algorithm, mode, key, iv, plaintext):
    name = f"aes-{8 * len(key)}" if algorithm == "AES" else "sm4"
    padding = [] if mode == "cbc-pkcs7" else ["-nopad"]
    mode = {"cbc-pkcs7": "cbc", "ctr128": "ctr"}.get(mode, mode)
    vector = [] if mode == "ecb" else ["-iv", iv.hex()]
    return openssl("enc", f"-{name}-{mode}", "-K", key.hex(), *vector, *padding, stdin=plaintext)


class Libgcrypt:
    """Just enough of its interface; the numbers are gcrypt.h's."""

    ALGORITHMS = {("AES", 16): 7, ("AES", 24): 8, ("AES", 32): 9, ("SM4", 16): 318}
    MODES = {"ccm": 8, "gcm": 9, "xts": 13, "cfb8": 12}
    SET_CCM_LENGTHS = 69

    def __init__(self):
        self.library = ctypes.CDLL("libgcrypt.so.20")
        self.library.gcry_check_version.restype = ctypes.c_char_p
        self.version = self.library.gcry_check_version(None).decode()

    def call(self, name, *arguments):
        error = getattr(self.library, f"gcry_cipher_{name}")(*arguments)
        if error:
            sys.exit(f"libgcrypt: {name}: error {error & 0xFFFF}")

    def encrypt(self, algorithm, mode, key, iv, aad, plaintext, tag_length):
        handle = ctypes.c_void_p()
        size = len(key) // 2 if mode == "xts" else len(key)
        number = self.ALGORITHMS[algorithm, size]
        self.call("open", ctypes.byref(handle), number, self.MODES[mode], 0)
        self.call("setkey", handle, key, ctypes.c_size_t(len(key)))
        self.call("setiv", handle, iv, ctypes.c_size_t(len(iv)))
        if mode == "ccm":
            lengths = (ctypes.c_uint64 * 3)(len(plaintext), len(aad), tag_length)
            size = ctypes.c_size_t(ctypes.sizeof(lengths))
            self.call("ctl", handle, self.SET_CCM_LENGTHS, lengths, size)
        if mode in ("gcm", "ccm"):
            self.call("authenticate", handle, aad, ctypes.c_size_t(len(aad)))
        out = ctypes.create_string_buffer(plaintext, max(len(plaintext), 1))
        if plaintext:
            self.call("encrypt", handle, out, ctypes.c_size_t(len(plaintext)), None, ctypes.c_size_t(0))
        tag = ctypes.create_string_buffer(16)
        if mode in ("gcm", "ccm"):
            if not plaintext and mode == "gcm":
                self.call("encrypt", handle, out, ctypes.c_size_t(0), None, ctypes.c_size_t(0))
            self.call("gettag", handle, tag, ctypes.c_size_t(tag_length or 16))
        self.library.gcry_cipher_close(handle)
        return out.raw[: len(plaintext)], tag.raw[:tag_length]


def cases(vectors):
    of_hex = lambda v, name: bytes.fromhex(v.get(name, ""))
    for v in vectors["examples"] + vectors["aead_examples"]:
        yield v, of_hex(v, "key"), of_hex(v, "aad"), of_hex(v, "plaintext")
    for v in vectors["painted"] + vectors["painted_aead"]:
        yield v, painted(v["key_length"], 100), painted(v.get("aad_length", 0), 50), painted(v["length"])


def check(path, libgcrypt):
    vectors = json.loads(path.read_text(encoding="ascii"))
    algorithm, checked = vectors["algorithm"], 0
    for v, key, aad, plaintext in cases(vectors):
        mode, iv = v["mode"], bytes.fromhex(v["iv"])
        tag = bytes.fromhex(v.get("tag", ""))
        got_tag = b""
        if mode in ("ctr32", "ctr64", "xts-gb"):
            continue
        if mode in Libgcrypt.MODES:
            full = 16 if mode == "gcm" else len(tag)
            got, got_tag = libgcrypt.encrypt(algorithm, mode, key, iv, aad, plaintext, full)
            got_tag = got_tag[: len(tag)]
        else:
            got = enc(algorithm, mode, key, iv, plaintext)
        if "ciphertext" in v:
            same = got.hex() == v["ciphertext"]
        else:
            same = hashlib.new("sm3", got).hexdigest() == v["ciphertext_sm3"]
        if not same or got_tag != tag:
            sys.exit(f"{path.name}: {v}: {got.hex()} {got_tag.hex()}")
        checked += 1
    for v in vectors["blocks"]:
        key, plaintext = (bytes.fromhex(v[name]) for name in ("key", "plaintext"))
        if enc(algorithm, "ecb", key, b"", plaintext).hex() != v["ciphertext"]:
            sys.exit(f"{path.name}: {v['source']}")
        checked += 1
    version = openssl("version").decode().split("  ")[0].split(" (")[0].strip()
    print(f"{path.name}: {checked} values agree with {version} and libgcrypt {libgcrypt.version}")


def main():
    libgcrypt = Libgcrypt()
    for name in ("aes.json", "sm4.json"):
        check(pathlib.Path(__file__).with_name(name), libgcrypt)


if __name__ == "__main__":
    main()
