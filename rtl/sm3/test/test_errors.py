"""Every error response: that it comes, in two cycles (ahb_rules.v), sets IRQ_STATUS.ERROR and changes nothing."""

import random

import cocotb

from sm3_bus import (
    BUSY, CTRL, CTRL_SWAP_IN, DIGEST, DIN, ID, IDLE, INCR, INCR16, IRQ_ENABLE, IRQ_ERROR, IRQ_STATUS, LONG, NONSEQ, SEQ,
    STATUS, STATUS_BUSY, STATUS_COUNT, STATUS_READY, VERSION, WORD, Beat, burst, idle, read, sm3, started, words_of, write,
)

MESSAGE = words_of(sm3.pad(b"abc"))
HASH = list(sm3.CF(sm3.IV, sm3.pad(b"abc")))
REGISTERS = (ID, VERSION, CTRL, STATUS, IRQ_ENABLE, IRQ_STATUS)
DINS = tuple(range(DIN, DIN + 64, 4))
DIGESTS = tuple(range(DIGEST, DIGEST + 32, 4))
READABLE = REGISTERS + DIGESTS
WRITABLE = (CTRL, IRQ_ENABLE, IRQ_STATUS) + DINS + DIGESTS


def wrong_transfers():
    """All wrong addresses (outside the long run: those near the map and its aliases), sizes and directions."""
    addresses = set(range(0, 0x1000, 4))
    if not LONG:
        aliases = {a | 1 << bit for a in REGISTERS + (DIN, DIGEST) for bit in range(8, 12)}
        addresses = set(range(0, 0x100, 4)) | aliases | {0xFFC} | {4 * random.randrange(1024) for _ in range(40)}
    beats = []
    for addr in sorted(addresses):
        if addr not in READABLE:
            beats.append(Beat(addr))
        if addr not in WRITABLE:
            beats.append(Beat(addr, 0xFFFFFFFF, 1))
    for legal, way in ((READABLE, 0), (WRITABLE, 1)):
        for addr in legal:
            for offset in (1, 2, 3):
                beats.append(Beat(addr + offset, 0xFFFFFFFF, way))
            for size in (0, 1, 3, 4, 5, 6, 7):
                beats.append(Beat(addr, 0xFFFFFFFF, way, size=size))
    return beats


async def all_wrong(bus, beats, digests):
    """Plays each wrong beat with looks at IRQ_STATUS around it, and compares everything readable."""
    look = [read(a) for a in READABLE if a != IRQ_STATUS and (digests or a not in DIGESTS)]
    before = [a.data for a in await bus.play(look)]
    random.shuffle(beats)
    for start in range(0, len(beats), 8):
        part = beats[start : start + 8]
        played = []
        for beat in part:
            played += [write(IRQ_STATUS, IRQ_ERROR), read(IRQ_STATUS), beat, read(IRQ_STATUS)]
        answers = await bus.play(played)
        for i, beat in enumerate(part):
            cleared, clear, wrong, after = answers[4 * i : 4 * i + 4]
            assert not cleared.error and not clear.error and not after.error
            assert wrong.error, f"no ERROR for {beat}"
            assert not clear.data & IRQ_ERROR and after.data & IRQ_ERROR, f"IRQ_STATUS around {beat}"
        assert [a.data for a in await bus.play(look)] == before, f"changed by one of {part}"


@cocotb.test()
async def idle_slave(dut):
    random.seed(1)
    bus = await started(dut)
    await bus.send(MESSAGE)
    assert await bus.digest() == HASH
    await bus.write(CTRL, 0x5A00 | CTRL_SWAP_IN)
    await bus.write(IRQ_ENABLE, 2)
    await all_wrong(bus, wrong_transfers(), True)
    await bus.write(CTRL, 0)
    assert await bus.digest() == HASH


@cocotb.test()
async def block_half_loaded(dut):
    """The same with words held, and DIGEST refused, read or written; then the block is completed."""
    random.seed(2)
    bus = await started(dut)
    await bus.play(burst(INCR, MESSAGE[:5]))
    digests = [Beat(a, 0xFFFFFFFF, way) for a in DIGESTS for way in (0, 1)]
    await all_wrong(bus, wrong_transfers() + digests, False)
    assert await bus.read(STATUS) == STATUS_BUSY | 5 << STATUS_COUNT
    await bus.play(burst(INCR, MESSAGE[5:]))
    assert await bus.digest() == HASH


