#!/usr/bin/env python3
"""Makes sha3_cavp.json: NIST's CAVP files for SHA-3 and SHAKE, the long messages thinned.

    python3 vectors/cavp_sha3.py WHEEL            prints the file
    python3 vectors/cavp_sha3.py WHEEL --check    makes it again and compares

WHEEL is the package cryptography-vectors of PyPI, as for cavp.py.
"""

import json
import sys
import zipfile

from cavp import HERE, lines

FOLDER = "cryptography_vectors/hashes/"

# Of a file's records this is the distance between those that are taken: all short messages of SHA-3, and of SHAKE one
# in three, for there are more; of long ones, up to 17 KB each, four of every file, with the first and the last; of
# outputs of every length, one in nine, which is no divisor of the five messages of each length.
EVERY = {"SHA3 ShortMsg": 1, "SHAKE ShortMsg": 3, "LongMsg": 33, "VariableOut": 9}


def records(wheel, name):
    """What stands in brackets and above the first record of a .rsp file, and its records."""
    head, found, record = {}, [], {}
    for line in wheel.read(FOLDER + name).decode("ascii").splitlines() + [""]:
        field, equals, value = line.strip().strip("[]").partition("=")
        if equals:
            record[field.strip()] = value.strip()
        elif record:
            if record.keys() & {"MD", "Output"}:
                found.append(record)
            else:
                head |= record
            record = {}
    return head, found


def messages(wheel, folder, function, kind):
    _, found = records(wheel, f"{folder}/{function.replace('-', '_')}{kind}.rsp")
    every = EVERY.get(kind) or EVERY[f"{folder} {kind}"]
    for number, record in list(enumerate(found))[::every]:
        yield {
            "source": f"{function}{kind} {number}", "function": function,
            # An empty message is written as 00.
            "message": "" if record.get("Len") == "0" else record["Msg"],
            "output": record.get("MD") or record["Output"],
        }


def monte(wheel, folder, function):
    head, found = records(wheel, f"{folder}/{function.replace('-', '_')}Monte.rsp")
    entry = {"source": f"{function}Monte", "function": function, "seed": head.get("Seed") or head["Msg"]}
    if folder == "SHAKE":
        for name in ("minimum", "maximum"):
            entry[name] = int(head[f"{name.capitalize()} Output Length (bits)"]) // 8
    return entry | {"outputs": [record.get("MD") or record["Output"] for record in found]}


def main(arguments):
    if not arguments:
        print(__doc__.strip())
        return 0
    hashes, chains = [], []
    with zipfile.ZipFile(arguments[0]) as wheel:
        for folder, functions in (
            ("SHA3", [f"SHA3-{bits}" for bits in (224, 256, 384, 512)]),
            ("SHAKE", ["SHAKE128", "SHAKE256"]),
        ):
            for function in functions:
                for kind in ("ShortMsg", "LongMsg") + (("VariableOut",) if folder == "SHAKE" else ()):
                    hashes += messages(wheel, folder, function, kind)
                chains.append(monte(wheel, folder, function))
    lists = [lines("hashes", hashes), lines("monte", chains)]
    text = '{\n  "algorithm": "SHA-3",\n' + ",\n".join(lists) + "\n}\n"
    if arguments[1:] == ["--check"]:
        if (HERE / "sha3_cavp.json").read_text(encoding="ascii") != text:
            return "sha3_cavp.json is not that selection"
        print("sha3_cavp.json: as selected")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
