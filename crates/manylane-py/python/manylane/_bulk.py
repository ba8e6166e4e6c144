"""Digests of many messages, and of files."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Protocol

from manylane import _manylane
from manylane._device import chosen

Progress = Callable[[int, int | None], object]
"""Is called with the bytes that are done and, if that is known, the bytes there are."""


class _Readable(Protocol):
    def readinto(self, buffer: Any, /) -> int | None: ...


def hash_many(
    name: str,
    messages: Any,
    *,
    offsets: Any = None,
    out: Any = None,
    device: str = "auto",
    stream: Any = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Any:
    """The digest of each message.

    `messages` is one of

    - a list, tuple or iterator of bytes-like objects: the result is a list of `bytes`;
    - rows of `uint8` in two dimensions, whose rows may be apart (NumPy, `memoryview`, CPU tensors with DLPack): the
      result has the shape `(n, size)`, as a NumPy array if the rows are one, else as a `memoryview`;
    - one dimension of `uint8` and `offsets` (32 or 64 bits) that cut it: message i is `messages[offsets[i]:offsets[i + 1]]`;
    - an Arrow array of binary, large_binary, utf8, large_utf8, fixed_size_binary or the views of these, or a stream of
      such arrays, without nulls: the result is a `memoryview`;
    - rows, or data and offsets, on a GPU, with DLPack or the CUDA array interface: the result is a `DeviceArray` there.

    Nothing but offsets is copied. Results go to `out` instead if it is given: rows of `uint8` of that shape, C-contiguous,
    on the same device; then it is returned. If the call raises, `out` may hold anything.

    `device` is `auto`, `cpu`, `cuda`, `cuda:N`, `hip`, `hip:N` or `all`, and `threads` how many compute at most. `stream`,
    for arrays on a GPU, is the stream that the work is put on: a stream of PyTorch or CuPy, or a number as DLPack has it;
    without it, the stream that the array names or its library works on, failing these the default stream.

    `progress` is called between steps, and may raise to end the work; so does Ctrl-C. It must not write to messages or `out`.
    On a GPU it is called once, when the work is enqueued; where it raises then, the result is lost.
    """
    device, threads = chosen(device, threads)
    return _manylane.hash_many(name, messages, offsets, out, device, stream, threads, progress)


def hmac_many(
    name: str,
    keys: Any,
    messages: Any,
    *,
    out: Any = None,
    device: str = "auto",
    stream: Any = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Any:
    """HMAC of each message under its own key, or under one key for all.

    `keys` is one bytes-like object of one dimension, or as many keys as messages in any of the forms that `hash_many`
    takes; the rest is as there. On a GPU, HMAC-SM3 only, with keys and messages there.
    """
    device, threads = chosen(device, threads)
    return _manylane.hmac_many(name, keys, messages, out, device, stream, threads, progress)


def file_digest(fileobj: _Readable, name: str | Callable[[], _manylane.Hash], /) -> _manylane.Hash:
    """A hash object fed with the rest of a file; as `hashlib.file_digest`."""
    hash_object = _manylane.new(name) if isinstance(name, str) else name()
    getbuffer = getattr(fileobj, "getbuffer", None)
    if getbuffer is not None:
        hash_object.update(getbuffer())
        return hash_object
    if not hasattr(fileobj, "readinto") or not getattr(fileobj, "readable", lambda: True)():
        raise ValueError(f"'{fileobj!r}' is not a file-like object in binary reading mode.")
    buffer = memoryview(bytearray(1 << 18))
    while size := fileobj.readinto(buffer):
        hash_object.update(buffer[:size])
    if size is None:
        raise BlockingIOError("I/O operation would block.")
    return hash_object


def hash_file(
    path: str | bytes | os.PathLike[str] | os.PathLike[bytes], name: str = "sm3", *, device: str = "auto"
) -> bytes:
    """The digest of a file. KT128 and KT256 of a long one are computed on all cores."""
    chosen_device, threads = chosen(device, None)
    return _manylane.hash_file(os.fsencode(path), name, chosen_device, threads)


__all__ = ["Progress", "file_digest", "hash_file", "hash_many", "hmac_many"]
