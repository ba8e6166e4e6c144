"""Devices, and which of them work goes to."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from manylane import _manylane

_chosen: ContextVar[tuple[str, int | None]] = ContextVar("manylane_device", default=("auto", None))


class Device(NamedTuple):
    """A device that work can go to."""

    id: str
    """Its name here: `cpu`, `cuda:0`, `hip:1`."""
    name: str
    """The vendor's name for it; of the processor, the instructions that lanes run on."""
    architecture: str
    """`sm_90`, `gfx90a` and so on; of the processor, the lanes of each thread."""
    memory: int
    """Bytes of its memory; 0 of the processor, whose memory is the machine's."""
    units: int
    """Multiprocessors or compute units; of the processor, cores that this process may use."""


def devices() -> list[Device]:
    """The processor, and the GPUs whose drivers are there."""
    machine, lanes, cores = _manylane.processor()
    processor = Device("cpu", machine, f"{lanes} lanes", 0, cores)
    return [processor, *(Device(*gpu) for gpu in _manylane.gpus())]


@contextmanager
def use_device(device: str, *, threads: int | None = None) -> Iterator[None]:
    """Lets calls within the block use that device wherever they say `auto`, and that many threads.

    Holds for the calling thread or asyncio task, as a `contextvars.ContextVar` does.
    """
    _manylane.check_device(device, threads)
    token = _chosen.set((device, threads))
    try:
        yield
    finally:
        _chosen.reset(token)


def chosen(device: str, threads: int | None) -> tuple[str, int | None]:
    """What a call uses that names these."""
    of_block, threads_of_block = _chosen.get()
    return (
        of_block if device == "auto" else device,
        threads_of_block if threads is None else threads,
    )


def explain(name: str = "sm3", *, device: str = "auto", threads: int | None = None) -> str:
    """What would compute that function here, and why: machine, lanes, threads, GPUs."""
    return _manylane.explain(name, *chosen(device, threads))
