"""An AHB-Lite master for cocotb that plays beats cycle by cycle, and the SM3 slave seen through it.

Everything happens on falling edges: what the slave drove at the rising edge before is read from the harness's
samples, what the master drives next is stable long before the following one. So the tests are free of races
in every simulator, and a cycle is one trigger.
"""

import os
import pathlib
import sys
from dataclasses import dataclass

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "ref"))
import sm3  # noqa: E402  (the reference implementation)

IDLE, BUSY, NONSEQ, SEQ = range(4)
SINGLE, INCR, WRAP4, INCR4, WRAP8, INCR8, WRAP16, INCR16 = range(8)
BEATS = {SINGLE: 1, WRAP4: 4, INCR4: 4, WRAP8: 8, INCR8: 8, WRAP16: 16, INCR16: 16}
WORD = 2

ID, VERSION, CTRL, STATUS, IRQ_ENABLE, IRQ_STATUS = 0x00, 0x04, 0x08, 0x0C, 0x10, 0x14
DIN, DIGEST = 0x40, 0x80
CTRL_INIT, CTRL_SWAP_IN, CTRL_SWAP_OUT, CTRL_DMA_ENABLE = 1, 2, 4, 8
CTRL_DMA_EARLY = 8
STATUS_READY, STATUS_BUSY, STATUS_COUNT = 1, 2, 8
IRQ_DONE, IRQ_READY, IRQ_ERROR = 1, 2, 4

# The parameter set under test.
SET = int(os.environ["SM3_SET"])
ROUNDS = 1 + SET % 2
BUFFERED = SET // 2
BLOCK_CYCLES = 68 // ROUNDS
LONG = os.environ.get("SM3_LONG") == "1"


@dataclass
class Beat:
    """One address phase, and the data of its data phase; `sel` 0 is another slave, which waits `wait` cycles."""

    addr: int = 0
    data: int = 0
    write: int = 0
    trans: int = NONSEQ
    burst: int = SINGLE
    size: int = WORD
    sel: int = 1
    wait: int = 0


@dataclass
class Answer:
    """What the slave did with a beat; `cycle`, `irq` and `dma_req` as of the edge that ended its data phase."""

    error: bool = False
    waits: int = 0
    data: int = 0
    cycle: int = 0
    irq: int = 0
    dma_req: int = 0


def idle(count=1):
    return [Beat(trans=IDLE) for _ in range(count)]


def read(addr):
    return Beat(addr)


def write(addr, data):
    return Beat(addr, data, 1)


def burst(kind, words, addr=DIN):
    """The beats of one burst that writes `words`; the address of a wrapping one may be any in its window."""
    span = 4 * BEATS[kind] if kind in (WRAP4, WRAP8, WRAP16) else 0
    beats = []
    for i, word in enumerate(words):
        beats.append(Beat(addr, word, 1, SEQ if i else NONSEQ, kind))
        addr = addr & ~(span - 1) | (addr + 4) & (span - 1) if span else addr + 4
    return beats


def words_of(data):
    return [int.from_bytes(data[i : i + 4], "big") for i in range(0, len(data), 4)]


def swapped(word):
    return int.from_bytes(word.to_bytes(4, "big"), "little")


