"""Cycles: block to block, waits, READY's promise, DMA_REQ."""

import random

import cocotb

from sm3_bus import (
    BLOCK_CYCLES, BUFFERED, CTRL, CTRL_DMA_EARLY, CTRL_DMA_ENABLE, DIN, INCR, INCR4, INCR8, INCR16, IRQ_READY, IRQ_STATUS,
    SINGLE, STATUS, STATUS_BUSY, STATUS_COUNT, STATUS_READY, WRAP4, WRAP8, WRAP16, Beat, burst, idle, read, sm3, started,
    words_of, write,
)


def message(blocks, seed=0):
    """Padded words of so many blocks, and the digest."""
    data = random.Random(seed).randbytes(64 * blocks - 20)
    digest = sm3.IV
    padded = sm3.pad(data)
    for i in range(0, len(padded), 64):
        digest = sm3.CF(digest, padded[i : i + 64])
    return words_of(padded), list(digest)


async def until_ready(bus, limit=3 * BLOCK_CYCLES):
    """Ticks to the first cycle with DMA_REQ, which is READY where DMA_EARLY is 0."""
    for _ in range(limit):
        if int(bus.dut.DMA_REQ.value):
            return
        await bus.tick()
    raise AssertionError("DMA_REQ has not risen")


@cocotb.test()
async def sustained(dut):
    """A master that never pauses: 68 or 34 cycles from block to block, with every kind of burst."""
    bus = await started(dut)
    words, digest = message(8)
    for kind, length in ((INCR16, 16), (WRAP16, 16), (INCR8, 8), (WRAP8, 8), (INCR4, 4), (WRAP4, 4), (INCR, 2), (SINGLE, 1)):
        await bus.init()
        beats = []
        for i in range(0, len(words), length):
            beats += burst(kind, words[i : i + length], DIN + (4 * i % 64))
        answers = await bus.play(beats)
        assert not any(a.error for a in answers)
        ends = [a.cycle for a in answers[15::16]]
        assert [b - a for a, b in zip(ends, ends[1:])][2:] == [BLOCK_CYCLES] * 5, f"burst {kind}: blocks end at {ends}"
        assert await bus.digest() == digest
    longest = int(dut.longest.value)
    dut._log.info("longest wait on DIN: %d cycles", longest)
    assert 0 < longest <= BLOCK_CYCLES


@cocotb.test()
async def latency(dut):
    """From the edge that takes the last word to the first cycle without BUSY."""
    bus = await started(dut)
    words, digest = message(1)
    answers = await bus.play(burst(INCR16, words))
    for _ in range(2 * BLOCK_CYCLES):
        (status,) = await bus.play([read(STATUS)])
        if not status.data & STATUS_BUSY:
            break
    # A read ends every second cycle: the cycle before may have been the first one.
    assert status.cycle - answers[-1].cycle <= BLOCK_CYCLES + 3
    assert await bus.digest() == digest


@cocotb.test()
async def ready_is_kept(dut):
    """INCR16 in the first cycle of READY, or in any later one, meets no wait; blocks are complete and in order."""
    bus = await started(dut)
    words, digest = message(4, 1)
    for delay in list(range(BLOCK_CYCLES + 20)):
        await bus.init(CTRL_DMA_ENABLE)
        ends = []
        for i in range(0, len(words), 16):
            await until_ready(bus)
            await bus.tick(delay)
            answers = await bus.play(burst(INCR16, words[i : i + 16]))
            assert [a.waits for a in answers] == [0] * 16, f"waits of block {i // 16}, {delay} cycles after READY"
            ends.append(answers[-1].cycle)
        if delay == 0 and not BUFFERED:
            # One cycle is lost: the address phase of a burst that begins with READY. DMA_EARLY 1 wins it back.
            assert ends[-1] - ends[-2] == BLOCK_CYCLES + 1, ends
        assert await bus.digest() == digest


@cocotb.test()
async def ready_promises_any_burst(dut):
    """The same with BUSY and IDLE in between, and words as single transfers: still no wait."""
    bus = await started(dut)
    words, digest = message(4, 2)
    choose = random.Random(3)
    for _ in range(30):
        await bus.init(CTRL_DMA_ENABLE)
        for i in range(0, len(words), 16):
            await until_ready(bus)
            await bus.tick(choose.choice((0, 1, 2, 5)))
            beats = []
            for word in words[i : i + 16]:
                beats.append(write(DIN, word))
                beats += idle(choose.choice((0, 0, 0, 1, 7)))
            answers = await bus.play(beats)
            assert not any(a.waits for a in answers)
        assert await bus.digest() == digest


