"""What all tests share."""

from __future__ import annotations

import faulthandler
import json
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import settings

ROOT = Path(__file__).resolve().parents[3]

faulthandler.enable()
# Machines of CI are slow at times; a seed that is always the same makes a failure one that can be had again.
settings.register_profile("ci", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("ci")


@cache
def vectors(name: str) -> Any:
    """A file of vectors/."""
    return json.loads((ROOT / "vectors" / name).read_text())


def painted(start: int, length: int) -> bytes:
    """Bytes as vectors/README.md describes them."""
    return bytes((start + i) % 251 for i in range(length))