class Bus:
    """The master. `cycle` counts rising edges; all coroutines begin and end just after a falling edge."""

    def __init__(self, dut):
        self.dut = dut
        self.cycle = 0
        self.driven = {}

    def drive(self, **values):
        for name, value in values.items():
            if self.driven.get(name) != value:
                getattr(self.dut, name).value = value
                self.driven[name] = value

    async def tick(self, count=1):
        for _ in range(count):
            await FallingEdge(self.dut.clk)
            self.cycle += 1

    async def start(self):
        """Clock and reset."""
        self.drive(select=SET, rst_n=1, HSEL=0, HADDR=0, HTRANS=IDLE, HWRITE=0, HSIZE=WORD, HBURST=0, HWDATA=0)
        self.drive(other_ready=1, c_init=0, c_w_data=0, c_w_valid=0, c_v_index=0, c_v_write=0, c_v_next=0)
        cocotb.start_soon(Clock(self.dut.clk, 10, "ns").start())
        await self.tick()
        await self.reset()

    async def reset(self, cycles=2):
        self.drive(rst_n=0, HTRANS=IDLE, HSEL=0, other_ready=1)
        await self.tick(cycles)
        self.drive(rst_n=1)
        await self.tick()

    def address(self, beat):
        if beat is None:
            self.drive(HTRANS=IDLE)
        else:
            self.drive(
                HSEL=beat.sel,
                HADDR=beat.addr,
                HTRANS=beat.trans,
                HWRITE=beat.write,
                HSIZE=beat.size,
                HBURST=beat.burst,
            )

    async def play(self, beats, withdraw=False, cycles=None):
        """Plays beats, pipelined, and gives the answers of those that transfer something from or to this slave.

        With `withdraw`, the beat whose address is out when ERROR's first cycle is seen becomes IDLE, and with it
        all that follow: what a master may do.
        """
        answers = []
        source = iter(beats)
        current, in_data, answer = next(source, None), None, None
        other = 0
        self.address(current)
        end = None if cycles is None else self.cycle + cycles
        while (current is not None or in_data is not None) and self.cycle != end:
            await self.tick()
            sample = int(self.dut.sample.value)
            ready, resp = sample & 1, sample >> 1 & 1
            if not ready:
                if other:
                    other -= 1
                    self.drive(other_ready=int(other == 0))
                elif resp:
                    answer.error = True
                    if withdraw:
                        current, source = None, iter(())
                        self.address(None)
                else:
                    answer.waits += 1
                continue
            if answer is not None:
                assert answer.error == bool(resp), "ERROR takes two cycles"
                answer.cycle, answer.irq, answer.dma_req = self.cycle, sample >> 2 & 1, sample >> 3
                if not in_data.write and not answer.error:
                    answer.data = int(self.dut.sample_data.value)
            in_data, answer = current, None
            if in_data is not None:
                self.drive(HWDATA=in_data.data if in_data.write else 0xDEADBEEF)
                if not in_data.sel and in_data.wait:
                    other = in_data.wait
                    self.drive(other_ready=0)
                elif in_data.sel and in_data.trans & NONSEQ:
                    answer = Answer()
                    answers.append(answer)
                current = next(source, None)
            self.address(current)
        self.check_rules()
        return answers

    def check_rules(self):
        broken = int(self.dut.broken.value)
        assert broken == 0, f"rule {broken} of ahb_rules.v is broken"


class Sm3(Bus):
    """The slave's registers."""

    async def read(self, addr):
        (answer,) = await self.play([read(addr)])
        assert not answer.error, f"ERROR reading 0x{addr:02x}"
        return answer.data

    async def write(self, addr, data):
        (answer,) = await self.play([write(addr, data)])
        assert not answer.error, f"ERROR writing 0x{addr:02x}"

    async def init(self, flags=0):
        await self.write(CTRL, CTRL_INIT | flags)

    async def send(self, words):
        """Words in bursts as long as possible."""
        beats = []
        for i in range(0, len(words), 16):
            part = words[i : i + 16]
            kind = INCR16 if len(part) == 16 else INCR
            beats += burst(kind, part)
        answers = await self.play(beats)
        assert not any(a.error for a in answers)
        return answers

    async def wait_status(self, mask, value, limit=4 * BLOCK_CYCLES):
        for _ in range(limit):
            if await self.read(STATUS) & mask == value:
                return
        raise AssertionError(f"STATUS & {mask} has not become {value}")

    async def digest(self):
        await self.wait_status(STATUS_BUSY, 0)
        answers = await self.play([Beat(DIGEST + 4 * i, trans=SEQ if i else NONSEQ, burst=INCR8) for i in range(8)])
        assert not any(a.error for a in answers)
        return [a.data for a in answers]

    async def restore(self, words):
        answers = await self.play([write(DIGEST + 4 * i, w) for i, w in enumerate(words)])
        assert not any(a.error for a in answers)

    async def hash(self, message, flags=0):
        """The digest of a message, as bytes."""
        await self.init(flags)
        await self.send(words_of(sm3.pad(message)))
        return b"".join(w.to_bytes(4, "big") for w in await self.digest())


async def started(dut):
    bus = Sm3(dut)
    await bus.start()
    return bus
