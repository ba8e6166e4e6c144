"""The register map as systemrdl-compiler reads it: a page for people, constants for Verilog."""

import sys
import textwrap

from systemrdl import RDLCompileError, RDLCompiler
from systemrdl.node import RegNode

ACCESS = {"r": "R", "w": "W", "rw": "RW"}


def read(path, parameters=None):
    """The address map in a file, elaborated with these parameters, else their defaults."""
    compiler = RDLCompiler()
    try:
        compiler.compile_file(str(path))
        return compiler.elaborate(parameters=parameters or {}).top
    except RDLCompileError:
        sys.exit(f"error: {path.name} does not compile")


def registers(top):
    """Its registers in the order of addresses; an array is one entry."""
    found = [node for node in top.children(unroll=False) if isinstance(node, RegNode)]
    return sorted(found, key=lambda reg: reg.raw_address_offset)


def offset(reg):
    return reg.raw_address_offset


def length(reg):
    return reg.array_dimensions[0] if reg.is_array else 1


def fields(reg):
    return sorted(reg.fields(), key=lambda field: field.low)


def access(reg):
    """R, W, RW, or R/W1C where writing 1 clears."""
    kinds = {field.get_property("sw").name for field in reg.fields()}
    clears = any(field.get_property("onwrite") is not None for field in reg.fields())
    letters = ACCESS["".join(letter for letter in "rw" if any(letter in kind for kind in kinds))]
    return "R/W1C" if clears else letters


def plain(node):
    """A description as one line."""
    return " ".join(node.get_property("desc").split())


def resets(reg):
    """A register's reset value, or those of an array's elements; none where nothing is held."""
    listed = reg.get_property("element_resets")
    if listed is not None:
        return listed
    values = [(field.get_property("reset"), field.low) for field in reg.fields()]
    if any(value is None for value, _ in values):
        return []
    return [sum(value << low for value, low in values)]


def page(top, origin):
    """REGISTERS.md."""
    out = [f"<!-- {origin} -->", "# Registers of sm3_ahb", "", plain(top), ""]
    out += ["| offset | register | access | reset | |", "|---|---|---|---|---|"]
    for reg in registers(top):
        first, last = offset(reg), offset(reg) + 4 * length(reg) - 4
        where = f"0x{first:02X}" if first == last else f"0x{first:02X}–0x{last:02X}"
        name = f"[{reg.inst_name}](#{reg.inst_name.lower()})"
        name += f"[{length(reg)}]" if reg.is_array else ""
        values = resets(reg)
        reset = {0: "–", 1: f"0x{values[0]:08X}" if values else ""}.get(len(values), "IV")
        out.append(
            f"| {where} | {name} | {access(reg)} | {reset} | {reg.get_property('name')} |"
        )
    for reg in registers(top):
        out += ["", f"## {reg.inst_name}", "", *textwrap.wrap(plain(reg), 110)]
        values = resets(reg)
        if len(values) > 1:
            listed = ", ".join(f"{value:08X}" for value in values)
            out += ["", *textwrap.wrap(f"Reset values: {listed}.", 110)]
        out += ["", "| bits | field | access | reset | |", "|---|---|---|---|---|"]
        out += [row(reg, field) for field in fields(reg)]
    return "\n".join(out) + "\n"


def row(reg, field):
    bits = str(field.low) if field.width == 1 else f"{field.high}:{field.low}"
    reset = field.get_property("reset")
    if reg.get_property("element_resets") is not None:
        reset = "IV"
    elif reset is None:
        reset = "–"
    elif field.width == 32:
        reset = f"0x{reset:08X}"
    kind = ACCESS[field.get_property("sw").name]
    if field.get_property("onwrite") is not None:
        kind = "R/W1C"
    return f"| {bits} | {field.inst_name} | {kind} | {reset} | {plain(field)} |"


def constants(top, origin):
    """sm3_regs.vh, to be included inside a module: offsets, and the fields' lowest bits."""
    out = [
        f"// {origin}",
        "// Included inside a module: offsets of registers, lowest bits and widths of fields, and",
        "// the constants that registers hold.",
        "// verilator lint_off UNUSEDPARAM",
    ]
    for reg in registers(top):
        name = reg.inst_name
        out.append("")
        out.append(f"localparam [11:0] {name}_OFFSET = 12'h{offset(reg):03x};")
        if reg.is_array:
            out.append(f"localparam integer {name}_WORDS = {length(reg)};")
        for field in fields(reg):
            if field.width == 32:
                if not field.is_sw_writable:
                    value = field.get_property("reset")
                    out.append(f"localparam [31:0] {name}_{field.inst_name} = 32'h{value:08x};")
                continue
            out.append(f"localparam integer {name}_{field.inst_name}_LSB = {field.low};")
            if field.width > 1:
                out.append(f"localparam integer {name}_{field.inst_name}_WIDTH = {field.width};")
    out += ["", "// verilator lint_on UNUSEDPARAM"]
    return "\n".join(out) + "\n"
