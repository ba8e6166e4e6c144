"""Reset and INIT in the middle of everything, and contexts saved and restored."""

import random

import cocotb

from sm3_bus import (
    BLOCK_CYCLES, CTRL, CTRL_INIT, DIN, INCR, INCR16, IRQ_ENABLE, IRQ_STATUS, STATUS, STATUS_BUSY, STATUS_READY, Beat, burst,
    idle, read, sm3, started, words_of, write,
)

MESSAGE = words_of(sm3.pad(b"abc"))
HASH = list(sm3.CF(sm3.IV, sm3.pad(b"abc")))
NOISE = [0x9E3779B9 * (i + 1) & 0xFFFFFFFF for i in range(48)]


@cocotb.test()
async def reset_anywhere(dut):
    """Reset in each cycle of a block's load, compression and wait, for one cycle: nothing is left."""
    bus = await started(dut)
    for cycles in range(0, 3 * BLOCK_CYCLES, 1 if BLOCK_CYCLES < 40 else 2):
        await bus.write(CTRL, 0xFF0E & ~6)
        await bus.write(IRQ_ENABLE, 7)
        await bus.play([Beat(0x18)] + burst(INCR, NOISE), cycles=cycles)
        bus.drive(rst_n=0, HTRANS=0)
        await bus.tick()
        assert int(dut.sample.value) & 3 == 1, "HREADY high and HRESP low in reset"
        assert int(dut.IRQ.value) == 0 and int(dut.DMA_REQ.value) == 0
        bus.drive(rst_n=1, other_ready=1)
        answers = await bus.play([read(CTRL), read(STATUS), read(IRQ_ENABLE), read(IRQ_STATUS)])
        assert [a.data for a in answers] == [0, STATUS_READY, 0, 0]
        if cycles % 3 == 0:
            assert await bus.digest() == list(sm3.IV)
        await bus.send(MESSAGE)
        assert await bus.digest() == HASH, f"after a reset at cycle {cycles}"


@cocotb.test()
async def init_anywhere(dut):
    """INIT after each number of words and of cycles, and at once behind a word: the message before leaves no trace."""
    bus = await started(dut)
    for count in (1, 2, 8, 15, 16, 17, 24, 31, 32, 33, 40):
        for gap in range(0, BLOCK_CYCLES + 8, 1 if count == 16 else 11):
            beats = burst(INCR, NOISE[:count]) + idle(gap)
            answers = await bus.play(beats + [write(CTRL, CTRL_INIT), read(STATUS)] + burst(INCR16, MESSAGE))
            assert answers[count + 1].data == STATUS_READY, f"STATUS after INIT, {count} words and {gap} cycles"
            assert not any(a.error or a.waits for a in answers[count:])
            assert await bus.digest() == HASH, f"INIT after {count} words and {gap} cycles"
    # Words right before and right behind INIT, and INIT twice.
    beats = burst(INCR, NOISE[:5]) + [write(CTRL, CTRL_INIT)] + burst(INCR, NOISE[:3]) + [write(CTRL, CTRL_INIT)] * 2
    await bus.play(beats + [write(DIN, w) for w in MESSAGE])
    assert await bus.digest() == HASH


@cocotb.test()
async def init_while_idle(dut):
    """INIT gives IV after a digest, and what was restored is dropped too."""
    bus = await started(dut)
    await bus.send(MESSAGE)
    assert await bus.digest() == HASH
    await bus.init()
    assert await bus.digest() == list(sm3.IV)
    await bus.restore(HASH)
    await bus.init()
    await bus.send(MESSAGE)
    assert await bus.digest() == HASH


@cocotb.test()
async def contexts(dut):
    """Messages hashed turn by turn, each time some blocks: V saved, the others' work, V restored."""
    bus = await started(dut)
    choose = random.Random(9)
    for _ in range(6):
        todo, saved, expected = [], [], []
        for length in choose.choices((55, 56, 119, 128, 300), k=3):
            data = choose.randbytes(length)
            todo.append(words_of(sm3.pad(data)))
            saved.append(list(sm3.IV))
            v = sm3.IV
            padded = sm3.pad(data)
            for i in range(0, len(padded), 64):
                v = sm3.CF(v, padded[i : i + 64])
            expected.append(list(v))
        await bus.init()
        while any(todo):
            turn = choose.choice([i for i, words in enumerate(todo) if words])
            if choose.randrange(3) == 0:
                await bus.play(burst(INCR, NOISE[: choose.randrange(1, 16)]))
                await bus.init()
            await bus.restore(saved[turn])
            count = 16 * choose.randrange(1, 3)
            await bus.send(todo[turn][:count])
            todo[turn] = todo[turn][count:]
            saved[turn] = await bus.digest()
        assert saved == expected
    assert await bus.read(STATUS) & STATUS_BUSY == 0
