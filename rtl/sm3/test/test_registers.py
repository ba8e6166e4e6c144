"""Every register: reset values, reads, writes, reserved bits, write-one-to-clear, interrupts, byte order."""

import cocotb

from sm3_bus import (
    BLOCK_CYCLES, BUFFERED, CTRL, CTRL_INIT, CTRL_SWAP_IN, CTRL_SWAP_OUT, DIGEST, DIN, ID, INCR16, IRQ_DONE, IRQ_ENABLE,
    IRQ_ERROR, IRQ_READY, IRQ_STATUS, ROUNDS, STATUS, STATUS_BUSY, STATUS_COUNT, STATUS_READY, VERSION, Beat,
    burst, idle, read, sm3, started, swapped, words_of, write,
)

MESSAGE = words_of(sm3.pad(b"abc"))
HASH = list(sm3.CF(sm3.IV, sm3.pad(b"abc")))
VERSION_1_0 = 1 << 8 | ROUNDS << 16 | BUFFERED << 18


@cocotb.test()
async def reset_values(dut):
    """All outputs are known after reset, and the slave hashes without any INIT."""
    bus = await started(dut)
    expected = {ID: 0x534D3320, VERSION: VERSION_1_0, CTRL: 0, STATUS: STATUS_READY, IRQ_ENABLE: 0, IRQ_STATUS: 0}
    for addr, value in expected.items():
        assert await bus.read(addr) == value, f"0x{addr:02x} after reset"
    assert int(dut.IRQ.value) == 0 and int(dut.DMA_REQ.value) == 0
    assert await bus.digest() == list(sm3.IV)
    await bus.send(MESSAGE)
    assert await bus.digest() == HASH


@cocotb.test()
async def reserved_bits(dut):
    bus = await started(dut)
    await bus.write(CTRL, 0xFFFFFFFF)
    assert await bus.read(CTRL) == 0xFF0E, "INIT and reserved bits read 0"
    await bus.write(IRQ_ENABLE, 0xFFFFFFFF)
    assert await bus.read(IRQ_ENABLE) == 7
    for bit in range(32):
        await bus.write(CTRL, 1 << bit)
        assert await bus.read(CTRL) == 1 << bit & 0xFF0E
        await bus.write(IRQ_ENABLE, 1 << bit)
        assert await bus.read(IRQ_ENABLE) == 1 << bit & 7
        await bus.write(IRQ_STATUS, 1 << bit)
        assert await bus.read(IRQ_STATUS) == 0
    assert await bus.read(STATUS) == STATUS_READY


@cocotb.test()
async def registers_keep_apart(dut):
    """A write reaches its register alone, also in a pipeline of writes and reads."""
    bus = await started(dut)
    v = [0x01234567 * (i + 1) & 0xFFFFFFFF for i in range(8)]
    values = {CTRL: 0xA50A, IRQ_ENABLE: 5} | {DIGEST + 4 * i: w for i, w in enumerate(v)}
    beats = [write(a, d) for a, d in values.items()] + [read(a) for a in values]
    answers = await bus.play(beats)
    assert [a.data for a in answers[len(values) :]] == [d if a < DIGEST else swapped(swapped(d)) for a, d in values.items()]
    for addr in values:
        changed = (values[addr] ^ (0xF00 if addr == CTRL else 2 if addr == IRQ_ENABLE else 0xFFFFFFFF)) & 0xFFFFFFFF
        values[addr] = changed
        answers = await bus.play([write(addr, changed)] + [read(a) for a in values])
        assert [a.data for a in answers[1:]] == list(values.values()), f"after writing 0x{addr:02x}"


@cocotb.test()
async def ready_and_busy(dut):
    """STATUS follows the words at once: read after each of them, in the same pipeline."""
    bus = await started(dut)
    beats = []
    for word in MESSAGE:
        beats += [write(DIN, word), read(STATUS)]
    answers = await bus.play(beats)
    for i, answer in enumerate(answers[1:-1:2]):
        assert answer.data & ~STATUS_READY == STATUS_BUSY | (i + 1) << STATUS_COUNT, f"STATUS after word {i}"
        assert not answer.data & STATUS_READY, f"READY within a block, word {i}"
    assert answers[-1].data & STATUS_BUSY, "BUSY right after the last word"
    assert answers[-1].data >> STATUS_COUNT & 31 in ((0, 16) if BUFFERED else (0,))
    await bus.wait_status(STATUS_BUSY, 0)
    assert await bus.read(STATUS) == STATUS_READY
    assert await bus.digest() == HASH


