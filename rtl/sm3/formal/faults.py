"""Faults to plant in the Verilog, and the proof that must reject each."""

import dataclasses
import sys


@dataclasses.dataclass(frozen=True)
class Fault:
    name: str
    file: str
    right: str
    wrong: str
    proof: str

    def plant(self, text):
        if text.count(self.right) != 1:
            sys.exit(f"error: {self.file} has not exactly one {self.right!r} for the fault {self.name}")
        return text.replace(self.right, self.wrong)


ROUND = "round is the standard's"
GATHER = "gather: no word lost, pairs in order"
BUFFER = "buffer: no word lost, words in order"
CORE_1 = "core computes the standard's function, 1 round a cycle"
CORE_2 = "core computes the standard's function, 2 rounds a cycle"
CORE_1_RAM = "core computes the standard's function, 1 round a cycle, V in memory"
CORE_2_RAM = "core computes the standard's function, 2 rounds a cycle, V in memory"
BUS_1 = "bus, 1 round a cycle, without a buffer"
BUS_2 = "bus, 2 rounds a cycle, without a buffer"
BUS_1_BUFFERED = "bus, 1 round a cycle, with a buffer"
BUS_2_BUFFERED = "bus, 2 rounds a cycle, with a buffer"

FAULTS = [
    Fault("SS2 without A", "sm3_round.v", "ss1 ^ a12", "ss1", ROUND),
    Fault("majority without a term", "sm3_round.v", " | (b & c)", "", ROUND),
    Fault("a pair passes when full", "sm3_gather.v", "~full | pair_open", "1'b1", GATHER),
    Fault("the wrong bank's word", "sm3_gather.v", "odd[given[1:0]]", "even[given[1:0]]", GATHER),
    Fault("a word taken when full", "sm3_buffer.v", "~held[4] | out_ready", "1'b1", BUFFER),
    Fault("a word given twice", "sm3_buffer.v", "out_valid & out_ready) out", "out_valid & out_ready & ~take) out", BUFFER),
    Fault("W' from the wrong word", "sm3_schedule.v", "32*(i+5)", "32*(i+6)", CORE_1),
    Fault("rounds do not wait for a word", "sm3_control.v", "~idle & ~wait_word", "~idle", CORE_1),
    Fault("IV with a bit wrong", "sm3_value.v", "32'h172442d7", "32'h172442d6", CORE_1),
    Fault("T switched a round late", "sm3_control.v", "28 / R - 1", "28 / R", CORE_1),
    Fault("second round with the first's T", "sm3_core.v", "{t[30:0], t[31]}", "t", CORE_2),
    Fault("second round with the first's C", "sm3_core.v", ".a(tt1[31:0]), .b(a), .c(b9)", ".a(tt1[31:0]), .b(a), .c(c)", CORE_2),
    Fault("feed-forward left out", "sm3_core.v", ".keep(feed & step)", ".keep(1'b0)", CORE_2),
    Fault("a written word XORed before it is kept", "sm3_value.v", "assign bus_a[32*i +: 32] = fed_a[32*i +: 32] | put_a;",
          "assign bus_a[32*i +: 32] = fed_a[32*i +: 32];", CORE_1_RAM),
    Fault("memory shown though not given", "sm3_words.v", "{32{show_e & known[address]}}", "{32{show_e}}", CORE_2_RAM),
    Fault("ERROR of one cycle", "sm3_ahb.v", "assign HREADYOUT = ~refuse & ", "assign HREADYOUT = ", BUS_1),
    Fault("addresses above 0xFF", "sm3_ahb.v", " & (HADDR[11:8] == 4'd0)", "", BUS_1),
    Fault("half words", "sm3_ahb.v", "(HSIZE == 3'd2)", "(HSIZE[2:1] == 2'd1)", BUS_1_BUFFERED),
    Fault("DIGEST while busy", "sm3_ahb.v", "wrong | (digest & busy)", "wrong", BUS_1_BUFFERED),
    Fault("transfer kept while another slave waits", "sm3_ahb.v", "else if (HREADY) active", "else active", BUS_1),
    Fault("events lost to their clearing", "sm3_ahb.v", "event_now | (irq_status & ~({3{to_status}} & HWDATA[2:0]))",
          "(event_now | irq_status) & ~({3{to_status}} & HWDATA[2:0])", BUS_2_BUFFERED),
    Fault("order of bytes by the wrong bit", "sm3_ahb.v", "digest ? swap_out : swap_in", "digest ? swap_in : swap_out", BUS_2),
    Fault("READY before there is room", "sm3_ahb.v", "assign room       = core_open", "assign room       = count == 5'd0", BUS_2),
]
