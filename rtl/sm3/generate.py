#!/usr/bin/env python3
"""What is made from regs.rdl and from the diagrams' sources, and committed.

    generate.py            writes it all anew
    generate.py --check    changes nothing; fails if a file is not what its source says
    generate.py --html DIR writes the register pages as HTML as well

Needs peakrdl, systemrdl-compiler and wavedrom of requirements.txt.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RDL = HERE / "regs.rdl"
VLNV = {"vendor": "manylane", "library": "crypto", "name": "sm3_ahb", "version": "1.0"}
ORIGIN = "Generated from regs.rdl by generate.py; do not edit."


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    parser.add_argument("--html", metavar="DIR", help="also write the register pages as HTML")
    options = parser.parse_args()

    stale = []
    files = outputs()
    for path, text in files.items():
        if path.is_file() and path.read_text(encoding="utf-8") == text:
            continue
        if options.check:
            stale.append(str(path.relative_to(HERE)))
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"{path.relative_to(HERE)}: written anew")
    if options.html:
        peakrdl("html", "-o", options.html, "--title", "SM3 hash core")
    if options.check:
        print(f"{len(files) - len(stale)} passed, {len(stale)} failed")
    if stale:
        sys.exit(f"error: {', '.join(stale)}: not what the source says; run generate.py")


def outputs():
    """The text of every generated file, by its path."""
    sys.path.insert(0, str(HERE / "generator"))
    import diagrams
    import ipxact
    import ports
    import register_map

    top = register_map.read(RDL)
    parameters, listed = ports.of_module(HERE / "src/sm3_ahb.v")
    sources = sorted(path.name for path in (HERE / "src").glob("*.v"))
    files = {
        HERE / "driver/sm3_regs.h": header(),
        HERE / "generated/sm3_ahb.xml": ipxact.component(exported_ipxact(), parameters, listed, sources, ORIGIN),
        HERE / "REGISTERS.md": register_map.page(top, ORIGIN),
        HERE / "generated/sm3_regs.vh": register_map.constants(top, ORIGIN),
    }
    for source in sorted((HERE / "doc").glob("*.json5")):
        files[source.with_suffix(".svg")] = diagrams.svg(source)
    return files


def header():
    """The C header: offsets as a structure, masks and positions of the fields."""
    text = exported("c-header", "sm3_regs.h", "--std", "gnu99", "--type-style", "hier")
    # A packed structure alone is aligned to a byte, and a compiler for a processor that cannot
    # load words from any address would split each access to a register into four.
    text, count = re.subn(
        r"__attribute__ \(\(__packed__\)\)", "__attribute__((__packed__, __aligned__(4)))", text
    )
    if count != 1:
        sys.exit("error: the C header has no packed structure to align; has peakrdl changed?")
    return f"/* {ORIGIN} */\n" + tidy(text)


def exported_ipxact():
    arguments = [part for key, value in VLNV.items() for part in (f"--{key}", value)]
    return exported("ip-xact", "sm3_ahb.xml", "--standard", "2014", *arguments)


def exported(exporter, name, *arguments):
    """What a back end of peakrdl writes to a file of this name."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, name)
        peakrdl(exporter, "-o", str(path), *arguments)
        return path.read_text(encoding="utf-8")


def peakrdl(exporter, *arguments):
    command = ["peakrdl", exporter, str(RDL), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        sys.exit("error: no peakrdl in PATH; `cargo xtask rtl setup` brings it")
    if done.returncode != 0:
        sys.exit(f"error: {' '.join(command)}:\n{done.stdout}{done.stderr}")


def tidy(text):
    """No blanks at the ends of lines, no runs of empty lines, one newline at the end."""
    lines = [line.rstrip().expandtabs(4) for line in text.strip().splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


if __name__ == "__main__":
    main()
