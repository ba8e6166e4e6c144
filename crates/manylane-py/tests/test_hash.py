"""Hash objects: known answers, hashlib's contract, HMAC, files."""

from __future__ import annotations

import copy
import ctypes
import hashlib
import hmac
import io
import tempfile
import threading
from pathlib import Path

import manylane
import numpy as np
import pytest
from conftest import painted, vectors
from hypothesis import given
from hypothesis import strategies as st

OURS = {
    "sm3": manylane.sm3,
    "sha3_224": manylane.sha3_224,
    "sha3_256": manylane.sha3_256,
    "sha3_384": manylane.sha3_384,
    "sha3_512": manylane.sha3_512,
}


def test_known_answers_of_sm3() -> None:
    for example in vectors("sm3.json")["examples"]:
        assert manylane.sm3(bytes.fromhex(example["message"])).hexdigest() == example["digest"]
    for entry in vectors("sm3.json")["painted"]:
        assert manylane.sm3(painted(0, entry["length"])).hexdigest() == entry["digest"]


def test_known_answers_of_sha3() -> None:
    names = {f"SHA3-{n}": f"sha3_{n}" for n in (224, 256, 384, 512)}
    names |= {"SHAKE128": "shake_128", "SHAKE256": "shake_256", "Keccak-256": "keccak_256"}
    seen = set()
    for entry in vectors("sha3.json")["hashes"]:
        name, message = names.get(entry["function"]), entry["message"]
        if name is None or not isinstance(message, str):
            continue
        expected = bytes.fromhex(entry["output"])
        hash_object = manylane.new(name, bytes.fromhex(message))
        is_xof = hash_object.digest_size == 0
        assert (hash_object.digest(len(expected)) if is_xof else hash_object.digest()) == expected
        seen.add(name)
    assert seen == set(names.values())


def test_known_answers_of_kt() -> None:
    count = 0
    for entry in vectors("sha3.json")["kt"]:
        message = entry["message"]
        if entry["customization"] or not isinstance(message, dict) or entry["skip"]:
            continue
        # RFC 9861's pattern, which is painted from 0.
        expected = bytes.fromhex(entry["output"])
        hash_object = manylane.new(entry["function"].lower(), painted(0, message["painted"]))
        assert hash_object.digest(len(expected)) == expected
        count += 1
    assert count > 5


@given(st.lists(st.binary(max_size=400), max_size=8), st.sampled_from(sorted(OURS)))
def test_pieces_are_the_whole(pieces: list[bytes], name: str) -> None:
    hash_object = OURS[name]()
    for piece in pieces:
        hash_object.update(piece)
    assert hash_object.digest() == OURS[name](b"".join(pieces)).digest()
    if name != "sm3":
        assert hash_object.hexdigest() == hashlib.new(name, b"".join(pieces)).hexdigest()


@given(st.binary(max_size=1000), st.integers(0, 700))
def test_shake_is_hashlibs(data: bytes, length: int) -> None:
    for name in ("shake_128", "shake_256"):
        assert manylane.new(name, data).digest(length) == hashlib.new(name, data).digest(length)
        assert manylane.new(name, data).hexdigest(length) == hashlib.new(name, data).hexdigest(length)


def test_attributes_are_hashlibs() -> None:
    for name in ("sha3_224", "sha3_256", "sha3_384", "sha3_512", "shake_128", "shake_256"):
        ours, theirs = manylane.new(name), hashlib.new(name)
        for attribute in ("name", "digest_size", "block_size"):
            assert getattr(ours, attribute) == getattr(theirs, attribute), (name, attribute)
    sm3 = manylane.sm3(usedforsecurity=False)
    assert (sm3.name, sm3.digest_size, sm3.block_size) == ("sm3", 32, 64)
    assert manylane.algorithms_guaranteed <= manylane.algorithms_available
    for name in manylane.algorithms_available:
        assert manylane.new(name).name == name
    assert manylane.new("SHA3_256").name == "sha3_256"


def test_a_copy_goes_its_own_way() -> None:
    first = manylane.sm3(b"ab")
    for other in (first.copy(), copy.copy(first), copy.deepcopy(first)):
        other.update(b"c")
        assert other.digest() == manylane.sm3(b"abc").digest()
    assert first.digest() == manylane.sm3(b"ab").digest()


