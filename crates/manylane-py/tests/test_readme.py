"""Every block of code of the README runs, but those for a GPU."""

from __future__ import annotations

import re

import pytest
from conftest import ROOT

TEXT = (ROOT / "crates/manylane-py/README.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_there_are_blocks() -> None:
    assert len(BLOCKS) >= 5
    # What is run on a GPU's machine is at least code.
    for block in re.findall(r"^```python gpu\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL):
        compile(block, "README.md", "exec")


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_blocks_run(block: str) -> None:
    exec(compile(block, "README.md", "exec"), {})