@cocotb.test()
async def digest_while_busy(dut):
    """DIGEST in each cycle of a compression: refused while STATUS, read with it, says BUSY, and right afterwards."""
    bus = await started(dut)
    for way in (0, 1):
        refused = taken = 0
        for gap in range(0, 100):
            await bus.init()
            answers = await bus.play(
                burst(INCR16, MESSAGE) + idle(gap) + [read(STATUS), Beat(DIGEST + 4 * (gap % 8), 0x600DCAFE, way), read(STATUS)]
            )
            before, access, after = answers[16:]
            if access.error:
                refused += 1
                assert before.data & STATUS_BUSY, "refused though not BUSY before"
                assert await bus.digest() == HASH, "a refused access has changed something"
            else:
                taken += 1
                assert not after.data & STATUS_BUSY, "taken though BUSY after"
                expected = list(HASH)
                if way:
                    expected[gap % 8] = 0x600DCAFE
                else:
                    assert access.data == HASH[gap % 8]
                assert await bus.digest() == expected
        assert refused > 20 and taken > 20
    # Right behind the first word and the last.
    for words in (MESSAGE[:1], MESSAGE):
        for way in (0, 1):
            await bus.init()
            answers = await bus.play(burst(INCR, words) + [Beat(DIGEST, 1, way)])
            assert answers[-1].error
    await bus.init()


@cocotb.test()
async def within_bursts(dut):
    """A burst that leaves the window gets ERROR from there on; a master may go on or withdraw."""
    bus = await started(dut)
    for withdraw in (False, True):
        await bus.init()
        beats = burst(INCR16, [0] * 8, 0x60)
        beats += [Beat(0x00 + 4 * i, 0xFFFFFFFF, 1, SEQ, INCR16) for i in (0, 1)]
        answers = await bus.play(beats, withdraw)
        assert [a.error for a in answers] == [False] * 8 + [True] * (1 if withdraw else 2)
        assert await bus.read(STATUS) == STATUS_BUSY | 8 << STATUS_COUNT
    # The transfer whose address is out in ERROR's second cycle is the next one; what was withdrawn has not happened.
    await bus.init()
    answers = await bus.play([Beat(0x18, 1, 1), write(DIN, 1), Beat(DIN), write(DIN, 1)])
    assert [a.error for a in answers] == [True, False, True, False]
    await bus.play([Beat(0x18, 1, 1), write(DIN, 1)], withdraw=True)
    assert await bus.read(STATUS) == STATUS_BUSY | 2 << STATUS_COUNT
    await bus.play([Beat(0x18), read(ID), Beat(0x1C, 0, 1), Beat(0x20, 0, 1)])
    bus.check_rules()


@cocotb.test()
async def no_transfer(dut):
    """IDLE and BUSY do nothing at any address, size or direction; neither does another slave's transfer."""
    random.seed(3)
    bus = await started(dut)
    await bus.send(MESSAGE[:7])
    before = [a.data for a in await bus.play([read(CTRL), read(STATUS), read(IRQ_ENABLE), read(IRQ_STATUS)])]
    beats = []
    for _ in range(1500):
        kind = random.randrange(3)
        addr = random.choice(WRITABLE + READABLE + (0x18, 0x101, 0xFFF))
        sel = int(kind < 2)
        trans = (IDLE, BUSY, random.choice((IDLE, BUSY, NONSEQ, SEQ)))[kind]
        wait = random.choice((0, 0, 1, 3))
        beats.append(Beat(addr, 0xFFFFFFFF, random.randrange(2), trans, random.randrange(8), random.choice((WORD, 0)), sel, wait))
        if random.randrange(4) == 0:
            beats.append(read(ID))
    answers = await bus.play(beats)
    assert all(not a.error and a.data == 0x534D3320 for a in answers)
    assert [a.data for a in await bus.play([read(CTRL), read(STATUS), read(IRQ_ENABLE), read(IRQ_STATUS)])] == before
    await bus.send(MESSAGE[7:])
    assert await bus.digest() == HASH
    assert await bus.read(STATUS) & STATUS_READY