@cocotb.test()
async def window(dut):
    """Words are taken in the order of the transfers, whatever their address in the window."""
    bus = await started(dut)
    for order in (lambda i: 0, lambda i: 15 - i, lambda i: 7 * i % 16, lambda i: 15):
        await bus.init()
        answers = await bus.play([write(DIN + 4 * order(i), w) for i, w in enumerate(MESSAGE)])
        assert not any(a.error for a in answers)
        assert await bus.digest() == HASH


@cocotb.test()
async def byte_order(dut):
    bus = await started(dut)
    for flags in (0, CTRL_SWAP_IN, CTRL_SWAP_OUT, CTRL_SWAP_IN | CTRL_SWAP_OUT):
        into = swapped if flags & CTRL_SWAP_IN else int
        out = swapped if flags & CTRL_SWAP_OUT else int
        await bus.init(flags)
        assert await bus.read(CTRL) == flags
        await bus.send([into(w) for w in MESSAGE])
        assert await bus.digest() == [out(w) for w in HASH], f"digest with CTRL {flags}"
        await bus.restore([out(w) for w in sm3.IV])
        assert await bus.digest() == [out(w) for w in sm3.IV]
        await bus.write(CTRL, flags ^ CTRL_SWAP_OUT)
        assert await bus.digest() == [swapped(out(w)) for w in sm3.IV], "SWAP_OUT acts on the bus alone"
        await bus.write(CTRL, flags)
        await bus.send([into(w) for w in MESSAGE])
        assert await bus.digest() == [out(w) for w in HASH], f"restored with CTRL {flags}"
    # SWAP_IN of a word is that of its own transfer.
    await bus.init()
    beats = []
    for i, word in enumerate(MESSAGE):
        beats += [write(CTRL, CTRL_SWAP_IN * (i & 1)), write(DIN, swapped(word) if i & 1 else word)]
    await bus.play(beats)
    await bus.write(CTRL, 0)
    assert await bus.digest() == HASH


@cocotb.test()
async def digest_registers(dut):
    """Every word of V alone, all bits, and that hashing goes on from there."""
    bus = await started(dut)
    v = list(sm3.IV)
    for i in range(8):
        for value in (0, 0xFFFFFFFF, 0xAAAAAAAA, 0x55555555, 1 << 4 * i):
            v[i] = value
            await bus.write(DIGEST + 4 * i, value)
            assert await bus.digest() == v
    await bus.send(MESSAGE)
    assert await bus.digest() == list(sm3.CF(v, sm3.pad(b"abc")))
    answers = await bus.play([Beat(DIGEST, 1, 1), Beat(DIGEST), Beat(DIGEST + 4, 2, 1), Beat(DIGEST), write(DIN, 3)])
    assert answers[1].data == 1 and answers[3].data == 1 and not answers[4].error
    # INIT gives IV back, also when a word of V is written and read around it.
    answers = await bus.play([write(CTRL, CTRL_INIT), read(DIGEST), write(DIGEST, 5), write(CTRL, CTRL_INIT), read(DIGEST)])
    assert not any(a.error for a in answers)
    assert answers[1].data == answers[4].data == sm3.IV[0]
    assert await bus.digest() == list(sm3.IV)