def test_any_contiguous_buffer_is_taken() -> None:
    data = bytes(range(256)) * 16
    expected = manylane.sm3(data).digest()
    for form in (bytearray(data), memoryview(data), memoryview(data).cast("I"), memoryview(data).cast("d")):
        assert manylane.sm3(form).digest() == expected
    for bare in (ctypes.create_string_buffer(b"abc", 3), np.array(5), (ctypes.c_int * 3)(1, 2, 3)):
        assert manylane.sha3_256(bare).digest() == hashlib.sha3_256(bare).digest()


@pytest.mark.parametrize("data", ["text", 5, None, [1], object()])
def test_what_is_no_buffer_is_refused(data: object) -> None:
    hash_object = manylane.sm3()
    with pytest.raises(TypeError):
        hash_object.update(data)
    assert hash_object.digest() == manylane.sm3().digest()


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="unsupported hash type md4"):
        manylane.new("md4")
    for constructor in (manylane.sm3, hashlib.sha3_256):
        # The exporter's own words, as with hashlib.
        with pytest.raises(BufferError, match="not C-contiguous"):
            constructor(memoryview(b"abcdef")[::2])
        # What is missing by mistake has not the digest of nothing.
        with pytest.raises(TypeError):
            constructor(None)
        with pytest.raises(TypeError, match="Strings must be encoded before hashing"):
            constructor("text")
        constructor(b"", usedforsecurity=0)
    with pytest.raises(TypeError):
        manylane.new("sm3", None)
    with pytest.raises(TypeError):
        manylane.sm3().digest(5)
    for length in (-1, 2**40, -(2**62)):
        with pytest.raises(ValueError, match="length"):
            manylane.shake_128().digest(length)
    released = memoryview(bytearray(5))
    released.release()
    with pytest.raises(ValueError, match="released"):
        manylane.sm3(released)


def test_hmac() -> None:
    for entry in vectors("sm3.json")["hmac"]:
        key, message = painted(100, entry["key_length"]), painted(0, entry["length"])
        assert manylane.hmac(key, message).hex() == entry["tag"]
        assert hmac.new(key, message, manylane.sm3).hexdigest() == entry["tag"]
    for name, constructor in OURS.items():
        tag = manylane.hmac(b"k" * 200, b"m" * 5000, name)
        assert tag == hmac.new(b"k" * 200, b"m" * 5000, constructor).digest()
        if name != "sm3":
            assert tag == hmac.digest(b"k" * 200, b"m" * 5000, name)
    with pytest.raises(manylane.Error, match="no HMAC with shake_128"):
        manylane.hmac(b"k", b"m", "shake_128")


def test_one_object_serves_many_threads() -> None:
    hash_object = manylane.sm3()
    piece = bytes(5000)

    def feed() -> None:
        for _ in range(200):
            hash_object.update(piece)

    threads = [threading.Thread(target=feed) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert hash_object.digest() == manylane.sm3(piece * 800).digest()


def test_files(tmp_path: Path) -> None:
    for size in (0, 1, 100_000, 3_000_001):
        data = painted(0, 251) * (size // 251 + 1)
        data = data[:size]
        path = tmp_path / f"of {size}"
        path.write_bytes(data)
        for name in ("sm3", "sha3_256", "kt128"):
            expected = manylane.new(name, data).digest()
            with open(path, "rb") as file:
                assert manylane.file_digest(file, name).digest() == expected
            assert manylane.hash_file(path, name) == expected
            assert manylane.hash_file(str(path), name, device="cpu") == expected
            assert manylane.file_digest(io.BytesIO(data), name).digest() == expected
    with tempfile.TemporaryFile() as file:
        file.write(b"abc")
        file.seek(1)
        assert manylane.file_digest(file, manylane.sm3).digest() == manylane.sm3(b"bc").digest()


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        manylane.hash_file(tmp_path / "none")
    assert caught.value.filename == str(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        manylane.hash_file(tmp_path)
    with pytest.raises(ValueError, match="binary"):
        manylane.file_digest(io.StringIO("text"), "sm3")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="device"):
        manylane.hash_file(tmp_path, device="tpu")
