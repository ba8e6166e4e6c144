"""Many messages: every form of input and output, refusals, progress."""

from __future__ import annotations

import ctypes
from typing import Any

import manylane
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

NAMES = ["sm3", "sha3_256", "sha3_512", "shake_128", "kt128"]


def rows(count: int, length: int) -> np.ndarray:
    return np.random.default_rng(count + length).integers(0, 256, (count, length), dtype=np.uint8)


def digests(name: str, messages: list[bytes]) -> list[bytes]:
    return [manylane.new(name, message).digest() for message in messages]


@given(st.lists(st.binary(max_size=300), max_size=60), st.sampled_from(NAMES))
def test_every_form_gives_the_same(messages: list[bytes], name: str) -> None:
    expected = digests(name, messages)
    joined = b"".join(expected)
    assert manylane.hash_many(name, messages) == expected
    assert manylane.hash_many(name, tuple(map(bytearray, messages))) == expected
    assert manylane.hash_many(name, map(memoryview, messages)) == expected
    assert manylane.hash_many(name, (np.frombuffer(message, np.uint8) for message in messages)) == expected
    data = np.frombuffer(b"".join(messages), np.uint8)
    lengths = [0, *map(len, messages)]
    for dtype in (np.uint32, np.int32, np.uint64, np.int64):
        offsets = np.cumsum(lengths).astype(dtype)
        assert manylane.hash_many(name, data, offsets=offsets).tobytes() == joined
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view()):
        array = pa.array(messages, kind)
        assert manylane.hash_many(name, array).tobytes() == joined
        assert manylane.hash_many(name, array[1:]).tobytes() == b"".join(expected[1:])
        parts = pa.chunked_array([array[:2], array[2:2], array[2:]], kind)
        assert manylane.hash_many(name, parts).tobytes() == joined


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shape", [(0, 5), (1, 0), (7, 1), (100, 55), (33, 64), (50, 200)])
def test_rows(name: str, shape: tuple[int, int]) -> None:
    array = rows(*shape)
    expected = b"".join(digests(name, [row.tobytes() for row in array]))
    result = manylane.hash_many(name, array)
    assert isinstance(result, np.ndarray) and result.dtype == np.uint8
    assert result.shape == (shape[0], len(manylane.new(name).digest(32)) if "shake" in name else result.shape[1])
    assert result.tobytes() == expected
    if shape[0] and shape[1]:
        view = memoryview(array.tobytes()).cast("B", shape)
        result = manylane.hash_many(name, view)
        assert isinstance(result, memoryview)
        assert result.tobytes() == expected
        assert result.shape == (shape[0], len(expected) // shape[0])
    wide = rows(shape[0], shape[1] + 13)
    part = wide[:, 5 : 5 + shape[1]]
    assert manylane.hash_many(name, part).tobytes() == b"".join(digests(name, [row.tobytes() for row in part]))
    every = wide[::3]
    assert manylane.hash_many(name, every).tobytes() == b"".join(digests(name, [row.tobytes() for row in every]))


def test_text_and_fixed_sizes_of_arrow() -> None:
    texts = ["", "字", "abc" * 10]
    for kind in (pa.utf8(), pa.large_utf8(), pa.string_view()):
        result = manylane.hash_many("sm3", pa.array(texts, kind))
        assert result.tobytes() == b"".join(digests("sm3", [text.encode() for text in texts]))
    fixed = pa.array([b"abcd", b"efgh", b"ijkl"], pa.binary(4))
    result = manylane.hash_many("sm3", fixed[1:])
    assert result.tobytes() == b"".join(digests("sm3", [b"efgh", b"ijkl"]))
    assert manylane.hash_many("sm3", pa.array([], pa.binary())).tobytes() == b""


def test_out_is_filled_and_returned() -> None:
    array = rows(20, 30)
    expected = b"".join(digests("sm3", [row.tobytes() for row in array]))
    for out in (np.zeros((20, 32), np.uint8), np.zeros(640, np.uint8), bytearray(640)):
        assert manylane.hash_many("sm3", array, out=out) is out
        assert bytes(out) == expected
        assert manylane.hash_many("sm3", [row.tobytes() for row in array], out=out) is out


@pytest.mark.parametrize(
    ("out", "error", "text"),
    [
        (np.zeros((20, 31), np.uint8), ValueError, "shape"),
        (np.zeros((19, 32), np.uint8), ValueError, "shape"),
        (np.zeros((20, 32), np.int32), TypeError, "uint8"),
        (np.zeros((20, 64), np.uint8)[:, ::2], ValueError, "contiguous"),
        (bytes(640), ValueError, "read-only"),
        ([], TypeError, "bytes-like"),
        ("x", TypeError, "bytes-like"),
    ],
)
def test_a_bad_out_is_refused(out: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        manylane.hash_many("sm3", rows(20, 30), out=out)


def test_rows_without_bytes_and_single_rows() -> None:
    empty = manylane.sm3().digest()
    # Their strides say nothing, and their memory may be none at all.
    view = np.lib.stride_tricks.as_strided(np.zeros(0, np.uint8), (1000, 0), (1, 1))
    assert bytes(manylane.hash_many("sm3", view)) == 1000 * empty
    single = rows(1, 50)[::-1]
    assert bytes(manylane.hash_many("sm3", single)) == manylane.sm3(single.tobytes()).digest()

    class Tensor:
        """As PyTorch's of no bytes: without an address."""

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

        def __dlpack__(self, **_: Any) -> Any:
            self.shape, self.strides = (ctypes.c_int64 * 2)(1000, 0), (ctypes.c_int64 * 2)(1, 1)
            # DLTensor: data, device, ndim, dtype, shape, strides, byte_offset; then manager and deleter.
            fields = [0, 1, 2 | (1 << 32) | (8 << 40) | (1 << 48), ctypes.addressof(self.shape)]
            self.managed = (ctypes.c_uint64 * 8)(*fields, ctypes.addressof(self.strides), 0, 0, 0)
            new = ctypes.pythonapi.PyCapsule_New
            new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
            return new(ctypes.addressof(self.managed), b"dltensor", None)

    assert bytes(manylane.hash_many("sm3", Tensor())) == 1000 * empty


def test_memory_of_ctypes_is_taken() -> None:
    out = (ctypes.c_ubyte * 64)()
    messages = [ctypes.create_string_buffer(b"abc", 3), (ctypes.c_ubyte * 5)()]
    expected = manylane.sm3(b"abc").digest() + manylane.sm3(bytes(5)).digest()
    assert manylane.hash_many("sm3", messages, out=out) is out
    assert bytes(out) == expected == b"".join(manylane.hash_many("sm3", messages))
    with pytest.raises(ValueError, match="64 bytes"):
        manylane.hash_many("sm3", [b""], out=out)


def test_an_out_within_the_input_is_refused() -> None:
    array = np.zeros((40, 32), np.uint8)
    with pytest.raises(ValueError, match="overlaps"):
        manylane.hash_many("sm3", array, out=array)
    with pytest.raises(ValueError, match="overlaps"):
        manylane.hash_many("sm3", array[:20], out=array[19:39])
    assert manylane.hash_many("sm3", array[:20], out=array[20:]) is not None
    buffer = bytearray(32)
    with pytest.raises(ValueError, match="overlaps"):
        manylane.hash_many("sm3", [memoryview(buffer)[:5]], out=buffer)


@pytest.mark.parametrize(
    ("messages", "error", "text"),
    [
        ("text", TypeError, "string"),
        (b"bytes", TypeError, "one dimension"),
        (["text"], TypeError, "message 0: Strings must be encoded"),
        ([b"", 5], TypeError, "message 1"),
        (iter([b"", None]), TypeError, "message 1"),
        (5, TypeError, "neither"),
        (None, TypeError, "neither"),
        (np.zeros((2, 3), np.int8), TypeError, "uint8"),
        (np.zeros((2, 3), np.uint16), TypeError, "uint8"),
        (np.zeros((2, 3, 4), np.uint8), ValueError, "3 dimensions"),
        (np.uint8(5), TypeError, "neither"),
        (np.zeros((4, 6), np.uint8)[:, ::2], ValueError, "not contiguous"),
        (np.zeros((4, 6), np.uint8)[::-1], ValueError, "backwards"),
        (np.broadcast_to(np.zeros(5, np.uint8), (4, 5)), ValueError, "overlap"),
        (np.lib.stride_tricks.sliding_window_view(np.zeros(50, np.uint8), 8), ValueError, "overlap"),
        (np.array([b"a", None], object), TypeError, "one dimension"),
        (pa.array([b"a", None]), manylane.Error, "nulls"),
        (pa.array([1, 2]), TypeError, "format 'l'"),
        (pa.array(["a", "a"]).dictionary_encode(), TypeError, "dictionary"),
        (pa.chunked_array([[b"a"], [None]], pa.binary()), manylane.Error, "nulls"),
    ],
)
def test_bad_messages_are_refused(messages: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        manylane.hash_many("sm3", messages)


@pytest.mark.parametrize(
    ("offsets", "error"),
    [
        ({0, 1}, TypeError),
        (np.array([0.0, 1.0]), TypeError),
        (np.array([0, 1], np.uint8), TypeError),
        (np.array([0, 1], ">u4"), TypeError),
        (np.array([[0, 1]], np.uint32), ValueError),
        (np.array([0, 11], np.uint32), manylane.Error),
        (np.array([0, 5, 4], np.uint64), manylane.Error),
        (np.array([-1, 5], np.int64), manylane.Error),
        (np.array([0, -1], np.int32), manylane.Error),
        (np.array([0, 2**63], np.uint64), manylane.Error),
    ],
)
def test_bad_offsets_are_refused(offsets: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        manylane.hash_many("sm3", bytes(10), offsets=offsets)


def test_offsets_may_be_numbers() -> None:
    data = b"onetwothree"
    expected = b"".join(digests("sm3", [b"one", b"two", b"three"]))
    for offsets in ([0, 3, 6, 11], (0, 3, 6, 11)):
        assert manylane.hash_many("sm3", data, offsets=offsets).tobytes() == expected
    for bad, error in (([0, "3"], TypeError), ([0, -1], OverflowError), ([0, 12], manylane.Error), ([3, 0], manylane.Error)):
        with pytest.raises(error):
            manylane.hash_many("sm3", data, offsets=bad)


def test_offsets_may_begin_and_end_within_and_lie_anyhow() -> None:
    data = bytes(range(100))
    offsets = np.array([10, 0, 20, 0, 99, 0], np.uint32)[::2]
    expected = digests("sm3", [data[10:20], data[20:99]])
    assert manylane.hash_many("sm3", data, offsets=offsets).tobytes() == b"".join(expected)
    odd = np.frombuffer(b"x" + np.array([0, 3], np.uint64).tobytes(), np.uint8)[1:].view(np.uint64)
    assert manylane.hash_many("sm3", data, offsets=odd).tobytes() == digests("sm3", [data[:3]])[0]
    for none in (np.array([], np.uint32), np.array([7], np.uint32)):
        assert manylane.hash_many("sm3", data, offsets=none).tobytes() == b""


def test_misplaced_arguments_are_refused() -> None:
    array = rows(3, 4)
    for arguments in (
        {"offsets": np.array([0, 1], np.uint32)},
        {"stream": 1},
        {"threads": 0},
        {"threads": -1},
        {"threads": "two"},
        {"device": "tpu"},
        {"device": 5},
        {"progress": 5},
    ):
        with pytest.raises((ValueError, TypeError, OverflowError)):
            manylane.hash_many("sm3", array, **arguments)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="iterator"):
        manylane.hash_many("sm3", iter([b"a"]), out=bytearray(32))
    with pytest.raises(ValueError, match="md5"):
        manylane.hash_many("md5", array)


def test_hmac_many() -> None:
    array = rows(70, 90)
    messages = [row.tobytes() for row in array]
    keys = [bytes([i]) * (i * 3) for i in range(70)]
    for name in ("sm3", "sha3_256"):
        expected = [manylane.hmac(key, message, name) for key, message in zip(keys, messages, strict=True)]
        assert manylane.hmac_many(name, keys, messages) == expected
        assert manylane.hmac_many(name, tuple(keys), iter(messages)) == expected
        assert manylane.hmac_many(name, pa.array(keys, pa.binary()), array).tobytes() == b"".join(expected)
        chunks = pa.chunked_array([messages[:9], messages[9:]], pa.binary())
        assert manylane.hmac_many(name, keys, chunks).tobytes() == b"".join(expected)
        one = manylane.hmac_many(name, b"key", array)
        assert one.tobytes() == b"".join(manylane.hmac(b"key", message, name) for message in messages)
    with pytest.raises(manylane.Error, match="69 keys for 70 messages"):
        manylane.hmac_many("sm3", keys[1:], messages)
    with pytest.raises(manylane.Error, match="no HMAC"):
        manylane.hmac_many("kt128", keys, messages)
    with pytest.raises(ValueError, match="overlaps"):
        manylane.hmac_many("sm3", array[:, :32], messages, out=array.reshape(-1)[: 70 * 32])


def test_keys_of_an_iterator() -> None:
    keys, messages = [b"a", b"bc"], [b"x", b"y"]
    assert manylane.hmac_many("sm3", iter(keys), iter(messages)) == manylane.hmac_many("sm3", keys, messages)


def test_progress_counts_all_bytes() -> None:
    seen: list[tuple[int, int | None]] = []
    messages = rows(200, 1 << 20)
    manylane.hash_many("sm3", messages, progress=lambda done, total: seen.append((done, total)))
    total = messages.size
    assert seen == sorted(seen) and len(seen) >= 3
    assert seen[-1] == (total, total)
    seen.clear()
    manylane.hash_many("sm3", (b"x" for _ in range(100_000)), progress=lambda *news: seen.append(news))
    assert [done for done, _ in seen] == [65536, 100_000]
    assert {total for _, total in seen} == {None}


def test_a_step_has_messages_for_all_lanes() -> None:
    array = np.zeros((8, 20 << 20), np.uint8)
    for messages in (array, list(array)):
        seen: list[tuple[int, int | None]] = []
        manylane.hash_many("sm3", messages, progress=lambda *news: seen.append(news), threads=2)
        # Far more bytes than a step has otherwise, and too few messages for two threads.
        assert seen == [(array.size, array.size)]
    # Messages without bytes cost something too.
    seen = []
    manylane.hash_many("sm3", np.zeros((3_000_000, 0), np.uint8), progress=lambda *news: seen.append(news))
    assert len(seen) > 1


def test_an_exception_of_the_callback_ends_the_work() -> None:
    calls = []

    def stop(done: int, total: int | None) -> None:
        calls.append(done)
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        manylane.hash_many("sm3", rows(200, 1 << 20), progress=stop)
    assert len(calls) == 1


class Tensor:
    """What has DLPack and no buffer, as a tensor of PyTorch on the CPU."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **arguments: Any) -> Any:
        return self.array.__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


class OldTensor(Tensor):
    """The same from before DLPack 1.0."""

    def __dlpack__(self, stream: Any = None) -> Any:
        return self.array.__dlpack__()


@pytest.mark.parametrize("kind", [Tensor, OldTensor])
def test_tensors_of_the_host(kind: type[Tensor]) -> None:
    array = rows(30, 40)
    expected = b"".join(digests("sm3", [row.tobytes() for row in array]))
    assert manylane.hash_many("sm3", kind(array)).tobytes() == expected
    part = rows(30, 60)[::2, 3:20]
    assert manylane.hash_many("sm3", kind(part)).tobytes() == b"".join(digests("sm3", [r.tobytes() for r in part]))
    for bad in (np.zeros((3, 4), np.float32), np.zeros(5, np.uint8), np.zeros((3, 4), np.uint8)[::-1]):
        with pytest.raises((TypeError, ValueError)):
            manylane.hash_many("sm3", kind(bad))


def test_capsules_that_are_none_are_refused() -> None:
    class Liar:
        def __init__(self, **protocol: Any) -> None:
            self.__dict__ |= protocol

    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    for capsule in (None, 5, (None, None), new(1, b"other", None)):
        for protocol in ("__arrow_c_array__", "__arrow_c_stream__"):
            with pytest.raises((TypeError, ValueError)):
                manylane.hash_many("sm3", Liar(**{protocol: lambda c=capsule: c}))
        with pytest.raises((TypeError, ValueError, AttributeError)):
            manylane.hash_many(
                "sm3", Liar(__dlpack__=lambda c=capsule, **_: c, __dlpack_device__=lambda: (1, 0))
            )
    for device in (None, (), (1,), ("a", "b"), (99, 0), (2, -1)):
        with pytest.raises((TypeError, ValueError, IndexError, OverflowError)):
            manylane.hash_many("sm3", Liar(__dlpack__=lambda **_: None, __dlpack_device__=lambda d=device: d))


def test_devices_and_their_choice() -> None:
    first = manylane.devices()[0]
    assert first.id == "cpu" and first.units >= 1
    assert "many messages" in manylane.explain("sha3_256", device="cpu", threads=1)
    with manylane.use_device("cpu", threads=1):
        assert "threads: 1" in manylane.explain()
        with manylane.use_device("cpu", threads=3):
            assert "threads: 3" in manylane.explain()
            assert "threads: 2" in manylane.explain(threads=2)
        assert manylane.hash_many("sm3", [b"abc"]) == digests("sm3", [b"abc"])
    with pytest.raises(manylane.Error, match="unknown device"), manylane.use_device("tpu"):
        pass