@cocotb.test()
async def interrupt_status(dut):
    """DONE, READY and ERROR: set by their events alone, cleared one by one, IRQ for those enabled."""
    bus = await started(dut)
    bad = Beat(0x18)
    for enable in range(8):
        await bus.init()
        await bus.write(IRQ_ENABLE, enable)
        await bus.write(IRQ_STATUS, 7)
        await bus.send(MESSAGE)
        await bus.wait_status(STATUS_BUSY, 0)
        events = IRQ_DONE | IRQ_READY
        assert await bus.read(IRQ_STATUS) == events
        assert int(dut.IRQ.value) == int(bool(enable & events))
        (answer,) = await bus.play([bad])
        assert answer.error
        events |= IRQ_ERROR
        for clear in ((1, 2, 4), (4, 2, 1), (2, 4, 1))[enable % 3]:
            assert await bus.read(IRQ_STATUS) == events
            assert int(dut.IRQ.value) == int(bool(enable & events))
            await bus.write(IRQ_STATUS, 0xFFFFFFF8)
            assert await bus.read(IRQ_STATUS) == events, "zeros clear nothing"
            await bus.write(IRQ_STATUS, clear)
            events &= ~clear
        assert await bus.read(IRQ_STATUS) == 0 and int(dut.IRQ.value) == 0
    await bus.play([bad])
    await bus.write(IRQ_ENABLE, 0)
    assert int(dut.IRQ.value) == 0 and await bus.read(IRQ_STATUS) == IRQ_ERROR
    await bus.write(IRQ_ENABLE, IRQ_ERROR)
    assert int(dut.IRQ.value) == 1, "a pending interrupt that is enabled"


@cocotb.test()
async def done_with_busy(dut):
    """When BUSY is first read 0, DONE is set; READY likewise. IRQ comes no earlier."""
    bus = await started(dut)
    for event, mask, value in ((IRQ_DONE, STATUS_BUSY, 0), (IRQ_READY, STATUS_READY, STATUS_READY)):
        for shift in range(4):
            await bus.init()
            await bus.write(IRQ_STATUS, 7)
            await bus.write(IRQ_ENABLE, event)
            await bus.play(burst(INCR16, MESSAGE) + idle(shift))
            for _ in range(2 * BLOCK_CYCLES):
                status, irq = await bus.play([read(STATUS), read(IRQ_STATUS)])
                if status.data & mask == value:
                    assert irq.data & event, "STATUS has changed, IRQ_STATUS has not"
                    break
                assert not status.irq, "IRQ before its event"
            else:
                raise AssertionError("STATUS has not changed")


@cocotb.test()
async def clear_at_the_event(dut):
    """An event in the very cycle of its clearing is not lost."""
    bus = await started(dut)
    for event in (IRQ_DONE, IRQ_READY):
        await bus.write(IRQ_ENABLE, event)

        async def run(delay):
            await bus.init()
            await bus.write(IRQ_STATUS, 7)
            await bus.play(burst(INCR16, MESSAGE))
            start = bus.cycle
            if delay is None:
                while not int(dut.IRQ.value):
                    assert bus.cycle < start + 2 * BLOCK_CYCLES, "no interrupt"
                    await bus.tick()
                return bus.cycle - start
            await bus.tick(delay)
            (answer,) = await bus.play([write(IRQ_STATUS, event)])
            cleared = answer.cycle - start
            await bus.wait_status(STATUS_BUSY, 0)
            return cleared, await bus.read(IRQ_STATUS) & event

        risen = await run(None)
        for delay in range(max(risen - 6, 0), risen + 3):
            cleared, left = await run(delay)
            assert left == (event if cleared <= risen else 0), f"cleared at {cleared}, risen at {risen}"


@cocotb.test()
async def ctrl_keeps_the_message(dut):
    """Writing CTRL without INIT changes neither the words nor V; so do other registers."""
    bus = await started(dut)
    for gap in range(0, BLOCK_CYCLES + 4, 3):
        await bus.init()
        beats = burst(INCR16, MESSAGE)
        others = [write(CTRL, 0xFF00), write(IRQ_ENABLE, 7), write(IRQ_STATUS, 7), read(CTRL), write(CTRL, 0), read(ID)]
        for i in (3, 9, 15):
            beats = beats[: i + 2 * (i // 3)] + others + beats[i + 2 * (i // 3) :]
        for i, beat in enumerate(beats):
            if beat.addr >= DIN and beat.write:
                beats[i] = write(DIN, beat.data)
        answers = await bus.play(beats + idle(gap) + others)
        assert not any(a.error for a in answers)
        assert await bus.digest() == HASH
