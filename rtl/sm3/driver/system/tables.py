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
# From here on a message is long: what is done once for it does not count.
LONG = 4096
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


def what(core):
    rounds = f"{core['rounds']} round{'s' if core['rounds'] > 1 else ''} a cycle"
    return rounds + (", input buffer" if core["buffered"] else "")


def block_table(record):
    """Cycles a block in the long run: from the two longest messages."""
    methods = ["software", "software_zbb", "stall", "poll", "interrupt", "dma", "unaligned", "paper"]
    rows = []
    for core in record["cores"]:
        *_, (short, less), (long, more) = by_length(core).items()
        blocks = (long - short) / 64
        rows.append([what(core), *[f"{(more[m] - less[m]) / blocks:.0f}" for m in methods]])
    return table(["core", *[HEADINGS[m] for m in methods]], rows)


def core_tables(core):
    return [
        f"Cycles from call to digest, {what(core)} (the paper's Fig. 12):",
        cycles_table(core),
        f"Software over co-design, {what(core)} (the paper: 6.8 under a block, 18.7 “in theory”):",
        ratio_table(core),
    ]


def text(record, cores=None):
    """All of it, or with the tables by length of so many cores."""
    parts = [
        "Software alone, by part (the paper's Fig. 5, on another processor: expansion and compression over 90 %):",
        profile_table(record),
    ]
    for core in record["cores"][:cores]:
        parts += core_tables(core)
    if sorted(by_length(record["cores"][0]))[-2] >= LONG:
        parts += ["Cycles a block of a long message:", block_table(record)]
    return "\n\n".join(parts) + "\n"
