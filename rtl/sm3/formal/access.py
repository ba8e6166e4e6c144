"""The register map of regs.rdl as Verilog functions, for the proofs about sm3_ahb."""

import register_map


def functions(rdl, parameters):
    """access.vh: what may be read and written, which bits there are, what constants are held."""
    top = register_map.read(rdl, parameters)
    words = {}
    for reg in register_map.registers(top):
        first = register_map.offset(reg) // 4
        words.update({first + i: reg for i in range(register_map.length(reg))})
    out = ['`include "sm3_regs.vh"', ""]
    out += function("f_readable", "", {w: int(any(f.is_sw_readable for f in r.fields())) for w, r in words.items()})
    out += function("f_writable", "", {w: int(any(f.is_sw_writable for f in r.fields())) for w, r in words.items()})
    out += function("f_bits", "[31:0] ", {w: mask(r, lambda f: f.is_sw_readable) for w, r in words.items()})
    fixed = {w: r for w, r in words.items() if all(not f.is_hw_writable and not f.is_sw_writable for f in r.fields())}
    out += function("f_constant", "", {w: 1 for w in fixed})
    out += function("f_value", "[31:0] ", {w: register_map.resets(r)[0] for w, r in fixed.items()})
    for reg in register_map.registers(top):
        stored = mask(reg, lambda f: f.is_sw_writable and f.is_sw_readable and not f.get_property("singlepulse"))
        out.append(f"localparam [31:0] {reg.inst_name}_STORED = 32'h{stored:08x};")
    return "\n".join(out) + "\n"


def mask(reg, wanted):
    return sum(((1 << field.width) - 1) << field.low for field in reg.fields() if wanted(field))


def function(name, kind, values):
    """A function of a word's index; 0 where the map has nothing."""
    lines = [f"function {kind}{name}(input [9:0] word);", "    case (word)"]
    lines += [f"        10'd{word}: {name} = 32'h{value:x};" for word, value in sorted(values.items()) if value]
    return [*lines, f"        default: {name} = 0;", "    endcase", "endfunction", ""]
