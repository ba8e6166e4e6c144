"""The results as a table to read, and the bars of bars.json."""

import json
from pathlib import Path

COLUMNS = {
    "asic": [("design", "design"), ("script", "script"), ("GE", "ge"), ("of it FF", "ge_sequential"),
             ("gates", "clock_gates"), ("FF", "flip_flops"), ("MHz", "fmax_mhz"), ("cycles", "cycles_per_block"),
             ("Mbit/s", "mbit_s"), ("/kGE", "mbit_s_kge"), ("pJ/block", "pj_per_block"), ("mW@36", "mw_at_36_mhz"),
             ("recipe", "recipe")],
    "ecp5": [("design", "design"), ("COMB", "comb"), ("FF", "ff"), ("MHz median", "fmax_mhz"),
             ("MHz best", "fmax_best_mhz"), ("cycles", "cycles_per_block"), ("Mbit/s", "mbit_s")],
    "xc7": [("design", "design"), ("LUT", "lut"), ("SRL", "srl"), ("LUT+SRL", "lut_srl"), ("FF", "ff"),
            ("CARRY4", "carry4")] + [(f"LUT{i}", f"lut{i}") for i in range(2, 7)],
}


def aligned(rows):
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(str(value).ljust(width) for value, width in zip(row, widths)).rstrip()
                     for row in rows)


def table(record):
    """Every target's results, a line a design and script."""
    parts = []
    for target in dict.fromkeys(r["target"] for r in record["results"]):
        columns = COLUMNS.get(target, COLUMNS["asic"])
        rows = [[head for head, _ in columns]]
        rows += [[r.get(key, "-") for _, key in columns] for r in record["results"] if r["target"] == target]
        parts.append(f"{target}\n{aligned(rows)}")
    return "\n\n".join(parts)


def check_bars(record):
    """(line, passed) of every bar whose design, target and script were run."""
    def find(bar, design):
        return [r for r in record["results"] if r["design"] == design and
                all(r.get(k) == bar[k] for k in ("target", "script") if k in bar) and bar["metric"] in r]

    checked = []
    for bar in json.loads((Path(__file__).parent / "bars.json").read_text())["bars"]:
        found = find(bar, bar["design"])
        other = find(bar, bar["against"]) if "against" in bar else [None]
        if not found or not other:
            continue
        value = found[0][bar["metric"]]
        if "against" in bar:
            value = round(value / other[0][bar["metric"]], 4)
        passed = bar.get("min", value) <= value <= bar.get("max", value)
        name = " ".join(str(bar[k]) for k in ("design", "target", "script", "metric") if k in bar)
        limit = f"at most {bar['max']}" if "max" in bar else f"at least {bar['min']}"
        against = f" against {bar['against']}" if "against" in bar else ""
        checked.append((f"{name}{against}: {value}, {limit}", passed))
    return checked
