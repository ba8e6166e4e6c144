#!/usr/bin/env python3
"""Writes a file of random messages with their digests for replay_master.v.

    python3 rtl/sm3/test/stimulus.py --messages 1000 --seed 1 -o FILE

The file is 32-bit words in hexadecimal, one a line: operations and what belongs to them.

    bits 3:0  operation                     other bits                           words that follow
    0  end
    1  INIT                                 4 SWAP_IN, 5 SWAP_OUT, 9:8 stalls    -
    2  send words in any bursts             31:16 their number                   the words
    3  save V, when not BUSY                7:4 slot                             -
    4  restore V                            7:4 slot                             -
    5  compare DIGEST, when not BUSY        -                                    8
    6  a wrong transfer, to be refused      6:4 HSIZE, 7 HWRITE, 10:8 HBURST,    -
                                            27:16 HADDR
    7  when READY, INCR16 without a wait    -                                    16

Digests are OpenSSL's, through hashlib; one in sixteen is compared with ref/sm3.py, all of them where hashlib
has no SM3.
"""

import argparse
import hashlib
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "ref"))
import sm3  # noqa: E402  (the reference implementation)

END, INIT, SEND, SAVE, RESTORE, CHECK, WRONG, OPEN = range(8)
SLOTS = 3


def digest_of(message, check):
    try:
        digest = hashlib.new("sm3", message).digest()
    except ValueError:
        return sm3.sm3(message)
    if check and sm3.sm3(message) != digest:
        sys.exit(f"ref/sm3.py and hashlib differ for {message.hex()}")
    return digest


def length(choose):
    """Around the block's and the padding's ends for the most part."""
    kind = choose.randrange(8)
    if kind < 5:
        return max(64 * choose.choice((0, 1, 1, 1, 2, 2, 3, 4)) + choose.choice((-10, -9, -8, -7, -2, -1, 0, 1)), 0)
    return choose.randrange((20, 150, 700)[kind - 5])


class Writer:
    """Turns messages into lines, with the byte order that the group of messages has."""

    def __init__(self, choose):
        self.choose = choose
        self.lines = []
        self.swaps = 0

    def operation(self, op, **fields):
        positions = {"swaps": 4, "stalls": 8, "count": 16, "slot": 4}
        for field, value in fields.items():
            op |= value << positions[field]
        self.lines.append(f"{op:08x}")

    def words(self, data, swap):
        if swap:
            data = b"".join(data[i : i + 4][::-1] for i in range(0, len(data), 4))
        text = data.hex()
        self.lines += [text[i : i + 8] for i in range(0, len(text), 8)]

    def init(self, stalls):
        self.operation(INIT, swaps=self.swaps, stalls=stalls)

    def send(self, data):
        """Blocks, at once or in parts; some of them as INCR16 at READY."""
        while data:
            if self.choose.randrange(4) == 0:
                self.operation(OPEN)
                part = data[:64]
            else:
                part = data[: 64 * self.choose.choice((1, 1, 2, len(data) // 64))]
                self.operation(SEND, count=len(part) // 4)
            self.words(part, self.swaps & 1)
            data = data[len(part) :]

    def wrong(self):
        """One transfer that is refused whatever the slave is doing."""
        way, size, addr = self.choose.randrange(2), 2, 0
        kind = self.choose.randrange(4)
        if kind == 0:
            addr = 4 * self.choose.randrange(40, 1024)
        elif kind == 1:
            addr, way = self.choose.choice(((0x40, 0), (0x7C, 0), (0, 1), (4, 1), (12, 1), (0x18, 0), (0x3C, 1)))
        elif kind == 2:
            addr, size = self.choose.choice((0, 8, 16, 0x40, 0x80)), self.choose.choice((0, 1, 3, 7))
        else:
            addr = self.choose.choice((8, 0x10, 0x40, 0x84)) + self.choose.randrange(1, 4)
        self.lines.append(f"{WRONG | size << 4 | way << 7 | self.choose.randrange(8) << 8 | addr << 16:08x}")

    def check(self, digest):
        self.operation(CHECK)
        self.words(digest, self.swaps & 2)

    def group(self, messages):
        """One message, or some hashed turn by turn."""
        self.swaps = self.choose.choice((0, 0, 1, 2, 3))
        stalls = self.choose.choice((0, 0, 1, 2, 3))
        if self.choose.randrange(8) == 0:
            self.init(stalls)
            count = self.choose.randrange(1, 40)
            self.operation(SEND, count=count)
            self.words(self.choose.randbytes(4 * count), 0)
        self.init(stalls)
        todo = [sm3.pad(m) for m, _ in messages]
        if len(messages) == 1:
            self.send(todo[0])
            if self.choose.randrange(4) == 0:
                self.wrong()
            self.check(messages[0][1])
            return
        for slot in range(len(todo)):
            self.operation(SAVE, slot=slot)
        while any(todo):
            turn = self.choose.choice([i for i, data in enumerate(todo) if data])
            self.operation(RESTORE, slot=turn)
            part = todo[turn][: 64 * self.choose.randrange(1, 3)]
            todo[turn] = todo[turn][len(part) :]
            self.send(part)
            if self.choose.randrange(4) == 0:
                self.wrong()
            self.operation(SAVE, slot=turn)
            if not todo[turn]:
                self.check(messages[turn][1])


def write_messages(path, count, seed):
    choose = random.Random(seed)
    written = 0
    with open(path, "w", encoding="ascii") as out:
        while written < count:
            size = min(choose.choice((1, 1, 1, 1, 1, 1, 2, SLOTS)), count - written)
            messages = []
            for i in range(size):
                message = choose.randbytes(length(choose))
                messages.append((message, digest_of(message, (written + i) % 16 == 0)))
            writer = Writer(choose)
            writer.group(messages)
            out.write("\n".join(writer.lines) + "\n")
            written += size
        out.write(f"{END:08x}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", required=True)
    options = parser.parse_args()
    write_messages(options.output, options.messages, options.seed)


if __name__ == "__main__":
    main()
