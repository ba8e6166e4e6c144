"""The tables of system.json, in Markdown."""

HEADINGS = {
    "software": "software",
    "software_zbb": "with Zbb",
    "stall": "stall",
    "poll": "poll",
    "interrupt": "interrupt",
    "dma": "DMA",
    "unaligned": "stall, unaligned",
    "paper": "paper's core",
}
PARTS = ["padding", "expansion", "compression", "others"]


def row(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def table(headings, rows):
    return "\n".join([row(headings), row(["---"] * len(headings)), *[row(cells) for cells in rows]])


def profile_table(record):
    rows = []
    for entry in record["profile"]:
        total = sum(entry["cycles"].values())
        shares = [f"{100 * entry['cycles'].get(part, 0) / total:.1f} %" for part in PARTS]
        rows.append([entry["length"], total, *shares])
    return table(["bytes", "cycles", *PARTS], rows)


def by_length(core):
    """{length: {method: cycles}}"""
    found = {}
    for entry in core["rows"]:
        found.setdefault(entry["length"], {})[entry["method"]] = entry["cycles"]
    return found


def cycles_table(core):
    rows = [[length, *[cycles[m] for m in HEADINGS]] for length, cycles in by_length(core).items()]
    return table(["bytes", *HEADINGS.values()], rows)


def ratio_table(core):
    """How many times the software's cycles."""
    methods = ["stall", "poll", "interrupt", "dma", "paper"]
    rows = []
    for length, cycles in by_length(core).items():
        rows.append([length, *[f"{cycles['software'] / cycles[m]:.1f}" for m in methods]])
    return table(["bytes", *[HEADINGS[m] for m in methods]], rows)


def text(record):
    parts = [
        "Software alone, by part (the paper's Fig. 5, on another processor: expansion and compression over 90 %):",
        profile_table(record),
    ]
    for core in record["cores"]:
        what = f"{core['rounds']} round{'s' if core['rounds'] > 1 else ''} a cycle"
        what += ", input buffer" if core["buffered"] else ""
        parts += [f"Cycles from call to digest, {what} (the paper's Fig. 12):", cycles_table(core)]
        title = f"Software over co-design, {what} (the paper: 6.8 under a block, 18.7 “in theory”):"
        parts += [title, ratio_table(core)]
    return "\n\n".join(parts) + "\n"
