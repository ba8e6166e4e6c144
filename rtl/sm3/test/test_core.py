"""sm3_core at its own ports: what a slave for another bus relies on."""

import random

import cocotb

from sm3_bus import BLOCK_CYCLES, Bus, sm3, words_of


class Core(Bus):
    """The core's side of the harness. `done` counts the cycles of done; `taken` the words."""

    def __init__(self, dut):
        super().__init__(dut)
        self.done = 0
        self.taken = 0
        self.started = False

    async def start(self):
        await super().start()
        self.started = True

    async def tick(self, count=1):
        if not self.started:
            await super().tick(count)
            return
        for _ in range(count):
            self.done += int(self.dut.c_done.value)
            await super().tick()
            self.taken += int(self.dut.c_taken.value)
            count = int(self.dut.c_w_count.value)
            assert count == self.taken % 16, "w_count"
            room = int(self.dut.c_w_phase.value) >= 64
            assert int(self.dut.c_w_open.value) == (room and count == 0), "w_open"

    async def feed(self, words, gaps=lambda: 0):
        for word in words:
            for _ in range(gaps()):
                self.drive(c_w_valid=0, c_w_data=0xBAD0BAD0)
                await self.tick()
            self.drive(c_w_valid=1, c_w_data=word)
            before = self.taken
            for _ in range(BLOCK_CYCLES + 1):
                await self.tick()
                if self.taken > before:
                    break
            else:
                raise AssertionError("w_ready has not come within a block's time")
        self.drive(c_w_valid=0)

    async def idle(self):
        for _ in range(2 * BLOCK_CYCLES):
            if not int(self.dut.c_busy.value):
                return
            await self.tick()
        raise AssertionError("busy does not end")

    async def v(self):
        values = []
        for i in range(8):
            self.drive(c_v_index=i)
            await self.tick()
            values.append(int(self.dut.c_v_data.value))
        return values

    async def set_v(self, values):
        for i, value in enumerate(values):
            self.drive(c_v_index=i, c_v_next=value, c_v_write=1)
            await self.tick()
        self.drive(c_v_write=0, c_v_next=0)

    async def init(self):
        self.drive(c_init=1)
        self.taken = 0
        await Bus.tick(self)
        self.taken = 0
        self.drive(c_init=0)


async def core(dut):
    bus = Core(dut)
    await bus.start()
    return bus


def message(blocks, seed):
    padded = sm3.pad(random.Random(seed).randbytes(64 * blocks - 9))
    v = sm3.IV
    for i in range(0, len(padded), 64):
        v = sm3.CF(v, padded[i : i + 64])
    return words_of(padded), list(v)


@cocotb.test()
async def gaps(dut):
    """Random gaps between words; each block gives done once, and V stands when busy has ended."""
    bus = await core(dut)
    assert await bus.v() == list(sm3.IV)
    choose = random.Random(1)
    for seed in range(30):
        words, digest = message(1 + seed % 4, seed)
        pauses = ((0,), (0, 0, 0, 1), (0, 1, 2), (0, 0, 0, 0, 0, 40), (0, 0, 0, 80))[seed % 5]
        await bus.init()
        bus.done = 0
        await bus.feed(words, lambda: choose.choice(pauses))
        assert int(dut.c_busy.value) == 1
        await bus.idle()
        await bus.tick(3)
        assert bus.done == len(words) // 16, "done"
        assert await bus.v() == digest, f"message {seed}"


@cocotb.test()
async def open_is_kept(dut):
    """From any cycle of w_open on, 16 words in a row are taken at once."""
    bus = await core(dut)
    words, digest = message(3, 99)
    for delay in range(BLOCK_CYCLES + 20):
        await bus.init()
        for i in range(0, len(words), 16):
            left = max(64 - int(dut.c_w_phase.value), 0)
            for cycle in range(left):
                assert int(dut.c_w_phase.value) == 64 - left + cycle, "w_phase"
                await bus.tick()
            assert i == 0 or 0 < left < BLOCK_CYCLES
            await bus.tick(delay)
            assert int(dut.c_w_open.value) == 1, "w_open fell without a word"
            for word in words[i : i + 16]:
                bus.drive(c_w_valid=1, c_w_data=word)
                before = bus.taken
                await bus.tick()
                assert bus.taken == before + 1, f"a wait {delay} cycles after w_open"
            bus.drive(c_w_valid=0)
        await bus.idle()
        assert await bus.v() == digest


@cocotb.test()
async def init_at_any_time(dut):
    """init in each cycle, also with a word on offer in that cycle, drops all: V is IV and nothing is busy."""
    bus = await core(dut)
    words, _ = message(3, 5)
    one, digest = message(1, 6)
    for cycles in range(2 * BLOCK_CYCLES):
        await bus.init()
        count = 0
        for _ in range(cycles):
            bus.drive(c_w_valid=1, c_w_data=words[count])
            before = bus.taken
            await bus.tick()
            count += bus.taken - before
        await bus.init()
        bus.drive(c_w_valid=0)
        assert int(dut.c_busy.value) == 0 and int(dut.c_w_open.value) == 1, f"init after {cycles} cycles"
        bus.done = 0
        if cycles % 5 == 0:
            assert await bus.v() == list(sm3.IV)
        await bus.feed(one)
        await bus.idle()
        await bus.tick()
        assert bus.done == 1 and await bus.v() == digest


@cocotb.test()
async def chaining_value(dut):
    """V is written word by word while idle, and a message goes on from it."""
    bus = await core(dut)
    v = [0x11111111 * (i + 1) for i in range(8)]
    await bus.set_v(v)
    assert await bus.v() == v
    await bus.set_v(v[:3])
    words, _ = message(1, 7)
    await bus.feed(words)
    await bus.idle()
    block = b"".join(w.to_bytes(4, "big") for w in words)
    assert await bus.v() == list(sm3.CF(v, block))
