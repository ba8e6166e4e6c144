#!/usr/bin/env python3
"""Checks sm3.json against OpenSSL, which shares no code with its generator.

    python3 vectors/verify.py

Digests and PBKDF2 go through Python's hashlib and hmac (which call OpenSSL's libcrypto), all but
PBKDF2 also through the `openssl` command. Needs OpenSSL 3 with SM3.
"""

import hashlib
import hmac
import json
import pathlib
import subprocess
import sys


def painted(length, start=0):
    return bytes((start + i) % 251 for i in range(length))


def openssl(*arguments, stdin=b""):
    run = subprocess.run(["openssl", *arguments], input=stdin, capture_output=True, check=True)
    return run.stdout


def kdf(length, **options):
    flags = ["-kdfopt", "digest:SM3"]
    for name, value in options.items():
        if value:  # the command takes no empty value; an option left out means the same
            flags += ["-kdfopt", f"{name}:{value}"]
    return openssl("kdf", "-keylen", str(length), "-binary", *flags, "HKDF")


def main():
    path = pathlib.Path(__file__).with_name("sm3.json")
    vectors = json.loads(path.read_text(encoding="ascii"))
    checked = 0

    def same(what, expected, *got):
        nonlocal checked
        for value in got:
            if value.hex() != expected:
                sys.exit(f"{what}: {value.hex()} by OpenSSL, {expected} in {path.name}")
        checked += 1

    digest = lambda message: (
        hashlib.new("sm3", message).digest(),
        openssl("dgst", "-sm3", "-binary", stdin=message),
    )
    for v in vectors["examples"]:
        same(v["source"], v["digest"], *digest(bytes.fromhex(v["message"])))
        same(f"{v['source']}, V(n)", v["digest"], bytes.fromhex(v["v"][-1]))
    for v in vectors["painted"]:
        same(f"painted {v['length']}", v["digest"], *digest(painted(v["length"])))
    for v in vectors["hmac"]:
        key, message = painted(v["key_length"], 100), painted(v["length"])
        tags = [hmac.digest(key, message, "sm3")]
        if key:  # the command takes no empty key
            option = ["-macopt", f"hexkey:{key.hex()}"]
            tags.append(openssl("mac", "-digest", "SM3", *option, "-binary", "HMAC", stdin=message))
        same(f"HMAC {v['key_length']} {v['length']}", v["tag"], *tags)
    for v in vectors["hkdf"]:
        okm = kdf(len(v["okm"]) // 2, hexkey=v["ikm"], hexsalt=v["salt"], hexinfo=v["info"])
        same(f"HKDF {v['ikm']}", v["okm"], okm)
    for v in vectors["pbkdf2"]:
        password, salt = bytes.fromhex(v["password"]), bytes.fromhex(v["salt"])
        key = hashlib.pbkdf2_hmac("sm3", password, salt, v["iterations"], len(v["key"]) // 2)
        same(f"PBKDF2 {v['password']}", v["key"], key)
    print(f"{path.name}: {checked} values agree with {openssl('version').decode().strip()}")


if __name__ == "__main__":
    main()
