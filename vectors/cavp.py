#!/usr/bin/env python3
"""Makes aes_cavp.json: a selection of NIST's CAVP files for AES and its modes.

    python3 vectors/cavp.py WHEEL            prints the file
    python3 vectors/cavp.py WHEEL --check    makes it again and compares

WHEEL is the package cryptography-vectors of PyPI, which has these files unchanged:
pip download --no-deps cryptography-vectors
"""

import json
import pathlib
import re
import sys
import zipfile

HERE = pathlib.Path(__file__).parent
FOLDER = "cryptography_vectors/ciphers/AES/"


def records(wheel, name):
    """Each record of a .rsp file: what stands in brackets above it, and its own fields."""
    section, record = {}, {}
    for line in wheel.read(FOLDER + name).decode("ascii").splitlines() + [""]:
        line = line.strip()
        if head := re.fullmatch(r"\[(.*)\]", line):
            fields = {}
            for part in head[1].split(","):
                field, _, value = part.partition("=")
                fields[field.strip()] = value.strip()
            # CCM's files have several brackets one after another, GCM's too.
            section = section | fields if set(fields) - {"ENCRYPT", "DECRYPT"} else fields
        elif " = " in line or line.endswith(" ="):
            field, _, value = line.partition("=")
            record[field.strip()] = value.strip()
        elif line == "FAIL":
            record["FAIL"] = ""
        elif not line and record:
            if set(record) & {"COUNT", "Count"}:
                yield section, record
            else:
                section = section | record  # CCM: a key or nonce for many
            record = {}


def confidential(wheel):
    modes = {"ECB": "ecb", "CBC": "cbc", "CFB128": "cfb", "CFB8": "cfb8", "OFB": "ofb"}
    for name, mode in modes.items():
        for kind in ("GFSbox", "KeySbox", "VarKey", "VarTxt", "MMT"):
            # Other modes than ECB put the same blocks through the same cipher.
            if name != "ECB" and kind != "MMT":
                continue
            for bits in (128, 192, 256):
                file = f"{name.rstrip('1280') if name.startswith('CFB') else name}/{name}{kind}{bits}.rsp"
                for section, r in records(wheel, file):
                    count = int(r["COUNT"])
                    way = "ENCRYPT" if "ENCRYPT" in section else "DECRYPT"
                    if kind.startswith("Var") and count % 8 or kind != "MMT" and way == "DECRYPT":
                        continue
                    if kind == "MMT" and count % 3 and mode not in ("ecb", "cbc"):
                        continue
                    yield {
                        "source": f"{name}{kind}{bits} {way} {count}", "mode": mode, "key": r["KEY"],
                        "iv": r.get("IV", ""), "plaintext": r["PLAINTEXT"], "ciphertext": r["CIPHERTEXT"],
                    }
    for bits in (128, 256):
        seen = {}
        for section, r in records(wheel, f"XTS/tweak-128hexstr/XTSGenAES{bits}.rsp"):
            length, way = int(r["DataUnitLen"]), "ENCRYPT" if "ENCRYPT" in section else "DECRYPT"
            seen[length, way] = seen.get((length, way), 0) + 1
            if length % 8 == 0 and seen[length, way] <= 2:
                yield {
                    "source": f"XTSGenAES{bits} {way} {r['COUNT']}", "mode": "xts", "key": r["Key"],
                    "iv": r["i"], "plaintext": r["PT"], "ciphertext": r["CT"],
                }


def gcm(wheel):
    for bits in (128, 192, 256):
        for kind in ("EncryptExtIV", "Decrypt"):
            sections = {}
            for section, r in records(wheel, f"GCM/gcm{kind}{bits}.rsp"):
                sections.setdefault(json.dumps(section), []).append(r)
            # Every thirteenth shape: all lengths of IV, text, associated data and tag meet within 525 shapes.
            for i, (section, of_section) in enumerate(sections.items()):
                chosen = of_section[:1]
                if kind == "Decrypt":
                    chosen += [r for r in of_section if ("FAIL" in r) != ("FAIL" in chosen[0])][:1]
                for r in chosen if i % 13 == 0 else []:
                    yield {
                        "source": f"gcm{kind}{bits} {section} {r['Count']}".replace('"', ""),
                        "mode": "gcm", "key": r["Key"], "iv": r["IV"], "aad": r["AAD"],
                        "plaintext": r.get("PT", ""), "ciphertext": r["CT"], "tag": r["Tag"],
                        "result": "invalid" if "FAIL" in r else "valid",
                    }


def ccm(wheel):
    for bits in (128, 192, 256):
        for kind in ("VADT", "VNT", "VPT", "VTT"):
            for section, r in records(wheel, f"CCM/{kind}{bits}.rsp"):
                r = section | r
                if int(r["Count"]) % 10 == 0:
                    yield ccm_entry(f"{kind}{bits} {r['Count']}", r, r["Payload"], "valid")
        for section, r in records(wheel, f"CCM/DVPT{bits}.rsp"):
            r = section | r
            if int(r["Count"]) % 15 < 3:
                is_valid = r["Result"].startswith("Pass")
                payload = r.get("Payload", "") if is_valid else ""
                yield ccm_entry(f"DVPT{bits} {r['Count']}", r, payload, "valid" if is_valid else "invalid")


def ccm_entry(source, r, payload, result):
    lengths = {name: int(r[name]) for name in ("Alen", "Plen", "Nlen", "Tlen")}
    cut = lambda text, name: text[: 2 * lengths[name]]  # an absent string is written as 00
    ciphertext = r["CT"][: 2 * lengths["Plen"]]
    return {
        "source": source, "mode": "ccm", "key": r["Key"], "iv": cut(r["Nonce"], "Nlen"),
        "aad": cut(r["Adata"], "Alen"), "plaintext": cut(payload, "Plen"), "ciphertext": ciphertext,
        "tag": r["CT"][2 * lengths["Plen"] :], "result": result,
    }


def lines(name, items):
    return f"  {json.dumps(name)}: [\n" + ",\n".join("    " + json.dumps(item) for item in items) + "\n  ]"


def main(arguments):
    if not arguments:
        print(__doc__.strip())
        return 0
    with zipfile.ZipFile(arguments[0]) as wheel:
        lists = [lines("modes", confidential(wheel)), lines("aead", [*gcm(wheel), *ccm(wheel)])]
    text = '{\n  "algorithm": "AES",\n' + ",\n".join(lists) + "\n}\n"
    if arguments[1:] == ["--check"]:
        if (HERE / "aes_cavp.json").read_text(encoding="ascii") != text:
            return "aes_cavp.json is not that selection"
        print("aes_cavp.json: as selected")
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
