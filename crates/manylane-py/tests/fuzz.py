"""Calls everything of the package with random arguments. Exceptions are welcome; a crash ends the process.

The last call is written to standard error by faulthandler's traceback, the seed before the first.
"""

from __future__ import annotations

import argparse
import array
import random
import sys
import time
from typing import Any

import manylane
import numpy as np
import pyarrow as pa
from manylane import _manylane, aead, ciphers, sm2


class Protocols:
    """Says that it has protocols, and gives anything."""

    def __init__(self, draw: Any) -> None:
        for name in ("__dlpack__", "__dlpack_device__", "__arrow_c_array__", "__arrow_c_stream__"):
            if draw(4) == 0:
                setattr(self, name, lambda *a, **k: value(draw, 1))
        if draw(4) == 0:
            self.__cuda_array_interface__ = {
                name: value(draw, 1)
                for name in ("shape", "typestr", "data", "strides", "stream", "version", "mask")
                if draw(5)
            }


def value(draw: Any, depth: int = 2) -> Any:
    """Anything."""
    size = [0, 1, 2, 12, 15, 16, 17, 32, 33, 64, 65, 100, 1000, 5000][draw(14)]
    data = random.randbytes(size)
    rows = np.frombuffer(random.randbytes(size * 7), np.uint8).reshape(7, size)
    simple = [
        lambda: data,
        lambda: bytearray(data),
        lambda: memoryview(data),
        lambda: memoryview(bytearray(data))[:: -1 if draw(2) else 3],
        lambda: None,
        lambda: draw(70) - 3,
        lambda: [2**31, 2**32, 2**63, 2**64, -(2**63), 10**30][draw(6)],
        lambda: draw(100) / 7,
        lambda: bool(draw(2)),
        lambda: [*NAMES, "pem", "der", "raw", "hex", "pkcs8", "sec1", "gcm", "ccm", "cpu", "auto", "cuda:0"][draw(21)],
        lambda: "text \ud800"[: draw(7)],
        lambda: rows,
        lambda: rows.copy(),
        lambda: rows[:: draw(5) - 2 or 1, draw(3) :: draw(3) - 1 or 1],
        lambda: np.asfortranarray(rows),
        lambda: np.cumsum(np.array([draw(20) for _ in range(draw(20))], [np.int32, np.uint32, np.int64, np.uint64][draw(4)])),
        lambda: np.zeros((draw(4), draw(4)), [np.float32, np.int16, "S5", "M8[s]", object][draw(5)]),
        lambda: pa.array([data[:i] for i in range(draw(10))], [pa.binary(), pa.large_binary(), pa.binary_view()][draw(3)])[draw(4) :],
        lambda: pa.chunked_array([[data], [None] if draw(2) else []], pa.binary()),
        lambda: array.array("bBhIdQ"[draw(6)], [1, 2, 3]),
        lambda: KEYS[draw(len(KEYS))],
        lambda: Protocols(draw),
        lambda: (lambda *a: 1 // draw(3)),
        lambda: released(data),
    ]
    nested = [
        lambda: [value(draw, depth - 1) for _ in range(draw(5))],
        lambda: tuple(value(draw, depth - 1) for _ in range(draw(4))),
        lambda: (value(draw, depth - 1) for _ in range(draw(4))),
        lambda: {value(draw, 0) if draw(2) else 5: 5} if draw(2) else {},
    ]
    choices = simple + nested if depth else simple
    try:
        return choices[draw(len(choices))]()
    except (TypeError, ValueError):
        return None


def released(data: bytes) -> memoryview:
    """A view of nothing."""
    view = memoryview(data)
    view.release()
    return view


NAMES = sorted(manylane.algorithms_available)[:10]
KEYS: list[Any] = [
    sm2.generate_private_key(),
    sm2.generate_private_key().public_key(),
    sm2.Encryption(b"x", iterations=1000),
    manylane.sm3(b"x"),
    aead.SM4GCM(bytes(16)),
    ciphers.algorithms.SM4(bytes(16)),
    ciphers.modes.CTR(bytes(16)),
    ciphers.Cipher(ciphers.algorithms.AES(bytes(32)), ciphers.modes.GCM(bytes(12))).encryptor(),
]
PARAMETERS = (
    "data name out offsets device threads progress user_id format prefix encoding encryption password "
    "kdf iterations initiator peer_user_id usedforsecurity length tag tag_length gb encrypt associated_data"
).split()


def targets() -> list[Any]:
    """Everything that can be called."""
    found = []
    for module in (manylane, _manylane, aead, ciphers, ciphers.algorithms, ciphers.modes, ciphers.padding, sm2):
        for name in dir(module):
            thing = getattr(module, name)
            if callable(thing) and not name.startswith("__") and getattr(thing, "__module__", "").startswith(("manylane", "builtins")):
                found.append(thing)
    return found


def main() -> None:
    """Runs for as long as it is told to."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(2**32)
    print(f"seed {seed}", file=sys.stderr, flush=True)
    random.seed(seed)
    draw = random.randrange
    functions, end = targets(), time.monotonic() + options.seconds
    calls = refused = 0
    made: list[Any] = list(KEYS)
    while time.monotonic() < end:
        function = functions[draw(len(functions))]
        if draw(2):
            thing = made[draw(len(made))]
            methods = [name for name in dir(thing) if name not in ("__class__", "__init_subclass__", "__subclasshook__")]
            method = getattr(type(thing), methods[draw(len(methods))], None)
            if callable(method):
                function = method.__get__(thing) if hasattr(method, "__get__") else method
        # A password takes 600 000 rounds unless it is told otherwise; a huge output is memory.
        arguments = [value(draw) for _ in range(draw(5))]
        named = {PARAMETERS[draw(len(PARAMETERS))]: value(draw) for _ in range(draw(3))}
        if function in (_manylane.Encryption, sm2.Encryption):
            named["iterations"] = 1000
        if "digest" in getattr(function, "__name__", ""):
            arguments = [a for a in arguments if not isinstance(a, int) or abs(a) < 10**6 or abs(a) > 2**40]
        calls += 1
        try:
            result = function(*arguments, **named)
            if type(result).__module__.startswith("manylane") and not isinstance(result, type):
                made.append(result)
                del made[len(KEYS) : -30]
        except Exception:
            refused += 1
        except BaseException as error:
            # A panic of the extension is no exception of these.
            if not isinstance(error, (SystemExit, KeyboardInterrupt)):
                raise
    print(f"{calls} calls, of which {refused} were refused")
    assert calls > 100 and refused > 0


if __name__ == "__main__":
    main()
