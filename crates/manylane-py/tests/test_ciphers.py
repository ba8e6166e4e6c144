"""AEADs and modes of operation: known answers, and pyca/cryptography's."""

from __future__ import annotations

import os
import sys
from typing import Any

import manylane
import pytest
from conftest import painted, vectors
from cryptography.hazmat.primitives.ciphers import Cipher as TheirCipher
from cryptography.hazmat.primitives.ciphers import algorithms as their_algorithms
from cryptography.hazmat.primitives.ciphers import modes as their_modes
from cryptography.hazmat.primitives.ciphers.aead import AESCCM as TheirAESCCM
from cryptography.hazmat.primitives.ciphers.aead import AESGCM as TheirAESGCM
from cryptography.hazmat.primitives.padding import PKCS7 as TheirPKCS7
from hypothesis import given
from hypothesis import strategies as st
from manylane.aead import AESCCM, AESGCM, SM4CCM, SM4GCM
from manylane.ciphers import Cipher, algorithms, modes, padding

ALGORITHMS: dict[str, Any] = {"sm4": algorithms.SM4, "aes": algorithms.AES}
MODES: dict[str, Any] = {
    "cbc": modes.CBC,
    "cfb": modes.CFB,
    "cfb8": modes.CFB8,
    "ofb": modes.OFB,
    "ctr128": modes.CTR,
    "xts": modes.XTS,
    "xts-gb": lambda tweak: modes.XTS(tweak, gb=True),
    "ecb": lambda iv: modes.ECB(),
}


def long(data: bytes, expected: str) -> bool:
    """What is longer than 96 bytes is given by its SM3."""
    return data.hex() == expected if len(data) <= 96 else manylane.sm3(data).hexdigest() == expected


@pytest.mark.parametrize("name", ["sm4", "aes"])
def test_known_answers_of_modes(name: str) -> None:
    seen = set()
    entries = vectors(f"{name}.json")["painted"]
    for entry in entries:
        mode = MODES.get(entry["mode"])
        if mode is None:
            continue
        cipher = Cipher(ALGORITHMS[name](painted(100, entry["key_length"])), mode(bytes.fromhex(entry["iv"])))
        message = painted(0, entry["length"])
        if not message:
            continue
        encryptor = cipher.encryptor()
        ciphertext = encryptor.update(message) + encryptor.finalize()
        assert long(ciphertext, entry.get("ciphertext") or entry["ciphertext_sm3"]), entry
        decryptor = cipher.decryptor()
        assert decryptor.update(ciphertext) + decryptor.finalize() == message
        seen.add(entry["mode"])
    assert seen == set(MODES) & {entry["mode"] for entry in entries}
    assert len(seen) >= 7


@pytest.mark.parametrize("name", ["sm4", "aes"])
def test_known_answers_of_aeads(name: str) -> None:
    of: dict[str, dict[str, Any]] = {
        "sm4": {"gcm": SM4GCM, "ccm": SM4CCM},
        "aes": {"gcm": AESGCM, "ccm": AESCCM},
    }
    count = 0
    for entry in vectors(f"{name}.json")["painted_aead"]:
        tag = bytes.fromhex(entry["tag"])
        key, iv = painted(100, entry["key_length"]), bytes.fromhex(entry["iv"])
        if entry["mode"] == "ccm":
            aead = of[name]["ccm"](key, len(tag))
        elif len(tag) == 16:
            aead = of[name]["gcm"](key)
        else:
            continue
        aad, message = painted(50, entry["aad_length"]), painted(0, entry["length"])
        sealed = aead.encrypt(iv, message, aad)
        assert sealed[-len(tag) :] == tag
        assert long(sealed[: -len(tag)], entry.get("ciphertext", entry.get("ciphertext_sm3"))), entry
        assert aead.decrypt(iv, sealed, aad) == message
        with pytest.raises(manylane.InvalidTag):
            aead.decrypt(iv, sealed[:-1] + bytes([sealed[-1] ^ 1]), aad)
        count += 1
    assert count > 30


@given(st.binary(max_size=3000), st.binary(max_size=100), st.sampled_from([16, 24, 32]), st.booleans())
def test_aeads_are_pycas(data: bytes, aad: bytes, key_length: int, gcm: bool) -> None:
    key, nonce = os.urandom(key_length), os.urandom(12)
    ours, theirs = (AESGCM(key), TheirAESGCM(key)) if gcm else (AESCCM(key), TheirAESCCM(key))
    sealed = ours.encrypt(nonce, data, aad)
    assert sealed == theirs.encrypt(nonce, data, aad)
    assert ours.decrypt(nonce, sealed, aad) == data
    for bad in (sealed[:-1], sealed[1:], b"", sealed + b"x"):
        with pytest.raises(manylane.InvalidTag):
            ours.decrypt(nonce, bad, aad)


