#!/usr/bin/env python3
"""A security gateway's flow (the paper's section 5): a command is hashed by the SM3 core, signed with SM2, verified.

    gateway.py [--manylane COMMAND] [FILE]

The core is in the simulated RV32 system, under the driver, by DMA. It hashes what stands for the signer,
Z_A, and with it the message: e = SM3(Z_A || M). The command `manylane sm2 sign --digest` signs e;
`manylane sm2 verify` is given the message, hashes it itself, and so finds any error of the core. A message
changed on its way must be refused. Then the same message under HMAC-SM3, the core's tag against
`manylane sum`.
"""

import argparse
import base64
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "system"))

import build  # noqa: E402
import run as system  # noqa: E402

# GB/T 32918.5: the curve's a, b and G; GB/T 35276: the ID where none was agreed.
A = "FFFFFFFEFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF00000000FFFFFFFFFFFFFFFC"
B = "28E9FA9E9D9F5E344D5A9E4BCF6509A7F39789F515AB8F92DDBCBD414D940E93"
X_G = "32C4AE2C1F1981195F9904466A39C9948FE30BBFF2660BE1715A4589334C74C7"
Y_G = "BC3736A2F4F6779C59BDCEE36B692153D0A9877CC62A474002DF32E52139F0A0"
DEFAULT_ID = b"1234567812345678"
COMMAND = b"KNXnet/IP: area 1, line 3, device 42: open valve 7, by order 2019-1033\n" * 20


class Core:
    """The driver and the SM3 core, simulated."""

    def __init__(self):
        _, self.rom = build.firmware()
        self.simulator = build.simulator(system.VARIANTS[0])

    def ask(self, commands):
        (line,) = system.simulate(self.simulator, self.rom, commands)
        return bytes.fromhex(line.split()[1])

    def digest(self, data):
        return self.ask(b"D" + packed(data))

    def hmac(self, key, data):
        return self.ask(b"H" + packed(key) + packed(data))


def packed(data):
    return struct.pack("<I", len(data)) + data


def z_a_input(public_key, identity=DEFAULT_ID):
    """What Z_A is the digest of (GB/T 32918.2, 5.5), for a public key in PEM."""
    lines = [line for line in public_key.read_text(encoding="ascii").splitlines() if "-----" not in line]
    # SubjectPublicKeyInfo ends with the uncompressed point.
    point = base64.b64decode("".join(lines))[-65:]
    if point[0] != 4:
        sys.exit("error: the public key is not an uncompressed point")
    curve = bytes.fromhex(A + B + X_G + Y_G)
    return struct.pack(">H", 8 * len(identity)) + identity + curve + point[1:]


def flow(manylane, message, core, folder):
    secret, public = folder / "key.pem", folder / "pub.pem"
    original, changed = folder / "command", folder / "changed"
    digest, signature, key = folder / "e", folder / "signature", folder / "hmac-key"
    original.write_bytes(message)
    changed.write_bytes(message[:-1] + bytes([message[-1] ^ 1]))

    def call(*arguments):
        command = [manylane, *[str(argument) for argument in arguments]]
        return subprocess.run(command, capture_output=True, text=True)

    def must(*arguments):
        done = call(*arguments)
        if done.returncode != 0:
            sys.exit(f"error: manylane {arguments[0]} {arguments[1]}: {done.stderr}")
        return done.stdout

    must("sm2", "keygen", "-o", secret, "--pub-out", public)
    z_a = core.digest(z_a_input(public))
    e = core.digest(z_a + message)
    digest.write_bytes(e)
    print(f"Z_A  {z_a.hex()}  by the core\ne    {e.hex()}  by the core")
    must("sm2", "sign", "-k", secret, "--digest", "-o", signature, digest)
    print(f"signed: {signature.stat().st_size} bytes")
    must("sm2", "verify", "-k", public, "-s", signature, original)
    print("verified, by the message itself")
    if call("sm2", "verify", "-k", public, "-s", signature, changed).returncode != 1:
        sys.exit("error: a changed message was not refused")
    print("a changed message is refused")

    key.write_bytes(b"shared by gateway and device")
    tag = core.hmac(key.read_bytes(), message).hex()
    if must("sum", "--hmac-key-file", key, original).split()[-1] != tag:
        sys.exit(f"error: the core's tag is {tag}")
    print(f"HMAC {tag}  by the core, as by manylane sum")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--manylane", default="manylane", help="the command, if it is not in PATH")
    parser.add_argument("file", nargs="?", type=pathlib.Path, help="the message, at most 65504 bytes")
    options = parser.parse_args()

    manylane = shutil.which(options.manylane)
    if manylane is None:
        sys.exit(f"error: {options.manylane} is not a command (cargo build --release -p manylane-cli)")
    message = options.file.read_bytes() if options.file else COMMAND
    if not 0 < len(message) <= 65504:
        sys.exit("error: the message must have 1 to 65504 bytes")
    with tempfile.TemporaryDirectory() as folder:
        flow(manylane, message, Core(), pathlib.Path(folder))


if __name__ == "__main__":
    main()
