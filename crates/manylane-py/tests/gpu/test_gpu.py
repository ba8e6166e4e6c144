"""Arrays on a GPU, which is emulated: protocols, streams, results, refusals."""

from __future__ import annotations

import ctypes
import gc
import multiprocessing
import sys
import threading
import time
import weakref
from typing import Any

import emulator
import manylane
import numpy as np
import pytest
from emulator import DlpackArray, InterfaceArray, Stream, View


def rows(count: int, length: int) -> np.ndarray:
    return np.random.default_rng(count + length).integers(0, 256, (count, length), dtype=np.uint8)


def digests(name: str, array: np.ndarray) -> bytes:
    return b"".join(manylane.new(name, row.tobytes()).digest() for row in array)


KINDS: list[Any] = [InterfaceArray, DlpackArray, lambda array: DlpackArray(array, versioned=False)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", ["sm3", "sha3_256", "sha3_512", "shake_128"])
@pytest.mark.parametrize("shape", [(1, 0), (100, 55), (70, 64), (33, 200), (0, 9)])
def test_rows(kind: Any, name: str, shape: tuple[int, int]) -> None:
    array = rows(*shape)
    if "shake" in name:
        expected = b"".join(manylane.new(name, row.tobytes()).digest(32) for row in array)
    else:
        expected = digests(name, array)
    result = manylane.hash_many(name, kind(array))
    assert isinstance(result, manylane.DeviceArray)
    assert result.tobytes() == expected
    assert (result.device, len(result), result.nbytes) == ("cuda:0", shape[0], len(expected))
    assert f"{shape[0]} x " in repr(result)


def test_rows_apart() -> None:
    whole = rows(60, 100)
    part = whole[::2, 10:90]
    result = manylane.hash_many("sm3", InterfaceArray(part))
    assert result.tobytes() == digests("sm3", part)


@pytest.mark.parametrize("kind", [InterfaceArray, DlpackArray])
@pytest.mark.parametrize("dtype", [np.uint32, np.int32, np.uint64, np.int64])
@pytest.mark.parametrize("on_device", [True, False])
def test_offsets(kind: Any, dtype: Any, on_device: bool) -> None:
    data = rows(1, 10_000)[0]
    offsets = np.sort(np.random.default_rng(5).integers(0, 10_000, 300)).astype(dtype)
    expected = b"".join(
        manylane.sm3(data[a:b].tobytes()).digest() for a, b in zip(offsets, offsets[1:], strict=False)
    )
    for _ in range(3):
        given = kind(offsets) if on_device else offsets
        assert manylane.hash_many("sm3", kind(data), offsets=given).tobytes() == expected


def test_results_are_arrays_themselves() -> None:
    array = rows(50, 32)
    once = manylane.hash_many("sm3", DlpackArray(array))
    twice = manylane.hash_many("sm3", once)
    expected = np.frombuffer(digests("sm3", array), np.uint8).reshape(50, 32)
    assert twice.tobytes() == digests("sm3", expected)
    interface = once.__cuda_array_interface__
    assert interface["shape"] == (50, 32) and interface["typestr"] == "|u1"
    assert interface["stream"] in (1, None) and interface["version"] == 3
    assert once.__dlpack_device__() == (2, 0)
    # Consumed by renaming, as consumers do, and deleted by the deleter; or dropped.
    for version in (None, (1, 0)):
        name = b"dltensor" if version is None else b"dltensor_versioned"
        capsule = once.__dlpack__(stream=1, max_version=version)
        is_valid = ctypes.pythonapi.PyCapsule_IsValid
        is_valid.argtypes = [ctypes.py_object, ctypes.c_char_p]
        assert is_valid(capsule, name) == 1
        del capsule
    for bad in ({"stream": 0}, {"stream": -2}, {"copy": True}, {"dl_device": (1, 0)}):
        with pytest.raises((ValueError, BufferError)):
            once.__dlpack__(**bad)
    assert once.tobytes() == expected.tobytes()


def test_out_is_filled_and_returned() -> None:
    array = rows(40, 64)
    for kind in (InterfaceArray, DlpackArray):
        for shape in ((40, 32), (1280,)):
            out = kind(np.zeros(shape, np.uint8))
            assert manylane.hash_many("sm3", kind(array), out=out) is out
            assert out.memory.read() == digests("sm3", array)


def test_a_bad_out_is_refused() -> None:
    array = InterfaceArray(rows(40, 64))
    bad: list[tuple[Any, type[Exception], str]] = [
        (np.zeros((40, 32), np.uint8), manylane.DeviceError, "not on cuda:0"),
        (bytearray(1280), TypeError, "on the messages' GPU"),
        (InterfaceArray(np.zeros((40, 31), np.uint8)), ValueError, "shape"),
        (InterfaceArray(np.zeros((40, 32), np.int32)), (TypeError, ValueError), ""),  # type: ignore[list-item]
        (InterfaceArray(np.zeros((40, 64), np.uint8)[:, ::2]), TypeError, "contiguous"),
        (InterfaceArray(np.zeros((40, 32), np.uint8), 1), manylane.DeviceError, "not on cuda:0"),
        (InterfaceArray(np.zeros((41, 32), np.uint8)[1:].reshape(40, 32)), None, ""),  # type: ignore[list-item]
        (DlpackArray(np.zeros((40, 32), np.uint8), read_only=True), ValueError, "read-only"),
        (array, ValueError, "shape"),
    ]
    for out, error, text in bad:
        if error is None:
            assert manylane.hash_many("sm3", array, out=out) is out
            continue
        with pytest.raises(error, match=text or None):
            manylane.hash_many("sm3", array, out=out)
    odd = InterfaceArray(np.zeros(1281, np.uint8)[1:])
    with pytest.raises(ValueError, match="multiple of 16"):
        manylane.hash_many("sm3", array, out=odd)
    both = InterfaceArray(np.zeros((40, 32), np.uint8))
    with pytest.raises(ValueError, match="overlaps"):
        manylane.hash_many("sm3", both, out=both)
    with pytest.raises(TypeError):
        manylane.hash_many("sm3", rows(40, 64), out=array)


def test_the_callers_stream_is_used() -> None:
    stream, array = Stream(), DlpackArray(rows(40, 64))
    emulator.configure("launch_ns=30000000")
    result = manylane.hash_many("sm3", array, stream=stream)
    emulator.configure("launch_ns=0")
    assert array.asked == [stream.handle]
    assert result.__cuda_array_interface__["stream"] == stream.handle
    assert result.tobytes() == digests("sm3", array.array)
    manylane.hash_many("sm3", array, stream=stream.handle)
    manylane.hash_many("sm3", array, stream=1)
    manylane.hash_many("sm3", array)
    assert array.asked[1:] == [stream.handle, 1, 1]
    # The stream that an array names.
    named = InterfaceArray(array.array, stream=stream.handle)
    emulator.configure("launch_ns=30000000")
    result = manylane.hash_many("sm3", named)
    emulator.configure("launch_ns=0")
    assert result.__cuda_array_interface__["stream"] == stream.handle
    result.synchronize()
    # What is done needs no stream, which may be gone.
    assert result.__cuda_array_interface__["stream"] is None
    # Another one waits for it.
    result = manylane.hash_many("sm3", named, stream=Stream())
    assert result.tobytes() == digests("sm3", array.array)


def test_work_is_in_the_order_of_the_stream() -> None:
    stream, other = Stream(), Stream()
    array = rows(64, 64)
    emulator.configure("launch_ns=30000000")
    try:
        first = manylane.hash_many("sm3", InterfaceArray(array), stream=stream)
        # On another stream, which has to wait for what the first computes.
        second = manylane.hash_many("sm3", first, stream=other)
        third = manylane.hash_many("sm3", second)
    finally:
        emulator.configure("launch_ns=0")
    expected = array
    for result in (first, second, third):
        expected = np.frombuffer(digests("sm3", expected), np.uint8).reshape(64, 32)
        assert result.tobytes() == expected.tobytes()


def test_what_is_read_is_kept_until_it_has_been() -> None:
    emulator.configure("launch_ns=30000000")
    try:
        # The emulator aborts if memory is freed that work under way uses.
        result = manylane.hash_many("sm3", DlpackArray(rows(64, 100)), stream=Stream())
        gc.collect()
        out = InterfaceArray(np.zeros((64, 32), np.uint8))
        manylane.hash_many("sm3", InterfaceArray(rows(64, 100)), out=out, stream=Stream())
        expected = digests("sm3", rows(64, 100))
        assert result.tobytes() == expected
        assert out.memory.read() == expected
    finally:
        emulator.configure("launch_ns=0")


def test_nothing_is_kept_that_its_own_stream_orders() -> None:
    stream = Stream()
    array = InterfaceArray(rows(3, 4), stream=stream.handle)
    gone = weakref.ref(array)
    manylane.hash_many("sm3", array)
    stream.synchronize()
    del array
    assert gone() is None


def test_what_is_kept_is_let_go_when_it_is_done() -> None:
    array, stream = DlpackArray(rows(64, 100)), Stream()
    for end in ("tobytes", "synchronize"):
        result = manylane.hash_many("sm3", array, stream=stream)
        references = sys.getrefcount(array)
        getattr(result, end)()
        assert sys.getrefcount(array) < references
    gone = weakref.ref(array)
    result = manylane.hash_many("sm3", array, stream=stream)
    stream.synchronize()
    del array, result
    assert gone() is None


def test_out_overlaps_nothing_that_is_read() -> None:
    both = InterfaceArray(np.arange(40 * 32, dtype=np.uint16).astype(np.uint8).reshape(40, 32))
    messages = InterfaceArray(rows(40, 64))
    with pytest.raises(ValueError, match="overlaps"):
        manylane.hmac_many("sm3", both, messages, out=both)
    # Offsets are copied, so results may go where they were.
    numbers = np.arange(160, dtype=np.uint64)
    memory, data = InterfaceArray(numbers), rows(1, 4096)[0]
    out = View(memory, (40, 32), "|u1")
    manylane.hash_many("sm3", InterfaceArray(data), offsets=View(memory, (41,), "<u8"), out=out)
    assert memory.memory.read() == b"".join(manylane.sm3(data[i : i + 1].tobytes()).digest() for i in range(40))


def test_each_thread_has_its_own_stream_2() -> None:
    data, results = rows(1, 40_000)[0], {}
    array, offsets = InterfaceArray(data), np.arange(0, 40_001, 100, dtype=np.uint32)
    expected = digests("sm3", data.reshape(-1, 100))
    barrier = threading.Barrier(2)

    def work(name: int) -> None:
        barrier.wait()
        for _ in range(10):
            count = 400 if name else 40
            results[name] = manylane.hash_many("sm3", array, offsets=offsets[: count + 1], stream=2)
            assert results[name].tobytes() == expected[: 32 * count]
        emulator.configure("launch_ns=30000000")
        results[name] = manylane.hash_many("sm3", array, offsets=offsets, stream=2)

    threads = [threading.Thread(target=work, args=(name,)) for name in (0, 1)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    emulator.configure("launch_ns=0")
    # The number would mean this thread's stream.
    assert results[0].__cuda_array_interface__["stream"] is None
    assert [results[name].tobytes() for name in (0, 1)] == [expected] * 2


def test_memory_of_one_threads_stream_2_is_not_the_others() -> None:
    array, addresses = InterfaceArray(rows(40, 64)), []

    def address() -> None:
        result = manylane.hash_many("sm3", array, stream=2)
        addresses.append(result.__cuda_array_interface__["data"][0])

    for _ in range(2):
        thread = threading.Thread(target=address)
        thread.start()
        thread.join()
    assert addresses[0] != addresses[1]


def test_results_outlive_their_stream() -> None:
    array = rows(40, 64)
    stream = Stream()
    result = manylane.hash_many("sm3", InterfaceArray(array), stream=stream)
    kept = sys.getrefcount(stream)
    stream.synchronize()
    number = manylane.hash_many("sm3", InterfaceArray(array), stream=stream.handle)
    stream.destroy()
    # By number nobody can keep it.
    assert number.tobytes() == result.tobytes() == digests("sm3", array)
    result.synchronize()
    assert number.__cuda_array_interface__["stream"] is None
    del result
    assert sys.getrefcount(stream) < kept


def test_out_is_ordered_for_its_own_stream() -> None:
    array = rows(40, 64)
    one, other = Stream(), Stream()
    messages = InterfaceArray(array, stream=one.handle)
    out = InterfaceArray(np.zeros((40, 32), np.uint8), stream=other.handle)
    manylane.hash_many("sm3", messages, out=out)
    other_messages = InterfaceArray(array[::-1].copy(), stream=one.handle)
    emulator.configure("launch_ns=50000000")
    manylane.hash_many("sm3", other_messages, out=out)
    emulator.configure("launch_ns=0")
    assert out.memory.read(other) == digests("sm3", array[::-1])


def test_memory_that_another_stream_has_is_not_given_out_again() -> None:
    array, stream = InterfaceArray(rows(40, 64)), Stream()
    result = manylane.hash_many("sm3", array)
    for how in (stream.handle, -1):
        capsule = result.__dlpack__(stream=how)
        live = emulator.count("live_bytes")
        del capsule, result
        assert emulator.count("live_bytes") < live
        result = manylane.hash_many("sm3", array)
    # On its own stream it is.
    address = result.__cuda_array_interface__["data"][0]
    capsule = result.__dlpack__(stream=1)
    del capsule, result
    assert manylane.hash_many("sm3", array).__cuda_array_interface__["data"][0] == address


def test_kept_memory_can_be_given_back() -> None:
    array = InterfaceArray(rows(30_000, 8))
    manylane.free_memory()
    # As much as the device has: 70 results of a mebibyte, each on its own stream.
    emulator.configure("memory=67108864")
    try:
        for stream in [Stream() for _ in range(70)]:
            manylane.hash_many("sm3", array, stream=stream).synchronize()
        live = emulator.count("live_bytes")
        manylane.free_memory()
        assert emulator.count("live_bytes") < live
    finally:
        emulator.configure("memory=1073741824")


def test_threads_run_while_memory_is_freed() -> None:
    array = InterfaceArray(rows(40, 64))
    results = [manylane.hash_many("sm3", array) for _ in range(10)]
    results[0].tobytes()
    emulator.configure("launch_ns=500000000")
    last = manylane.hash_many("sm3", array)
    emulator.configure("launch_ns=0")
    ran, stop = [0], threading.Event()

    def run() -> None:
        while not stop.wait(0.001):
            ran[0] += 1

    thread = threading.Thread(target=run)
    thread.start()
    before = ran[0]
    # More than are kept: the driver waits for the launch to free the last.
    del results
    during = ran[0] - before
    stop.set()
    thread.join()
    last.synchronize()
    assert during > 0


class Torch:
    """As much of PyTorch as it takes to be known as that."""

    class Tensor(DlpackArray):
        device = "cuda:0"

        def record_stream(self, stream: Any) -> None:
            self.recorded = stream

    class cuda:
        @staticmethod
        def current_stream(device: str) -> Any:
            assert device == "cuda:0"
            return Torch.stream

    stream: Any


def test_pytorch_is_told_of_its_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream()
    monkeypatch.setitem(sys.modules, "torch", Torch)
    Torch.stream = type("Stream", (), {"cuda_stream": stream.handle})()

    class Parameter(Torch.Tensor):
        pass

    array = Parameter(rows(40, 64))
    gone = weakref.ref(array)
    assert manylane.hash_many("sm3", array).tobytes() == digests("sm3", array.array)
    assert array.asked == [stream.handle] and array.recorded is Torch.stream
    # PyTorch gives the memory out again behind the work, so that nothing keeps the tensor.
    del array
    assert gone() is None


def test_a_tensor_is_where_its_object_says() -> None:
    array = DlpackArray(rows(40, 64))
    array.__dlpack_device__ = lambda: (1, 0)  # type: ignore[method-assign]
    wrong = type("Wrong", (), {"__dlpack_device__": lambda self: (1, 0), "__dlpack__": lambda self, **_: array.__dlpack__()})
    with pytest.raises(BufferError, match="another device"):
        manylane.hash_many("sm3", wrong())


def test_a_single_row_may_have_any_stride() -> None:
    array = InterfaceArray(rows(1, 64), strides=(-64, 1))
    assert manylane.hash_many("sm3", array).tobytes() == digests("sm3", array.array)


@pytest.mark.parametrize("stream", [0, -1, True, "1", 1.5, object(), 2**70])
def test_bad_streams_are_refused(stream: Any) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError)):
        manylane.hash_many("sm3", InterfaceArray(rows(3, 4)), stream=stream)


