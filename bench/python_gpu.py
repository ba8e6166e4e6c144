"""What hash_many of PyTorch's and CuPy's arrays on a GPU takes, against the kernel alone.

    python3 bench/python_gpu.py [--output FILE] [--seconds S]

needs the package, and PyTorch or CuPy. The kernel's time is that between two CUDA events around one call whose launch has been
prepared while the GPU was kept busy, so that nothing but the kernel is between them. Calls are timed by the clock: enqueued one
after another, waited for at the end. Rates are medians of rounds in which both alternate; digests are checked against the CPU's.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from typing import Any

import manylane

SHAPES = [(100_000, 1024), (1_000_000, 1024), (4_000_000, 64), (100_000, 64)]
NAMES = ["sm3", "sha3_256"]


class Torch:
    """PyTorch's arrays, taken by DLPack."""

    name = "torch"

    def __init__(self) -> None:
        import torch

        self.library, self.version = torch, torch.__version__
        self.side = torch.cuda.Stream()

    def rows(self, count: int, length: int) -> Any:
        return self.library.randint(0, 256, (count, length), dtype=self.library.uint8, device="cuda")

    def empty(self, count: int, length: int) -> Any:
        return self.library.empty((count, length), dtype=self.library.uint8, device="cuda")

    def host(self, array: Any) -> bytes:
        return bytes(array.cpu().numpy().tobytes())

    def taken(self, result: Any) -> Any:
        return self.library.from_dlpack(result)

    def on_side(self) -> Any:
        return self.library.cuda.stream(self.side)

    def wait(self) -> None:
        self.library.cuda.synchronize()

    def kernel_seconds(self, call: Callable[[], object]) -> float:
        cuda = self.library.cuda
        start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
        cuda._sleep(2_000_000)
        start.record()
        call()
        end.record()
        cuda.synchronize()
        return float(start.elapsed_time(end)) / 1e3

    def gpu(self) -> str:
        return str(self.library.cuda.get_device_name())


class CuPy:
    """CuPy's arrays, taken by DLPack and, wrapped, by the CUDA array interface."""

    name = "cupy"

    def __init__(self) -> None:
        import cupy

        self.library, self.version = cupy, cupy.__version__
        self.side = cupy.cuda.Stream(non_blocking=True)
        self.busy = cupy.RawKernel(
            'extern "C" __global__ void busy(long long n) { long long s = clock64(); while (clock64() - s < n); }', "busy"
        )

    def rows(self, count: int, length: int) -> Any:
        return self.library.random.randint(0, 256, (count, length), dtype=self.library.uint8)

    def empty(self, count: int, length: int) -> Any:
        return self.library.empty((count, length), dtype=self.library.uint8)

    def host(self, array: Any) -> bytes:
        return bytes(self.library.asnumpy(array).tobytes())

    def taken(self, result: Any) -> Any:
        return self.library.from_dlpack(result)

    def on_side(self) -> Any:
        return self.side

    def wait(self) -> None:
        self.library.cuda.runtime.deviceSynchronize()

    def kernel_seconds(self, call: Callable[[], object]) -> float:
        cuda = self.library.cuda
        start, end = cuda.Event(), cuda.Event()
        self.busy((1,), (1,), (2_000_000,))
        start.record()
        call()
        end.record()
        end.synchronize()
        return float(cuda.get_elapsed_time(start, end)) / 1e3

    def gpu(self) -> str:
        return str(self.library.cuda.runtime.getDeviceProperties(0)["name"].decode())


class Interface:
    """An array that shows only its CUDA array interface."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def __cuda_array_interface__(self) -> Any:
        return self.array.__cuda_array_interface__


def check(library: Any, name: str, rows: Any, digests: Any, count: int, length: int) -> None:
    """Some digests against the CPU's."""
    for i in {0, 1, count // 2, count - 1}:
        expected = manylane.new(name, library.host(rows[i])).digest()
        assert library.host(digests[i]) == expected, (library.name, name, count, length, i)


def clock(library: Any, call: Callable[[], object], seconds: float) -> float:
    """Seconds of a call among as many as take that long."""
    library.wait()
    calls, begun = 0, time.perf_counter()
    # In bursts that a stream's queue holds.
    while time.perf_counter() - begun < seconds:
        for _ in range(50):
            call()
        library.wait()
        calls += 50
    return (time.perf_counter() - begun) / calls


def measure(library: Any, name: str, count: int, length: int, seconds: float) -> dict[str, Any]:
    rows, out = library.rows(count, length), library.empty(count, 32)
    library.wait()
    into = lambda: manylane.hash_many(name, rows, out=out)  # noqa: E731
    shown = Interface(rows)
    arms: dict[str, Callable[[], object]] = {
        "out": into,
        "new": lambda: manylane.hash_many(name, rows),
        "new, taken": lambda: library.taken(manylane.hash_many(name, rows)),
        "array interface": lambda: manylane.hash_many(name, shown),
    }
    into()
    library.wait()
    check(library, name, rows, out, count, length)
    with library.on_side():
        result = library.taken(manylane.hash_many(name, rows))
        check(library, name, rows, result, count, length)
    kernel, times = [], {arm: [] for arm in arms}
    for _ in range(7):
        kernel.append(statistics.median(library.kernel_seconds(into) for _ in range(5)))
        for arm, call in arms.items():
            times[arm].append(clock(library, call, seconds))
    total, best = count * length, statistics.median(kernel)
    record = {
        "library": library.name,
        "function": name,
        "rows": count,
        "length": length,
        "kernel_gbs": total / best / 1e9,
    }
    for arm, values in times.items():
        middle = statistics.median(values)
        record[arm] = {"gbs": total / middle / 1e9, "of_kernel": best / middle, "microseconds": middle * 1e6}
    return record


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output")
    parser.add_argument("--seconds", type=float, default=0.1)
    options = parser.parse_args()
    libraries = []
    for kind in (Torch, CuPy):
        try:
            libraries.append(kind())
        except ImportError as error:
            print(f"without {kind.name}: {error}")
    if not libraries:
        raise SystemExit("neither PyTorch nor CuPy is here")
    records = []
    for library in libraries:
        for name in NAMES:
            for count, length in SHAPES:
                record = measure(library, name, count, length, options.seconds)
                records.append(record)
                shares = ", ".join(f"{arm} {value['of_kernel']:.3f}" for arm, value in record.items() if isinstance(value, dict))
                print(f"{library.name} {name} {count} x {length}: kernel {record['kernel_gbs']:.1f} GB/s; {shares}", flush=True)
    result = {
        "what": "hash_many of arrays on a GPU from Python",
        "gpu": libraries[0].gpu(),
        "python": platform.python_version(),
        "manylane": manylane.__version__,
        "libraries": {library.name: library.version for library in libraries},
        "records": records,
    }
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