@cocotb.test()
async def ready_is_the_status_bit(dut):
    """In every cycle DMA_REQ with DMA_EARLY 0 is STATUS.READY; IRQ_STATUS.READY comes with its rise."""
    bus = await started(dut)
    words, digest = message(3, 4)
    await bus.init(CTRL_DMA_ENABLE)
    rises = 0
    for i in range(0, len(words), 16):
        await bus.write(IRQ_STATUS, 7)
        beats = []
        for word in words[i : i + 16]:
            beats += [write(DIN, word), read(STATUS)]
        reads = (await bus.play(beats))[1::2]
        reads += await bus.play([read(STATUS) for _ in range(BLOCK_CYCLES + 8)])
        for answer in reads:
            assert answer.dma_req == answer.data & STATUS_READY, f"cycle {answer.cycle}"
        rises += sum(b.dma_req and not a.dma_req for a, b in zip(reads, reads[1:]))
        assert await bus.read(IRQ_STATUS) & IRQ_READY
    assert rises == 3
    assert await bus.digest() == digest


@cocotb.test()
async def busy_is_the_truth(dut):
    """BUSY in every cycle from the first word on, then never again until the next word."""
    bus = await started(dut)
    words, digest = message(1, 5)
    answers = await bus.play(burst(INCR16, words) + [read(STATUS) for _ in range(BLOCK_CYCLES + 20)])
    busy = [a.data & STATUS_BUSY for a in answers[16:]]
    fall = busy.index(0)
    assert BLOCK_CYCLES - 17 <= fall <= BLOCK_CYCLES + 2 and not any(busy[fall:])
    assert await bus.digest() == digest


async def dma_rise(bus, words, early, enable_after=None):
    """Cycles from the end of a block of words to DMA_REQ's rise."""
    await bus.init()
    await bus.write(CTRL, CTRL_DMA_ENABLE | early << CTRL_DMA_EARLY)
    assert int(bus.dut.DMA_REQ.value) == 1, "DMA_REQ of an empty slave"
    beats = burst(INCR16, words)
    answers = await bus.play(beats[:1])
    if not BUFFERED:
        assert int(bus.dut.DMA_REQ.value) == 0, "DMA_REQ after the first word"
    answers += await bus.play([Beat(DIN, w, 1) for w in words[1:]])
    end = answers[-1].cycle
    await until_ready(bus)
    rise = bus.cycle - end
    while int(bus.dut.DMA_REQ.value):
        await bus.tick()
        if bus.cycle - end > 2 * BLOCK_CYCLES:
            return rise
    raise AssertionError("DMA_REQ fell without a word")


@cocotb.test()
async def dma_early(dut):
    """DMA_REQ rises DMA_EARLY cycles before READY, or as soon as the block before is loaded."""
    bus = await started(dut)
    words, _ = message(1, 6)
    ready = await dma_rise(bus, words, 0)
    for early in list(range(1, BLOCK_CYCLES + 4)) + [100, 128, 255]:
        rise = await dma_rise(bus, words, early)
        assert rise == max(ready - early, 0), f"DMA_EARLY {early}: {rise} instead of {ready - early}"


@cocotb.test()
async def dma_controller(dut):
    """A controller whose first word comes DMA_EARLY cycles after the request never waits, at the full rate."""
    bus = await started(dut)
    words, digest = message(8, 7)
    for early in (1, 2, 3, 8):
        await bus.init()
        await bus.write(CTRL, CTRL_DMA_ENABLE | early << CTRL_DMA_EARLY)
        ends = []
        for i in range(0, len(words), 16):
            await until_ready(bus)
            await bus.tick(early - 1)
            answers = await bus.play(burst(INCR16, words[i : i + 16]))
            assert not any(a.waits for a in answers), f"DMA_EARLY {early}, block {i // 16}"
            ends.append(answers[-1].cycle)
        if not BUFFERED:
            assert [b - a for a, b in zip(ends, ends[1:])][2:] == [BLOCK_CYCLES] * 5, f"DMA_EARLY {early}: {ends}"
        await bus.write(CTRL, early << CTRL_DMA_EARLY)
        assert int(dut.DMA_REQ.value) == 0, "DMA_REQ though not enabled"
        assert await bus.digest() == digest


@cocotb.test()
async def late_words(dut):
    """One gap of each length before each word of the second block, the first being compressed meanwhile."""
    bus = await started(dut)
    words, digest = message(2, 8)
    gaps = [0, 1, 2, 15, 16, 17, 18, BLOCK_CYCLES - 17, BLOCK_CYCLES - 16, BLOCK_CYCLES - 15, BLOCK_CYCLES, BLOCK_CYCLES + 9]
    for late in range(16):
        for gap in gaps:
            await bus.init()
            answers = await bus.play(
                burst(INCR16, words[:16]) + burst(INCR, words[16 : 16 + late]) + idle(gap) + burst(INCR, words[16 + late :])
            )
            assert not any(a.error for a in answers)
            (status,) = await bus.play([read(STATUS)])
            assert status.data & STATUS_BUSY and (BUFFERED or not status.data >> STATUS_COUNT)
            assert await bus.digest() == digest, f"{gap} cycles before word {late}"