def test_memory_is_used_again() -> None:
    array = InterfaceArray(rows(300, 64))
    manylane.hash_many("sm3", array)
    before = emulator.count("allocations")
    for _ in range(20):
        manylane.hash_many("sm3", array)
    assert emulator.count("allocations") == before


def test_results_outlive_what_they_came_from() -> None:
    array = rows(30, 64)
    results = [manylane.hash_many("sm3", InterfaceArray(array)) for _ in range(12)]
    capsules = [result.__dlpack__(stream=-1) for result in results]
    assert len({result.__cuda_array_interface__["data"][0] for result in results}) == 12
    assert all(result.tobytes() == digests("sm3", array) for result in results)
    del results
    gc.collect()
    del capsules


def test_other_devices() -> None:
    array = rows(30, 64)
    for kind in (InterfaceArray, DlpackArray):
        result = manylane.hash_many("sm3", kind(array, 1))
        assert result.device == "cuda:1" and result.tobytes() == digests("sm3", array)
        assert manylane.hash_many("sm3", kind(array, 1), device="cuda:1").device == "cuda:1"
    for device in ("cpu", "cuda:1", "hip"):
        with pytest.raises(manylane.Error, match="the messages are on cuda:0"):
            manylane.hash_many("sm3", InterfaceArray(array), device=device)
    with manylane.use_device("cuda:1"), pytest.raises(manylane.Error, match="on cuda:0"):
        manylane.hash_many("sm3", InterfaceArray(array))
    offsets = InterfaceArray(np.array([0, 5], np.uint32), 1)
    with pytest.raises(manylane.DeviceError, match="offsets are not on cuda:0"):
        manylane.hash_many("sm3", InterfaceArray(array.reshape(-1)), offsets=offsets)
    assert [device.id for device in manylane.devices()] == ["cpu", "cuda:0", "cuda:1"]
    with pytest.raises(manylane.DeviceError), manylane.use_device("cuda:7"):
        pass