@given(
    st.lists(st.binary(max_size=70), max_size=6),
    st.sampled_from(["ECB", "CBC", "CTR", "OFB"]),
    st.sampled_from(["SM4", "AES"]),
    st.booleans(),
)
def test_contexts_are_pycas(pieces: list[bytes], mode: str, algorithm: str, encrypt: bool) -> None:
    key, iv = os.urandom(16), os.urandom(16)
    arguments = () if mode == "ECB" else (iv,)
    ours: Any = Cipher(getattr(algorithms, algorithm)(key), getattr(modes, mode)(*arguments))
    theirs: Any = TheirCipher(
        getattr(their_algorithms, algorithm)(key), getattr(their_modes, mode)(*arguments)
    )
    ours, theirs = (ours.encryptor(), theirs.encryptor()) if encrypt else (ours.decryptor(), theirs.decryptor())
    for piece in pieces:
        assert ours.update(piece) == theirs.update(piece)
    total = sum(map(len, pieces))
    if mode in ("ECB", "CBC") and total % 16:
        with pytest.raises(ValueError, match="whole number of blocks"):
            ours.finalize()
        with pytest.raises(ValueError):
            theirs.finalize()
    else:
        assert ours.finalize() == theirs.finalize() == b""
        with pytest.raises(manylane.AlreadyFinalized):
            ours.update(b"")
        with pytest.raises(manylane.AlreadyFinalized):
            ours.finalize()


def test_gcm_in_parts() -> None:
    key, iv = os.urandom(32), os.urandom(12)
    encryptor = Cipher(algorithms.AES(key), modes.GCM(iv)).encryptor()
    encryptor.authenticate_additional_data(b"a")
    encryptor.authenticate_additional_data(b"ad")
    with pytest.raises(manylane.NotYetFinalized, match="no tag before finalize"):
        encryptor.tag  # noqa: B018
    buffer = bytearray(30)
    count = encryptor.update_into(b"one ", buffer)
    ciphertext = bytes(buffer[:count]) + encryptor.update(b"two")
    with pytest.raises(manylane.AlreadyUpdated):
        encryptor.authenticate_additional_data(b"late")
    assert encryptor.finalize() == b""
    sealed = ciphertext + encryptor.tag
    assert sealed == TheirAESGCM(key).encrypt(iv, b"one two", b"aad")
    decryptor = Cipher(algorithms.AES(key), modes.GCM(iv, encryptor.tag)).decryptor()
    decryptor.authenticate_additional_data(b"aad")
    assert decryptor.update(ciphertext) + decryptor.finalize() == b"one two"
    decryptor = Cipher(algorithms.AES(key), modes.GCM(iv)).decryptor()
    decryptor.authenticate_additional_data(b"aaD")
    decryptor.update(ciphertext)
    with pytest.raises(manylane.InvalidTag):
        decryptor.finalize_with_tag(encryptor.tag)
    decryptor = Cipher(algorithms.AES(key), modes.GCM(iv)).decryptor()
    with pytest.raises(manylane.Error, match="tag is missing"):
        decryptor.finalize()
    empty = Cipher(algorithms.SM4(bytes(16)), modes.GCM(iv)).encryptor()
    empty.finalize()
    assert empty.tag == SM4GCM(bytes(16)).encrypt(iv, b"", None)


def test_what_contexts_refuse() -> None:
    sm4 = algorithms.SM4(bytes(16))
    for key in (b"", bytes(15), bytes(17), bytes(24)):
        with pytest.raises(ValueError, match="a key of"):
            algorithms.SM4(key)
        with pytest.raises(ValueError, match="a key of"):
            SM4GCM(key)
    for iv in (b"", bytes(12), bytes(17)):
        with pytest.raises(ValueError, match="IV of"):
            Cipher(sm4, modes.CBC(iv)).encryptor()
    with pytest.raises(ValueError, match="IV of"):
        Cipher(sm4, modes.GCM(b"")).encryptor()
    with pytest.raises(ValueError, match="halves of the key"):
        Cipher(algorithms.SM4(bytes(32)), modes.XTS(bytes(16))).encryptor()
    with pytest.raises(ValueError):
        Cipher(algorithms.SM4(bytes(16)), modes.XTS(bytes(16))).encryptor()
    with pytest.raises(ValueError, match="a key of"):
        Cipher(algorithms.SM4(bytes(32)), modes.CBC(bytes(16))).encryptor()
    context = Cipher(sm4, modes.CTR(bytes(16))).encryptor()
    with pytest.raises(ValueError, match="read-only"):
        context.update_into(b"abc", b"abc")
    with pytest.raises(ValueError, match="2 bytes, 3 are needed"):
        context.update_into(b"abc", bytearray(2))
    buffer = bytearray(10)
    with pytest.raises(ValueError, match="overlaps"):
        context.update_into(buffer, buffer)
    with pytest.raises(manylane.Error, match="only GCM"):
        context.authenticate_additional_data(b"")
    with pytest.raises(manylane.Error, match="only"):
        context.tag  # noqa: B018
    # None of that was part of the message.
    theirs: Any = TheirCipher(their_algorithms.SM4(bytes(16)), their_modes.CTR(bytes(16))).encryptor()
    assert context.update(b"abc") == theirs.update(b"abc")
    xts = Cipher(algorithms.SM4(bytes(range(32))), modes.XTS(bytes(16))).encryptor()
    with pytest.raises(ValueError):
        xts.update(bytes(15))
    xts.update(bytes(40))
    with pytest.raises(ValueError, match="as a whole"):
        xts.update(bytes(40))
    with pytest.raises(TypeError):
        Cipher(sm4, "cbc")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="nonce|IV"):
        SM4CCM(bytes(16)).encrypt(bytes(3), b"", None)


