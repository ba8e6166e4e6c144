"""Merges Verilator's coverage data over parameter sets and holds it against the targets.

A point is a file, line, column and what is counted there: the same for all instances and parameter sets. Points
listed in coverage.toml are left out, each with its reason; an entry that meets no uncovered point is an error.
"""

import collections
import pathlib
import re
import tomllib

# In per cent.
TARGETS = {"line": 100.0, "branch": 100.0, "toggle": 98.0}

ENTRY = re.compile(r"^C '(.*)' (\d+)$")


def points(path):
    """Kind, file, line, column, comment and count of every point of one file."""
    for text in pathlib.Path(path).read_text(encoding="latin-1").splitlines():
        match = ENTRY.match(text)
        if not match:
            continue
        fields = dict(part.split("\x02", 1) for part in match[1].split("\x01") if "\x02" in part)
        kind = fields["page"].split("/")[0].removeprefix("v_")
        if kind in TARGETS:
            place = (kind, fields["f"], int(fields["l"]), int(fields["n"]), fields["o"])
            yield place, int(match[2])


def excluded(entry, place, line):
    kind, path, _, _, comment = place
    return (
        entry["file"] == pathlib.Path(path).name
        and entry["kind"] == kind
        and re.search(entry["point"], comment)
        and entry.get("text", "") in line
    )


def check(files, src, exclusions):
    """Counts of targets that are met and missed, and the text that says how."""
    counts = collections.Counter()
    src = pathlib.Path(src).resolve()
    for path in files:
        for place, count in points(path):
            if pathlib.Path(place[1]).resolve().parent == src:
                counts[place] += count
    entries = tomllib.loads(exclusions.read_text(encoding="utf-8")).get("excluded", [])
    lines = {p: pathlib.Path(p).read_text(encoding="utf-8").splitlines() for p in {place[1] for place in counts}}
    used, missed, total = set(), collections.defaultdict(collections.Counter), collections.Counter()
    for place, count in sorted(counts.items()):
        line = lines[place[1]][place[2] - 1]
        if count == 0:
            reasons = [i for i, entry in enumerate(entries) if excluded(entry, place, line)]
            if reasons:
                used.update(reasons)
                continue
            missed[place[0]][f"  {pathlib.Path(place[1]).name}:{place[2]}: {line.strip()}"] += 1
        total[place[0]] += 1
    text, passed, failed = [], 0, 0
    for kind, target in TARGETS.items():
        hit = total[kind] - sum(missed[kind].values())
        share = 100.0 * hit / total[kind] if total[kind] else 0.0
        met = share >= target
        passed, failed = passed + met, failed + (not met)
        text.append(f"{kind}: {hit} of {total[kind]}, {share:.2f} % (target {target:g} %){'' if met else ': MISSED'}")
        text += [f"{where}: {count} missed" for where, count in missed[kind].items()]
    for i, entry in enumerate(entries):
        if i not in used:
            failed += 1
            text.append(f"coverage.toml: no uncovered point for {entry['file']}, {entry['point']}")
    return passed, failed, "\n".join(text)