def test_host_messages_on_a_gpu() -> None:
    array = rows(500, 100)
    assert manylane.hash_many("sm3", array, device="cuda:0").tobytes() == digests("sm3", array)
    with manylane.use_device("cuda:0"):
        assert "cuda:0" in manylane.explain()


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 1},
        {"version": None},
        {"mask": 5},
        {"data": (12345, False)},
        {"data": (2**63 + 5, False)},
        {"data": None},
        {"data": 5},
        {"shape": (2**40, 64)},
        {"shape": (-1, 64)},
        {"shape": None},
        {"shape": (3,)},
        {"strides": (0, 1)},
        {"strides": (-64, 1)},
        {"strides": (64, 2)},
        {"strides": (64,)},
        {"strides": (2**62, 1)},
        {"typestr": "<f4"},
        {"typestr": "|i1"},
        {"typestr": None},
        {"stream": 0},
        {"stream": "x"},
    ],
)
def test_bad_interfaces_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError)):
        manylane.hash_many("sm3", InterfaceArray(rows(40, 64), **changes))


@pytest.mark.parametrize("offsets", [[0, 101], [5, 4], [-1, 3], [0, 2**31 - 1]])
def test_bad_offsets_are_refused_before_the_gpu_sees_them(offsets: list[int]) -> None:
    data, numbers = InterfaceArray(rows(1, 100)[0]), np.array(offsets, np.int32)
    before = emulator.count("launches")
    for given in (numbers, InterfaceArray(numbers), DlpackArray(numbers)):
        with pytest.raises(manylane.Error, match="offset"):
            manylane.hash_many("sm3", data, offsets=given)
    for bad in (np.zeros(3, np.uint8), np.zeros(3), np.zeros((2, 2), np.int32)):
        with pytest.raises((TypeError, ValueError)):
            manylane.hash_many("sm3", data, offsets=InterfaceArray(bad))
    assert emulator.count("launches") == before
    with pytest.raises(TypeError):
        manylane.hash_many("sm3", InterfaceArray(rows(2, 5)), offsets=numbers)


