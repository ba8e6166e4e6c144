#!/usr/bin/env python3
"""The paper's Tables 3 to 6 as printed, with our measured rows, as Markdown.

The record is what synth.py wrote: the newest bench/runs/*-rtl-sm3/synth.json, or target/rtl/synth.json where
none is there. Published numbers are those of compare/published.json.
"""

import argparse
import json
import sys
from pathlib import Path

from designs import DESIGNS, RTL

ROOT = RTL.parent.parent
OUTPUT = RTL / "synth" / "tables.md"

# Additions one after the other in a round, by the rule of ../compare/README.md (SS1 takes two, the
# sums beside it none): what the design is built for, not a measurement.
ADDITIONS = {"core-r1": "3", "core-r2": "6", "paper": "3", "paper-plain": "3"}


def newest_record():
    runs = sorted((ROOT / "bench" / "runs").glob("*-rtl-sm3/synth.json"))
    return runs[-1] if runs else ROOT / "target" / "rtl" / "synth.json"


def markdown(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(str(v) for v in row) + " |" for row in rows])


def number(value, digits=0):
    if value is None:
        return "-"
    return f"{value:,.{digits}f}" if isinstance(value, (int, float)) else str(value)


class Record:
    """The results by design, target and script."""

    def __init__(self, data):
        self.data = data
        self.rows = {(r["design"], r["target"], r.get("script")): r for r in data["results"]}
        self.libraries = list(data["libraries"])
        self.best = self.libraries[-1] if self.libraries else None

    def get(self, design, target, script=None):
        return self.rows.get((design, target, script))

    def designs(self, target, script=None):
        return [(d, self.get(d, target, script)) for d in DESIGNS if self.get(d, target, script)]


def table_3(record, published):
    """Slack at the paper's 7 ns with its 2 ns outside the ports."""
    rows = [["*printed:* " + row[0], *row[1:], "-"] for row in published["rows"]]
    for name, area in record.designs(record.best, "area"):
        speed = record.get(name, record.best, "speed")
        if name not in ADDITIONS or not speed:
            continue
        path = speed["path_ns"]
        port = max([path.get("in_reg", 0) + 2, path.get("reg_out", 0) + 2, path.get("in_out", 0) + 4])
        rows.append([DESIGNS[name].what, number(area["cycles_per_block"]), number(area["flip_flops"] / 32, 1),
                     ADDITIONS[name], number(7 - max(path["reg_reg"], port), 2), number(path["reg_reg"], 2)])
    return markdown(published["columns"] + ["Longest path, ns"], rows)


def table_4(published):
    """The printed rows, and both schedules counted."""
    sys.path.insert(0, str(RTL / "compare"))
    import operations
    columns = ["Operation", *operations.COLUMNS]
    rows = [["*printed:* " + row[0], *row[1:]] for row in published["rows"]]
    rows += [[f"counted: {row['schedule']}", *(row["counted"][c] for c in operations.COLUMNS)]
             for row in operations.table()]
    return markdown(columns, rows)


def table_5(record, published):
    """Every library and script; the area script's netlists at the paper's 36 MHz, with their power."""
    rows = [["*printed:* " + row[0], *row[1:6], "-", row[6], "-"] for row in published["rows"]]
    for target in reversed(record.libraries):
        library = record.data["libraries"][target]["name"]
        for name, area in record.designs(target, "area"):
            rows.append([DESIGNS[name].what, f"{library}, area", "36", number(area["cycles_per_block"]),
                         number(area["ge"]) + " GE", number(area.get("mw_at_36_mhz"), 2),
                         number(area.get("pj_per_block", 0) / 1000, 2), number(area["mbit_s_at_36_mhz"]),
                         number(area["mbit_s_at_36_mhz"] / area["ge"] * 1000)])
        for name, speed in record.designs(target, "speed"):
            rows.append([DESIGNS[name].what, f"{library}, speed", number(speed["fmax_mhz"]),
                         number(speed["cycles_per_block"]), number(speed["ge"]) + " GE", "-", "-",
                         number(speed["mbit_s"]), number(speed["mbit_s_kge"])])
    columns = published["columns"]
    return markdown([*columns[:6], "nJ a block", columns[6], "Mbit/s per kGE"], rows)


def table_6(record, published):
    """ECP5 placed and routed; Xilinx 7 mapped only, so at the paper's 36 MHz."""
    rows = [["*printed:* " + row[0], *row[1:]] for row in published["rows"]]
    for name, used in record.designs("xc7"):
        ecp5 = record.get(name, "ecp5")
        cycles = ecp5["cycles_per_block"] if ecp5 else record.get(name, record.best, "area")["cycles_per_block"]
        rows.append([DESIGNS[name].what, "Xilinx 7, mapped", "36", number(cycles),
                     f"{used['lut']} LUT + {used['srl']} SRL, {used['ff']} FF", number(36 * 512 / cycles)])
    for name, used in record.designs("ecp5"):
        rows.append([DESIGNS[name].what, f"ECP5-{used['speed_grade']}, routed", number(used["fmax_mhz"], 1),
                     number(used["cycles_per_block"]), f"{used['comb']} COMB, {used['ff']} FF",
                     number(used["mbit_s"])])
    return markdown(published["columns"], rows)


def notes(record):
    tools = ", ".join(f"{tool} {version}" for tool, version in sorted(record.data["tools"].items()))
    units = "; ".join(f"{library['name']}: 1 GE = {library['ge_area']:g}, the area of {library['ge_cell']}"
                      for library in record.data["libraries"].values())
    return f"Conditions: {record.data['conditions']}. {units}. Tools: {tools}."


def compose(record, published):
    parts = ["<!-- Written by tables.py from a record of synth.py; do not edit. -->",
             "# The paper's Tables 3 to 6 with our designs", published["source"] + ".",
             "*Printed* rows are the paper's own; their \"gates\" have no stated unit, so that areas compare only "
             "between rows of one library. Cycles are block to block, loading included.", notes(record)]
    tables = {3: table_3(record, published["table_3"]), 4: table_4(published["table_4"]),
              5: table_5(record, published["table_5"]), 6: table_6(record, published["table_6"])}
    for n, body in tables.items():
        parts += [f"## Table {n}. {published[f'table_{n}']['title']}", body]
    return "\n\n".join(parts) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", type=Path, default=newest_record(), help="default: %(default)s")
    parser.add_argument("-o", "--output", type=Path, default=OUTPUT, help="default: rtl/sm3/synth/tables.md")
    parser.add_argument("--check", action="store_true", help="compare with what is there instead of writing")
    options = parser.parse_args()
    if not options.record.is_file():
        sys.exit(f"{options.record} is missing: run synth.py")
    published = json.loads((RTL / "compare" / "published.json").read_text())
    text = compose(Record(json.loads(options.record.read_text())), published)
    if not options.check:
        options.output.write_text(text)
        print(f"{options.output} written from {options.record}")
        return 0
    same = options.output.is_file() and options.output.read_text() == text
    print("1 passed, 0 failed" if same else f"{options.output} is not what {options.record} gives: run tables.py\n"
          "0 passed, 1 failed")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