def test_keys_are_generated() -> None:
    assert len(SM4GCM.generate_key()) == 16 and len(AESGCM.generate_key(192)) == 24
    assert SM4CCM.generate_key() != SM4CCM.generate_key()
    with pytest.raises(ValueError):
        AESCCM.generate_key(100)


@given(st.lists(st.binary(max_size=40), max_size=5), st.sampled_from([8, 64, 128, 256]))
def test_padding_is_pycas(pieces: list[bytes], bits: int) -> None:
    ours, theirs = padding.PKCS7(bits).padder(), TheirPKCS7(bits).padder()
    padded = b"".join(ours.update(piece) for piece in pieces) + ours.finalize()
    assert padded == theirs.update(b"".join(pieces)) + theirs.finalize()
    unpadder = padding.PKCS7(bits).unpadder()
    assert unpadder.update(padded) + unpadder.finalize() == b"".join(pieces)
    bad = padding.PKCS7(bits).unpadder()
    bad.update(padded[:-1] + b"\0")
    with pytest.raises(ValueError, match="Invalid padding"):
        bad.finalize()
    with pytest.raises(manylane.AlreadyFinalized):
        bad.finalize()


def test_tags_that_come_last_may_be_short() -> None:
    key, iv, message = bytes(16), bytes(12), b"some message"
    encryptor = Cipher(algorithms.AES(key), modes.GCM(iv)).encryptor()
    ciphertext = encryptor.update(message) + encryptor.finalize()
    for least, length in ((4, 4), (12, 12), (12, 13), (16, 16), (4, 16)):
        for cipher in (
            Cipher(algorithms.AES(key), modes.GCM(iv, None, least)),
            TheirCipher(their_algorithms.AES(key), their_modes.GCM(iv, None, least)),
        ):
            decryptor = cipher.decryptor()
            assert decryptor.update(ciphertext) == message
            # Too short, or none: a mistake that the context outlives.
            with pytest.raises(ValueError):
                decryptor.finalize()
            with pytest.raises(ValueError):
                decryptor.finalize_with_tag(encryptor.tag[: least - 1])
            assert decryptor.finalize_with_tag(encryptor.tag[:length]) == b""
    wrong = Cipher(algorithms.AES(key), modes.GCM(iv, None, 4)).decryptor()
    wrong.update(ciphertext)
    with pytest.raises(manylane.InvalidTag):
        wrong.finalize_with_tag(bytes(4))
    with pytest.raises(ValueError, match="min_tag_length"):
        modes.GCM(iv, None, 3)


def test_a_message_that_has_not_ended_goes_on() -> None:
    encryptor = Cipher(algorithms.SM4(bytes(16)), modes.CBC(bytes(16))).encryptor()
    parts = encryptor.update(bytes(20))
    with pytest.raises(ValueError, match="whole number"):
        encryptor.finalize()
    parts += encryptor.update(bytes(12)) + encryptor.finalize()
    whole = Cipher(algorithms.SM4(bytes(16)), modes.CBC(bytes(16))).encryptor()
    assert parts == whole.update(bytes(32))


def test_additional_data_come_first() -> None:
    encryptor = Cipher(algorithms.SM4(bytes(16)), modes.GCM(bytes(12))).encryptor()
    encryptor.update(b"x")
    with pytest.raises(manylane.AlreadyUpdated):
        encryptor.authenticate_additional_data(b"y")


def test_there_is_no_xts_with_aes_192() -> None:
    with pytest.raises(ValueError, match="128 or 256"):
        Cipher(algorithms.AES(bytes(48)), modes.XTS(bytes(16))).encryptor()


@pytest.mark.skipif(sys.version_info < (3, 12), reason="classes have no __buffer__ before Python 3.12")
def test_an_outputs_code_may_use_the_context() -> None:
    encryptor = Cipher(algorithms.SM4(bytes(16)), modes.CTR(bytes(16))).encryptor()

    class Place:
        memory = bytearray(32)

        def __buffer__(self, flags: int) -> memoryview:
            encryptor.update(b"x")
            return memoryview(self.memory)

    assert encryptor.update_into(bytes(20), Place()) == 20
