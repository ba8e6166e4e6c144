"""SM2: known answers, keys and ciphertexts of others, OpenSSL."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import manylane
import pytest
from conftest import ROOT, painted, vectors
from manylane import sm2

INTEROP = ROOT / "vectors" / "interop"


def of(d: str) -> sm2.PrivateKey:
    return sm2.private_key_from_bytes(bytes.fromhex(d))


def test_known_keys() -> None:
    for entry in vectors("sm2.json")["keys"]:
        public = of(entry["d"]).public_key()
        assert public.public_bytes("uncompressed").hex() == entry["point"]
        assert public.public_bytes("compressed").hex() == entry["compressed"]
        assert sm2.load_der_public_key(bytes.fromhex(entry["compressed"])) == public
        assert len({public, sm2.load_pem_public_key(public.public_bytes())}) == 1
    for entry in vectors("sm2.json")["bad_points"]:
        with pytest.raises(manylane.Error):
            sm2.load_der_public_key(bytes.fromhex(entry["bytes"]))
    for bad in (bytes(32), b"\xff" * 32, b"", bytes(31)):
        with pytest.raises(manylane.Error):
            sm2.private_key_from_bytes(bad)


def test_known_signatures() -> None:
    for entry in vectors("sm2.json")["signatures"]:
        public, message = of(entry["d"]).public_key(), painted(0, entry["length"])
        user_id, der = bytes.fromhex(entry["id"]), bytes.fromhex(entry["der"])
        public.verify(der, message, user_id=user_id)
        public.verify(bytes.fromhex(entry["r"] + entry["s"]), message, user_id=user_id, format="raw")
        public.verify_digest(der, bytes.fromhex(entry["e"]))
        for signature, changed in ((der, message + b"x"), (der[:-1], message), (der + b"x", message), (b"", message)):
            with pytest.raises(manylane.InvalidSignature):
                public.verify(signature, changed, user_id=user_id)
    for entry in vectors("sm2.json")["bad_signatures"]:
        with pytest.raises(manylane.InvalidSignature):
            raw = bytes.fromhex(entry["r"] + entry["s"])
            of(entry["d"]).public_key().verify_digest(raw, bytes.fromhex(entry["e"]), format="raw")
    public = sm2.generate_private_key().public_key()
    for entry in vectors("sm2.json")["bad_signature_der"]:
        with pytest.raises(manylane.InvalidSignature):
            public.verify(bytes.fromhex(entry["der"]), b"")


def test_known_ciphertexts() -> None:
    for entry in vectors("sm2.json")["ciphertexts"]:
        if "der" not in entry:
            continue
        key, message = of(entry["d"]), painted(0, entry["length"])
        c1, c2, c3 = (bytes.fromhex(entry[part]) for part in ("c1", "c2", "c3"))
        assert key.decrypt(bytes.fromhex(entry["der"])) == message
        assert key.decrypt(c1 + c3 + c2, format="c1c3c2") == message
        assert key.decrypt(c1[1:] + c2 + c3, format="c1c2c3", prefix=False) == message
    for entry in vectors("sm2.json")["bad_ciphertexts"]:
        with pytest.raises(manylane.DecryptionError):
            of(entry["d"]).decrypt(bytes.fromhex(entry["c1"] + entry["c3"] + entry["c2"]), format="c1c3c2")
    key = sm2.generate_private_key()
    for entry in vectors("sm2.json")["bad_ciphertext_der"]:
        with pytest.raises(manylane.DecryptionError):
            key.decrypt(bytes.fromhex(entry["der"]))


@pytest.mark.parametrize("arguments", [{}, {"format": "c1c3c2"}, {"format": "c1c2c3", "prefix": False}])
def test_what_is_encrypted_decrypts(arguments: dict[str, Any]) -> None:
    key = sm2.generate_private_key()
    for length in (1, 31, 32, 33, 5000):
        message = painted(3, length)
        ciphertext = key.public_key().encrypt(message, **arguments)
        assert key.decrypt(ciphertext, **arguments) == message
        with pytest.raises(manylane.DecryptionError):
            key.decrypt(ciphertext[:-1] + bytes([ciphertext[-1] ^ 1]), **arguments)
    with pytest.raises(manylane.Error, match="empty"):
        key.public_key().encrypt(b"", **arguments)


def test_ecdh_and_exchange() -> None:
    for entry in vectors("sm2.json")["ecdh"]:
        shared = of(entry["d"]).diffie_hellman(of(entry["e"]).public_key())
        assert shared.hex() == entry["x"]
    a, b = sm2.generate_private_key(), sm2.generate_private_key()
    first = a.exchange(b.public_key(), initiator=True, user_id=b"Alice", peer_user_id=b"Bob")
    second = b.exchange(a.public_key(), initiator=False, user_id=b"Bob", peer_user_id=b"Alice")
    key_of_a, confirmation_of_a = first.agree(second.ephemeral, 48)
    key_of_b, confirmation_of_b = second.agree(first.ephemeral, 48)
    assert key_of_a == key_of_b and len(key_of_a) == 48
    confirmation_of_a.check(confirmation_of_b.to_send)
    confirmation_of_b.check(confirmation_of_a.to_send)
    with pytest.raises(manylane.Error):
        confirmation_of_a.check(bytes(32))
    with pytest.raises(manylane.AlreadyFinalized):
        first.agree(second.ephemeral, 48)
    other = a.exchange(b.public_key(), initiator=True)
    for length in (0, -1, 2**30):
        with pytest.raises((manylane.Error, OverflowError)):
            other.agree(second.ephemeral, length)


def test_forms_of_keys() -> None:
    key = sm2.generate_private_key()
    for encoding, load in (("pem", sm2.load_pem_private_key), ("der", sm2.load_der_private_key)):
        for format in ("pkcs8", "sec1"):
            assert load(key.private_bytes(encoding, format)).private_bytes("raw") == key.private_bytes("raw")
        for kdf in ("sm3", "sha256"):
            encryption = sm2.Encryption(b"password", kdf=kdf, iterations=1000)
            encrypted = key.private_bytes(encoding, "pkcs8", encryption)
            assert load(encrypted, b"password").public_key() == key.public_key()
            with pytest.raises(manylane.Error, match="password is wrong"):
                load(encrypted, b"Password")
            with pytest.raises(manylane.Error, match="needs a password"):
                load(encrypted)
    public = key.public_key()
    for encoding, load in (("pem", sm2.load_pem_private_key), ("der", sm2.load_der_private_key)):
        # Who gives a password believes that there is one.
        with pytest.raises(TypeError, match="not encrypted"):
            load(key.private_bytes(encoding), b"password")
        # Hexadecimal digits are neither.
        with pytest.raises(manylane.Error, match="not in"):
            load(key.private_bytes("hex"))
    for load_public in (sm2.load_pem_public_key, sm2.load_der_public_key, sm2.load_certificate):
        with pytest.raises(manylane.Error):
            load_public(public.public_bytes("hex"))
    for encoding in ("pem", "der", "compressed"):
        with pytest.raises(manylane.Error):
            sm2.load_certificate(public.public_bytes(encoding))
    assert sm2.load_der_public_key(public.public_bytes("der")) == public
    with pytest.raises(manylane.Error, match="in PEM"):
        sm2.load_der_public_key(public.public_bytes("pem"))
    with pytest.raises(manylane.Error, match="not in PEM"):
        sm2.load_pem_private_key(key.private_bytes("der"))
    with pytest.raises(manylane.Error, match="in PEM"):
        sm2.load_der_private_key(key.private_bytes("pem"))
    for arguments in (("pem", "spki"), ("jwk", "pkcs8"), ("pem", "sec1", sm2.Encryption(b"x"))):
        with pytest.raises(manylane.Error):
            key.private_bytes(*arguments)
    for arguments in ((b"",), (b"x", "md5")):
        with pytest.raises((manylane.Error, TypeError)):
            sm2.Encryption(*arguments)
    assert "d" not in repr(key).removeprefix("<manylane.sm2.PrivateKey>")


def test_files_of_others() -> None:
    count = 0
    for path in INTEROP.glob("*/key*.pem"):
        data = path.read_bytes()
        try:
            key = sm2.load_pem_private_key(data)
        except manylane.Error as error:
            assert "needs a password" in str(error), path
            continue
        assert sm2.load_private_key(path).public_key() == key.public_key()
        count += 1
    assert count >= 2


def openssl(*arguments: str, stdin: bytes = b"") -> bytes:
    return subprocess.run(["openssl", *arguments], input=stdin, capture_output=True, check=True).stdout


def test_openssl_and_we_take_each_others_signatures(tmp_path: Path) -> None:
    openssl("genpkey", "-algorithm", "SM2", "-out", str(tmp_path / "key"))
    key = sm2.load_private_key(tmp_path / "key")
    message, signature = tmp_path / "message", tmp_path / "signature"
    message.write_bytes(b"a message")
    signature.write_bytes(key.sign(b"a message"))
    common = ("-rawin", "-digest", "sm3", "-in", str(message), "-pkeyopt", "distid:1234567812345678")
    openssl("pkeyutl", "-verify", "-inkey", str(tmp_path / "key"), "-sigfile", str(signature), *common)
    theirs = openssl("pkeyutl", "-sign", "-inkey", str(tmp_path / "key"), *common)
    key.public_key().verify(theirs, b"a message")
    ciphertext = tmp_path / "ciphertext"
    ciphertext.write_bytes(key.public_key().encrypt(b"a message"))
    plain = openssl("pkeyutl", "-decrypt", "-inkey", str(tmp_path / "key"), "-in", str(ciphertext))
    assert plain == b"a message"


def test_certificates(tmp_path: Path) -> None:
    key_file, certificate = str(tmp_path / "key"), str(tmp_path / "certificate")
    openssl("genpkey", "-algorithm", "SM2", "-out", key_file)
    openssl("req", "-x509", "-new", "-key", key_file, "-sm3", "-subj", "/CN=test", "-out", certificate)
    public = sm2.load_private_key(key_file).public_key()
    assert sm2.load_certificate(Path(certificate).read_bytes()) == public
    der = openssl("x509", "-in", certificate, "-outform", "DER")
    assert sm2.load_certificate(der) == public
    with pytest.raises(manylane.Error):
        sm2.load_certificate(der[:-5])


def test_many_signatures() -> None:
    keys = [sm2.generate_private_key() for _ in range(40)]
    publics = [key.public_key() for key in keys]
    messages = [painted(i, i) for i in range(40)]
    signatures = sm2.sign_many(keys, messages)
    assert sm2.verify_many(publics, messages, signatures) == [True] * 40
    for public, message, signature in zip(publics, messages, signatures, strict=True):
        public.verify(signature, message)
    signatures[3], signatures[5] = signatures[5], b"no signature"
    expected = [i not in (3, 5) for i in range(40)]
    assert sm2.verify_many(publics, messages, signatures, threads=3) == expected
    raw = sm2.sign_many(keys[0], messages, user_id=b"me", format="raw", threads=1)
    assert sm2.verify_many(publics[0], messages, raw, user_id=b"me", format="raw") == [True] * 40
    assert sm2.verify_many(publics[0], messages, raw, format="raw") == [False] * 40
    assert sm2.sign_many(keys[0], []) == []
    assert sm2.verify_many(publics[0], [], []) == []
    with pytest.raises(manylane.Error, match="39 keys for 40 messages"):
        sm2.sign_many(keys[1:], messages)
    with pytest.raises(manylane.Error, match="39 signatures"):
        sm2.verify_many(publics, messages, signatures[1:])
    with pytest.raises(TypeError):
        sm2.verify_many(keys, messages, signatures)  # type: ignore[arg-type]


def test_bad_arguments_are_refused() -> None:
    key = sm2.generate_private_key()
    with pytest.raises(manylane.Error, match="format 'pem'"):
        key.sign(b"", format="pem")
    with pytest.raises(manylane.Error, match="format 'xml'"):
        key.public_key().encrypt(b"x", format="xml")
    with pytest.raises(manylane.Error, match="at most 8191"):
        key.sign(b"", user_id=bytes(8192))
    with pytest.raises(manylane.Error, match="32 bytes"):
        key.sign_digest(b"short")
    for call in (key.sign, key.decrypt, key.public_key().encrypt, sm2.load_certificate, sm2.load_pem_private_key):
        with pytest.raises(TypeError):
            call("text")  # type: ignore[operator]
