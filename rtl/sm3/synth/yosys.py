#!/usr/bin/env python3
"""Runs a Yosys script by PyPI's pyosys (Debian's Yosys 0.23 has no clock gating).

As a program: `yosys.py SCRIPT`, one command a line, in the current folder.
"""

import subprocess
import sys
from pathlib import Path


class YosysError(Exception):
    """A script that failed, with the end of its log."""


def run(commands, folder, name, timeout=600):
    """Runs `commands` in `folder`; the log is `name`.log there."""
    folder = Path(folder)
    script = folder / f"{name}.ys"
    script.write_text("\n".join(commands) + "\n")
    with open(folder / f"{name}.log", "w", encoding="utf-8") as log:
        result = subprocess.run([sys.executable, str(Path(__file__).resolve()), script.name], cwd=folder,
                                stdout=log, stderr=subprocess.STDOUT, timeout=timeout, check=False)
    if result.returncode:
        tail = (folder / f"{name}.log").read_text(errors="replace").splitlines()[-8:]
        raise YosysError(f"yosys failed, {folder / name}.log:\n" + "\n".join(tail))


def version():
    """The version of the Yosys that runs."""
    try:
        import importlib.metadata
        return importlib.metadata.version("pyosys")
    except importlib.metadata.PackageNotFoundError:
        raise YosysError("pyosys is missing: python3 -m pip install -r rtl/sm3/requirements.txt") from None


def main():
    from pyosys import libyosys
    design = libyosys.Design()
    for line in Path(sys.argv[1]).read_text().splitlines():
        if line.strip():
            libyosys.run_pass(line, design)


if __name__ == "__main__":
    main()