def test_hmac_many() -> None:
    keys, messages = rows(50, 20), rows(50, 70)
    expected = b"".join(
        manylane.hmac(key.tobytes(), message.tobytes()) for key, message in zip(keys, messages, strict=True)
    )
    result = manylane.hmac_many("sm3", DlpackArray(keys), DlpackArray(messages))
    assert result.tobytes() == expected
    with pytest.raises(manylane.Error, match="keys for"):
        manylane.hmac_many("sm3", DlpackArray(keys[1:]), DlpackArray(messages))
    with pytest.raises(manylane.Error, match="the keys are not"):
        manylane.hmac_many("sm3", keys, DlpackArray(messages))
    with pytest.raises(manylane.Error, match="sm3 only"):
        manylane.hmac_many("sha3_256", DlpackArray(keys), DlpackArray(messages))
    with pytest.raises(manylane.Error, match="kt128"):
        manylane.hash_many("kt128", DlpackArray(messages))


def test_failures_of_the_device_are_exceptions() -> None:
    emulator.configure("memory=1")
    try:
        with pytest.raises(manylane.DeviceError, match="memory"):
            big()
    finally:
        emulator.configure("memory=1073741824")
    # What is kept is given back before the device is said to be full.
    manylane.free_memory()
    emulator.configure("fail_alloc=1")
    try:
        assert len(big()) == 100_000
    finally:
        emulator.configure("fail_alloc=0")


def big() -> Any:
    """A result for which there is no memory in the pool."""
    array = InterfaceArray.__new__(InterfaceArray)
    memory = MEMORY
    array.__cuda_array_interface__ = {
        "shape": (100_000, 1),
        "typestr": "|u1",
        "data": (memory.address, False),
        "strides": None,
        "stream": None,
        "version": 3,
    }
    return manylane.hash_many("sm3", array)


MEMORY = emulator.Memory(bytes(100_000), 0)


def in_child(_: int) -> str:
    try:
        manylane.hash_many("sm3", ARRAY)
    except manylane.DeviceError as error:
        return str(error)
    return "no error"


ARRAY = InterfaceArray(rows(3, 4))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_is_told() -> None:
    manylane.hash_many("sm3", ARRAY)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert "fork" in pool.map(in_child, [0])[0]
    # What the child did with its copies of our objects did nothing to ours.
    assert manylane.hash_many("sm3", ARRAY).tobytes() == digests("sm3", rows(3, 4))
