"""Arrays on an emulated GPU, as another library would have them: by CUDA's driver and the two protocols alone."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

driver = ctypes.CDLL("libcuda.so.1")
_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def call(name: str, *arguments: Any) -> None:
    """Calls a function of the driver, which must succeed."""
    code = getattr(driver, name)(*arguments)
    assert code == 0, f"{name}: {code}"


call("cuInit", 0)
_contexts = {}
for _ordinal in (0, 1):
    _contexts[_ordinal] = ctypes.c_void_p()
    call("cuDevicePrimaryCtxRetain", ctypes.byref(_contexts[_ordinal]), _ordinal)


def use(ordinal: int) -> None:
    """Makes a device current on this thread."""
    call("cuCtxSetCurrent", _contexts[ordinal])


def count(name: str, ordinal: int = 0) -> int:
    """How often something has happened on a device."""
    function = driver.manylane_emulator_count
    function.restype = ctypes.c_uint64
    return int(function(ordinal, name.encode()))


def configure(settings: str) -> None:
    """Changes settings of the emulator."""
    assert driver.manylane_emulator_configure(settings.encode()) == 0


class Stream:
    """A stream, which CuPy and PyTorch would give the attribute of."""

    def __init__(self, ordinal: int = 0) -> None:
        use(ordinal)
        handle = ctypes.c_void_p()
        call("cuStreamCreate", ctypes.byref(handle), 1)
        self.handle = handle.value or 0

    def __cuda_stream__(self) -> tuple[int, int]:
        return (0, self.handle)

    def synchronize(self) -> None:
        call("cuStreamSynchronize", ctypes.c_void_p(self.handle))

    def destroy(self) -> None:
        call("cuStreamDestroy_v2", ctypes.c_void_p(self.handle))


class Memory:
    """Memory of a device, freed with this."""

    def __init__(self, data: bytes, ordinal: int) -> None:
        use(ordinal)
        self.ordinal, self.size = ordinal, len(data)
        address = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(1, len(data))))
        self.address = address.value
        if data:
            call("cuMemcpyHtoDAsync_v2", address, data, ctypes.c_size_t(len(data)), None)
            call("cuStreamSynchronize", None)

    def read(self, stream: Stream | None = None) -> bytes:
        """All of it: behind what is on a stream or, without one, on any."""
        use(self.ordinal)
        if stream is None:
            call("cuCtxSynchronize")
        else:
            stream.synchronize()
        data = ctypes.create_string_buffer(max(1, self.size))
        call("cuMemcpyDtoHAsync_v2", data, ctypes.c_uint64(self.address), ctypes.c_size_t(self.size), None)
        call("cuStreamSynchronize", None)
        return data.raw[: self.size]

    def __del__(self) -> None:
        use(self.ordinal)
        call("cuMemFree_v2", ctypes.c_uint64(self.address))


class InterfaceArray:
    """An array with the CUDA array interface, as Numba's."""

    def __init__(self, array: np.ndarray, ordinal: int = 0, *, stream: int | None = None, **changes: Any) -> None:
        base = array if array.base is None or not isinstance(array.base, np.ndarray) else array.base
        self.memory = Memory(base.tobytes() if array is base else base.tobytes(), ordinal)
        offset = array.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        self.array = array
        self.__cuda_array_interface__ = {
            "shape": array.shape,
            "strides": array.strides if array is not base else None,
            "typestr": array.dtype.str,
            "data": (self.memory.address + offset, False),
            "stream": stream,
            "version": 3,
        } | changes


class View:
    """Other items of an array's memory."""

    def __init__(self, base: InterfaceArray, shape: tuple[int, ...], dtype: str) -> None:
        self.base = base
        changes = {"shape": shape, "typestr": dtype, "strides": None}
        self.__cuda_array_interface__ = base.__cuda_array_interface__ | changes


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    ]


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("manager", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _ManagedVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


class DlpackArray:
    """An array with DLPack, as PyTorch's; `asked` has the streams that it was exported for."""

    def __init__(self, array: np.ndarray, ordinal: int = 0, *, versioned: bool = True, read_only: bool = False) -> None:
        self.memory = Memory(np.ascontiguousarray(array).tobytes(), ordinal)
        self.array, self.versioned, self.read_only = array, versioned, read_only
        self.asked: list[int | None] = []
        self._shape = (ctypes.c_int64 * array.ndim)(*array.shape)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (2, self.memory.ordinal)

    def __dlpack__(self, *, stream: int | None = None, max_version: tuple[int, int] | None = None) -> Any:
        self.asked.append(stream)
        if max_version is not None and not self.versioned:
            raise TypeError("unexpected keyword argument 'max_version'")
        code = {"u": 1, "i": 0, "f": 2}[self.array.dtype.kind]
        tensor = _Tensor(
            data=self.memory.address,
            device_type=2,
            device_id=self.memory.ordinal,
            ndim=self.array.ndim,
            code=code,
            bits=8 * self.array.dtype.itemsize,
            lanes=1,
            shape=ctypes.addressof(self._shape),
        )
        # Without a deleter: the capsule's owner keeps all of it.
        if self.versioned:
            self._managed: Any = _ManagedVersioned(major=1, minor=0, flags=int(self.read_only), tensor=tensor)
            return _new_capsule(ctypes.addressof(self._managed), b"dltensor_versioned", None)
        self._managed = _Managed(tensor=tensor)
        return _new_capsule(ctypes.addressof(self._managed), b"dltensor", None)
