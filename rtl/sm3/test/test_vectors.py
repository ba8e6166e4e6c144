"""vectors/sm3.json through the slave: examples with every V, painted messages, HMAC."""

import json
import pathlib

import cocotb
from cocotbext.ahb import AHBBus, AHBLiteMaster, AHBResp

from sm3_bus import CTRL, CTRL_INIT, DIGEST, DIN, LONG, STATUS, STATUS_BUSY, sm3, started, words_of

VECTORS = json.loads((pathlib.Path(__file__).resolve().parents[3] / "vectors/sm3.json").read_text(encoding="ascii"))

# A megabyte is a million cycles: the volume is the random suite's.
LONGEST = 102400 if LONG else 2113


def painted(length, start=0):
    return bytes((start + i) % 251 for i in range(length))


@cocotb.test()
async def examples(dut):
    """Annex A, the chaining value read after every block."""
    bus = await started(dut)
    for example in VECTORS["examples"]:
        words = words_of(sm3.pad(bytes.fromhex(example["message"])))
        await bus.init()
        for block, v in enumerate(example["v"]):
            await bus.send(words[16 * block : 16 * block + 16])
            assert await bus.digest() == words_of(bytes.fromhex(v)), f"{example['source']}, V({block + 1})"


@cocotb.test()
async def painted_messages(dut):
    bus = await started(dut)
    checked = 0
    for vector in VECTORS["painted"]:
        if vector["length"] <= LONGEST:
            digest = await bus.hash(painted(vector["length"]))
            assert digest.hex() == vector["digest"], f"painted {vector['length']}"
            checked += 1
    assert checked >= 81


@cocotb.test()
async def hmac(dut):
    bus = await started(dut)
    vectors = VECTORS["hmac"] if LONG else VECTORS["hmac"][::6]
    for vector in vectors:
        key = painted(vector["key_length"], 100)
        if len(key) > 64:
            key = await bus.hash(key)
        key = key.ljust(64, b"\0")
        inner = await bus.hash(bytes(k ^ 0x36 for k in key) + painted(vector["length"]))
        tag = await bus.hash(bytes(k ^ 0x5C for k in key) + inner)
        assert tag.hex() == vector["tag"], f"HMAC {vector['key_length']} {vector['length']}"


@cocotb.test()
async def another_master(dut):
    """The same by cocotbext-ahb's master, which shares no code with the suite's."""
    bus = await started(dut)
    master = AHBLiteMaster(AHBBus(dut, None), dut.clk, dut.rst_n)
    await bus.tick(2)

    async def okay(coroutine):
        answers = await coroutine
        assert all(a["resp"] == AHBResp.OKAY for a in answers)
        return [int(a["data"], 16) for a in answers]

    for length in (3, 55, 56, 119, 120):
        vector = next(v for v in VECTORS["painted"] if v["length"] == length)
        words = words_of(sm3.pad(painted(length)))
        await okay(master.write(CTRL, CTRL_INIT))
        for i in range(0, len(words), 16):
            await okay(master.write([DIN + 4 * j for j in range(16)], words[i : i + 16], pip=True))
        while (await okay(master.read(STATUS)))[0] & STATUS_BUSY:
            pass
        digest = await okay(master.read([DIGEST + 4 * i for i in range(8)], pip=True))
        assert b"".join(w.to_bytes(4, "big") for w in digest).hex() == vector["digest"], f"painted {length}"
    await bus.tick()
    bus.check_rules()
