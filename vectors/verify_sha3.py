#!/usr/bin/env python3
"""Checks sha3.json and sha3_cavp.json against implementations that share no code with what made them.

    python3 vectors/verify_sha3.py

Python's hashlib (on OpenSSL) does SHA-3 and SHAKE, the `openssl mac` command KMAC, and pycryptodome (pip install
pycryptodome==4.4.0) Keccak, TurboSHAKE, cSHAKE, KMAC and KT128. Neither has KT256: its tree is put together below from
pycryptodome's TurboSHAKE256. The permutations alone rest on ref/keccak.py and on all that is built on them.
"""

import hashlib
import json
import pathlib
import subprocess
import sys

from Crypto import __version__ as pycryptodome
from Crypto.Hash import KMAC128, KMAC256, KangarooTwelve, TurboSHAKE128, TurboSHAKE256, cSHAKE128, cSHAKE256, keccak

HERE = pathlib.Path(__file__).parent
CSHAKE = {"128": cSHAKE128, "256": cSHAKE256}
KMAC = {"128": KMAC128, "256": KMAC256}
TURBOSHAKE = {"128": TurboSHAKE128, "256": TurboSHAKE256}


def bytes_of(value):
    """Hexadecimal, or painted bytes."""
    if isinstance(value, str):
        return bytes.fromhex(value)
    start = value.get("from", 0)
    return (bytes(range(251)) * ((start + value["painted"]) // 251 + 1))[start:][: value["painted"]]


def by_hash(v, message, length):
    name = v["function"]
    if name.startswith("SHA3"):
        return hashlib.new(name.replace("-", "_").lower(), message).digest()
    if name.startswith("SHAKE"):
        return hashlib.new(f"shake_{name[5:]}", message).digest(length)
    if name.startswith("Keccak"):
        return keccak.new(digest_bits=int(name[7:]), data=message).digest()
    return TURBOSHAKE[name[-3:]].new(data=message, domain=v["domain"]).read(length)


def by_cshake(bits, name, customization, message, length):
    # The name is the standard's to give, so that only its own functions pass one.
    return CSHAKE[bits]._new(message, customization, name).read(length)


def by_kmac(v, message, length):
    key, customization = bytes_of(v["key"]), bytes_of(v["customization"])
    bits, is_xof = v["function"][-3:], "XOF" in v["function"]
    digits = lambda x: x.to_bytes(max(1, -(-x.bit_length() // 8)), "big")
    encode = lambda x: bytes([len(digits(x))]) + digits(x)
    rate = 168 if bits == "128" else 136
    padded = encode(rate) + encode(8 * len(key)) + key
    padded += bytes(-len(padded) % rate)
    end = digits(0 if is_xof else 8 * length)
    tags = [by_cshake(bits, b"KMAC", customization, padded + message + end + bytes([len(end)]), length)]
    if not is_xof and len(key) >= int(bits) // 8 and length >= 8:
        tags.append(KMAC[bits].new(key=key, data=message, custom=customization, mac_len=length).digest())
    if 4 <= len(key) <= 512 and len(customization) <= 512:
        options = {"hexkey": key.hex(), "size": str(length)}
        options |= {"xof": "1"} if is_xof else {}
        options |= {"hexcustom": customization.hex()} if customization else {}
        flags = [part for name, value in options.items() for part in ("-macopt", f"{name}:{value}")]
        command = ["openssl", "mac", *flags, "-binary", f"KMAC-{bits}"]
        tags.append(subprocess.run(command, input=message, stdout=subprocess.PIPE, check=True).stdout)
    return tags


def kt256(message, customization, length):
    encode = lambda x: (lambda digits: digits + bytes([len(digits)]))(x.to_bytes(-(-x.bit_length() // 8), "big"))
    text = message + customization + encode(len(customization))
    first, rest = text[:8192], text[8192:]
    if not rest:
        return TurboSHAKE256.new(data=first, domain=7).read(length)
    chunks = [rest[i : i + 8192] for i in range(0, len(rest), 8192)]
    final = TurboSHAKE256.new(data=first + b"\3" + bytes(7), domain=6)
    for chunk in chunks:
        final.update(TurboSHAKE256.new(data=chunk, domain=11).read(64))
    return final.update(encode(len(chunks)) + b"\xff\xff").read(length)


def by_kt(v, message, length):
    customization = bytes_of(v["customization"])
    if v["function"] == "KT128":
        return KangarooTwelve.new(data=message, custom=customization).read(length)
    return kt256(message, customization, length)


def monte(v):
    """SHAVS, 6.2.3 and 6.3.3: the checkpoints of a chain of a thousand hashes each."""
    function, state = v["function"], bytes.fromhex(v["seed"])
    if function.startswith("SHA3"):
        for _ in v["outputs"]:
            for _ in range(1000):
                state = hashlib.new(function.replace("-", "_").lower(), state).digest()
            yield state
        return
    minimum, maximum = v["minimum"], v["maximum"]
    length = maximum
    for _ in v["outputs"]:
        for _ in range(1000):
            state = hashlib.new(f"shake_{function[5:]}", state[:16].ljust(16, b"\0")).digest(length)
            used, length = length, minimum + int.from_bytes(state[-2:], "big") % (maximum - minimum + 1)
        yield state[:used]


def cases(vectors):
    """Each entry, and what others compute for it."""
    for v in vectors["hashes"]:
        length = v.get("skip", 0) + len(v["output"]) // 2
        yield v, [by_hash(v, bytes_of(v["message"]), length)]
    for v in vectors["cshake"]:
        message, length = bytes_of(v["message"]), len(v["output"]) // 2
        yield v, [by_cshake(v["function"][-3:], bytes_of(v["name"]), bytes_of(v["customization"]), message, length)]
    for v in vectors["kmac"]:
        yield v, by_kmac(v, bytes_of(v["message"]), v.get("skip", 0) + len(v["output"]) // 2)
    for v in vectors["kt"]:
        length = v.get("skip", 0) + len(v["output"]) // 2
        yield v, [by_kt(v, bytes_of(v["message"]), length)]


def cavp(vectors):
    for v in vectors["hashes"]:
        yield v, [by_hash(v, bytes.fromhex(v["message"]), len(v["output"]) // 2)]
    for v in vectors["monte"]:
        for output, got in zip(v["outputs"], monte(v), strict=True):
            yield {"output": output} | v, [got]


def main():
    for name, entries in (("sha3.json", cases), ("sha3_cavp.json", cavp)):
        checked = 0
        for v, others in entries(json.loads((HERE / name).read_text(encoding="ascii"))):
            for got in others:
                if got[v.get("skip", 0) :].hex() != v["output"]:
                    sys.exit(f"{name}: {v}: {got.hex()}")
            checked += len(others)
        version = subprocess.run(["openssl", "version"], stdout=subprocess.PIPE, check=True).stdout.decode()
        print(f"{name}: {checked} values agree with OpenSSL {version.split()[1]} and pycryptodome {pycryptodome}")


if __name__ == "__main__":
    main()
