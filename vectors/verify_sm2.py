#!/usr/bin/env python3
"""Checks sm2.json against OpenSSL, which shares no code with its generator.

    python3 vectors/verify_sm2.py

OpenSSL derives the public keys, verifies the signatures of messages and of digests and refuses the bad
ones, decrypts the ciphertexts and refuses the bad ones. It chooses nonces itself, and its command has
no SM2 key exchange, no ECDH with such a key and no KDF: those lists rest on the standard's examples
and on ref/sm2.py.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

# The beginnings of SubjectPublicKeyInfo and PKCS #8 for the curve; a point or d follows.
SPKI = bytes.fromhex("3059301306072a8648ce3d020106082a811ccf5501822d034200")
PKCS8 = bytes.fromhex("3041020100301306072a8648ce3d020106082a811ccf5501822d042730250201010420")


def painted(length):
    return bytes(i % 251 for i in range(length))


def tlv(tag, content):
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes([tag, 0x80 | len(length)]) + length + content


def integer(hexadecimal):
    x = int(hexadecimal, 16)
    return tlv(2, x.to_bytes(x.bit_length() // 8 + 1, "big"))


def signature_der(r, s):
    return tlv(0x30, integer(r) + integer(s))


def ciphertext_der(c1, c3, c2):
    hashed, text = (tlv(4, bytes.fromhex(c)) for c in (c3, c2))
    return tlv(0x30, integer(c1[2:66]) + integer(c1[66:]) + hashed + text)


class Dir:
    """A folder for the files that the command wants."""

    def __init__(self, path):
        self.path = pathlib.Path(path)

    def file(self, name, data):
        path = self.path / name
        path.write_bytes(data)
        return str(path)

    def openssl(self, *arguments):
        """The output, or None if it fails."""
        run = subprocess.run(["openssl", *arguments], capture_output=True)
        return run.stdout if run.returncode == 0 else None

    def private(self, d):
        return self.file("d.der", PKCS8 + bytes.fromhex(d))

    def public(self, point):
        return self.file("p.der", SPKI + bytes.fromhex(point))

    def point_of(self, d):
        der = self.openssl(
            "pkey", "-inform", "DER", "-in", self.private(d), "-pubout", "-outform", "DER"
        )
        return der and der[len(SPKI) :]

    def verifies(self, point, ID, message, signature):
        option = f"hexdistid:{ID}" if ID else "distid:"
        return self.openssl(
            *"pkeyutl -verify -rawin -digest sm3 -keyform DER -pubin".split(),
            *("-inkey", self.public(point), "-pkeyopt", option),
            *("-in", self.file("m", message), "-sigfile", self.file("s", signature)),
        ) is not None  # fmt: skip

    def verifies_digest(self, point, e, signature):
        return self.openssl(
            *"pkeyutl -verify -keyform DER -pubin".split(),
            *("-inkey", self.public(point), "-in", self.file("m", bytes.fromhex(e))),
            *("-sigfile", self.file("s", signature)),
        ) is not None  # fmt: skip

    def decrypts(self, d, ciphertext):
        file = self.file("c", ciphertext)
        return self.openssl(
            *"pkeyutl -decrypt -keyform DER -inkey".split(), self.private(d), "-in", file
        )


def main():
    path = pathlib.Path(__file__).with_name("sm2.json")
    vectors = json.loads(path.read_text(encoding="ascii"))
    raw = lambda v: bytes.fromhex(v["der"])
    checked = 0

    def right(what, holds):
        nonlocal checked
        if not holds:
            sys.exit(f"{path.name}, {what}: OpenSSL disagrees")
        checked += 1

    with tempfile.TemporaryDirectory() as folder:
        dir = Dir(folder)
        point = lambda d: dir.point_of(d).hex()
        for v in vectors["keys"]:
            right(v["what"], point(v["d"]) == v["point"])
        for v in vectors["sign_examples"]:
            e, der = v["e"], signature_der(v["r"], v["s"])
            message = bytes.fromhex(v["message"])
            right(v["source"], dir.verifies(v["point"], v["id"], message, der))
            right(f"{v['source']}, e", dir.verifies_digest(v["point"], e, der))
        for v in vectors["signatures"]:
            message = painted(v["length"])
            # The command line takes no longer ID than this.
            if len(v["id"]) <= 2 * 1000:
                right(v["what"], dir.verifies(point(v["d"]), v["id"], message, raw(v)))
            right(f"{v['what']}, e", dir.verifies_digest(point(v["d"]), v["e"], raw(v)))
        for v in vectors["digest_signatures"]:
            right(v["what"], dir.verifies_digest(point(v["d"]), v["e"], raw(v)))
        for v in vectors["bad_signatures"]:
            der = signature_der(v["r"], v["s"])
            right(v["what"], not dir.verifies_digest(point(v["d"]), v["e"], der))
        for v in vectors["ciphertexts"]:
            if "der" in v:
                right(v["what"], dir.decrypts(v["d"], raw(v)) == painted(v["length"]))
        for v in vectors["zero_kdf"]:
            der = ciphertext_der(v["c1"], v["c3"], v["c2"])
            right("zero KDF", dir.decrypts(v["d"], der) == bytes.fromhex(v["message"]))
        for v in vectors["bad_ciphertexts"]:
            # OpenSSL 3.0 gives an empty message for an empty C2, whatever C3 is.
            if v["c1"].startswith("04") and v["c2"]:
                der = ciphertext_der(v["c1"], v["c3"], v["c2"])
                right(v["what"], dir.decrypts(v["d"], der) is None)
    version = subprocess.run(["openssl", "version"], capture_output=True, check=True).stdout
    print(f"{path.name}: {checked} values agree with {version.decode().strip()}")


if __name__ == "__main__":
    main()
