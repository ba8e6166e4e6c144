#!/usr/bin/env python3
"""Times variants of the block ciphers' kernels on the first NVIDIA GPU, for src/tuning.rs.

    tune_block.py FOLDER [-o RESULT.json] [-b 512,1024] [-r REPEATS] [-m GIB] [-k NAME]

FOLDER holds .ptx or .cubin files, each with kernels of kernels/aes.cu or kernels/sm4.cu. Every kernel
is checked against the ciphers as the standards write them, then timed. Kernels take turns, so that a
drift of the clock meets all alike; a time is the median of the repeats, by the device's events. Data
is read from and stored to the device's memory. Needs the driver, no packages.
"""

import argparse
import ctypes as c
import json
import os
import random
import re
import statistics
import struct
import sys

from tune import Cuda


def product(x, y, polynomial):
    out = 0
    while y:
        out ^= x * (y & 1)
        x, y = x << 1, y >> 1
        x ^= polynomial * (x >> 8)
    return out


def inverses(polynomial):
    inverse = [0] * 256
    for x in range(1, 256):
        inverse[x] = next(y for y in range(256) if product(x, y, polynomial) == 1)
    return inverse


def turn(x, n, bits=8):
    return (x << n | x >> (bits - n)) & ((1 << bits) - 1)


def aes_s_box(x):
    return x ^ turn(x, 1) ^ turn(x, 2) ^ turn(x, 3) ^ turn(x, 4) ^ 0x63


def sm4_affine(x):
    bit = lambda row: bin(x & turn(0xA7, row)).count("1") & 1
    return sum(bit(row) << row for row in range(8)) ^ 0xD3


AES_S = [aes_s_box(y) for y in inverses(0x11B)]
AES_INVERSE_S = [AES_S.index(x) for x in range(256)]
_INVERSES = inverses(0x1F5)
SM4_S = [sm4_affine(_INVERSES[sm4_affine(x)]) for x in range(256)]
TIMES = {factor: [product(x, factor, 0x11B) for x in range(256)] for factor in range(1, 15)}
MIX, UNMIX = (2, 3, 1, 1), (14, 11, 13, 9)


def mix(column, factors):
    a, b, c_, d = (TIMES[factor] for factor in factors)
    w, x, y, z = column
    return bytes((a[w] ^ b[x] ^ c_[y] ^ d[z], d[w] ^ a[x] ^ b[y] ^ c_[z],
                  c_[w] ^ d[x] ^ a[y] ^ b[z], b[w] ^ c_[x] ^ d[y] ^ a[z]))


class Aes:
    """FIPS 197; words as bytes in memory."""

    def __init__(self, key):
        n, words, constant = len(key) // 4, [key[i:i + 4] for i in range(0, len(key), 4)], 1
        self.rounds = n + 6
        for i in range(n, 4 * self.rounds + 4):
            word = words[-1]
            if i % n == 0:
                word = bytes(AES_S[x] for x in word[1:] + word[:1])
                word, constant = bytes([word[0] ^ constant]) + word[1:], product(constant, 2, 0x11B)
            elif n > 6 and i % n == 4:
                word = bytes(AES_S[x] for x in word)
            words.append(bytes(a ^ b for a, b in zip(word, words[-n])))
        self.keys = [b"".join(words[i:i + 4]) for i in range(0, len(words), 4)]

    def encrypt(self, block):
        s = bytes(a ^ b for a, b in zip(block, self.keys[0]))
        for number, key in enumerate(self.keys[1:], 1):
            s = bytes(AES_S[s[(i + 4 * (i % 4)) % 16]] for i in range(16))
            if number < self.rounds:
                s = b"".join(mix(s[i:i + 4], MIX) for i in range(0, 16, 4))
            s = bytes(a ^ b for a, b in zip(s, key))
        return s

    def words(self, decrypting):
        keys = self.keys
        if decrypting:
            inner = [b"".join(mix(k[i:i + 4], UNMIX) for i in range(0, 16, 4)) for k in keys[1:-1]]
            keys = [keys[-1]] + inner[::-1] + [keys[0]]
        return struct.unpack(f"<{4 * len(keys)}I", b"".join(keys))


class Sm4:
    """GB/T 32907-2016."""

    def __init__(self, key):
        fixed = (0xA3B1BAC6, 0x56AA3350, 0x677D9197, 0xB27022DC)
        words = [a ^ b for a, b in zip(struct.unpack(">4I", key), fixed)]
        for i in range(32):
            constant = int.from_bytes(bytes((4 * i + j) * 7 % 256 for j in range(4)), "big")
            y = self.substitute(words[-3] ^ words[-2] ^ words[-1] ^ constant)
            words.append(words[-4] ^ y ^ turn(y, 13, 32) ^ turn(y, 23, 32))
        self.keys = words[4:]

    @staticmethod
    def substitute(y):
        return int.from_bytes(bytes(SM4_S[x] for x in y.to_bytes(4, "big")), "big")

    def encrypt(self, block):
        words = list(struct.unpack(">4I", block))
        for key in self.keys:
            y = self.substitute(words[-3] ^ words[-2] ^ words[-1] ^ key)
            linear = y ^ turn(y, 2, 32) ^ turn(y, 10, 32) ^ turn(y, 18, 32) ^ turn(y, 24, 32)
            words.append(words[-4] ^ linear)
        return struct.pack(">4I", *words[:-5:-1])

    def words(self, _):
        return self.keys


class Kernel:
    """One kernel of a file: `aes128_ctr_4`, `sm4_ecb_2` and so on."""

    NAME = re.compile(r"(aes|sm4)(128|192|256)?_(ctr|ecb|encrypt|decrypt)_([124])")

    def __init__(self, cuda, module, variant, name):
        self.cuda, self.variant, self.name = cuda, variant, name
        cipher, bits, self.mode, tables = self.NAME.fullmatch(name).groups()
        self.function, registers = c.c_void_p(), c.c_int()
        cuda.cuModuleGetFunction(c.byref(self.function), module, name.encode())
        cuda.cuFuncGetAttribute(c.byref(registers), 4, self.function)
        self.registers = registers.value
        key = bytes(range(7, 7 + int(bits or 128) // 8))
        self.cipher = (Aes if cipher == "aes" else Sm4)(key)
        words = self.cipher.words(self.mode == "decrypt")
        self.keys = (c.c_uint32 * len(words))(*words)
        self.shared = int(tables) << 15
        if (cipher, self.mode, tables) == ("aes", "ctr", "4"):
            self.shared += 4096
        cuda.cuFuncSetAttribute(self.function, 8, self.shared)

    def launch(self, bench, block, size, counter):
        arguments = [c.c_uint64(bench.data), c.c_uint64(bench.out)]
        if self.mode == "ctr":
            arguments += [c.c_uint64(size), (c.c_uint32 * 4)(*counter)]
        else:
            arguments += [c.c_uint64(size // 16)]
        self.cuda.launch(self.function, bench.sms, block, *arguments, self.keys, shared=self.shared)

    def is_right(self, data, out, index, counter):
        """Whether a block came out as it must."""
        if self.mode == "ctr":
            number = int.from_bytes(struct.pack(">4I", *counter), "big") + index
            stream = self.cipher.encrypt(number.to_bytes(16, "big"))
            return bytes(a ^ b for a, b in zip(data, stream)) == out
        if self.mode == "decrypt":
            return self.cipher.encrypt(out) == data
        return self.cipher.encrypt(data) == out


class Bench:
    """A block of random bytes, repeated over the whole of a buffer; and one for the output."""

    PERIOD = 64 << 20

    def __init__(self, cuda, size):
        self.cuda, self.size = cuda, size
        self.random = random.Random(3)
        self.block = self.random.randbytes(self.PERIOD)
        self.data, self.out = cuda.allocate(size), cuda.allocate(size)
        for at in range(0, size, self.PERIOD):
            cuda.write(self.data + at, self.block[:min(self.PERIOD, size - at)])
        self.sms = cuda.attribute(16)
        self.begin, self.end = cuda.event(), cuda.event()

    def data_block(self, i):
        at = 16 * i % self.PERIOD
        return self.block[at:at + 16]

    def check(self, kernel, block):
        """What is wrong, or None: the whole buffer, and few blocks in the middle of a row."""
        for size, low in ((self.size, 0), (self.size, 0x00FEDC7B), (16 * 5, 0xFFFFFF01),
                          (16 * 70000 + (kernel.mode == "ctr") * 7, 0x1234FFFE)):
            counter = (0x01234567, 0x89ABCDEF, 0x0F1E2D3C, low)
            self.cuda.cuMemsetD8_v2(c.c_uint64(self.out), 0xA5, c.c_size_t(self.size))
            kernel.launch(self, block, size, counter)
            self.cuda.cuCtxSynchronize()
            blocks = size // 16
            for i in [0, blocks - 1] + [self.random.randrange(blocks) for _ in range(24)]:
                data, out = self.data_block(i), self.cuda.read(self.out + 16 * i, 16)
                if not kernel.is_right(data, out, i, counter):
                    return f"block {i} of {blocks} at {low:#x}: {data.hex()} -> {out.hex()}"
            if size < self.size and kernel.mode != "ctr" or size % 16:
                behind = self.cuda.read(self.out + size, 16)
                if behind != b"\xa5" * 16:
                    return f"{behind.hex()} behind {size} bytes"
        return None

    def time(self, kernel, block):
        # While the first runs, all that is timed is enqueued: else the host's part would be timed too.
        counter = (0x01234567, 0x89ABCDEF, 0x0F1E2D3C, 0)
        kernel.launch(self, block, self.size, counter)
        self.cuda.cuEventRecord(self.begin, None)
        kernel.launch(self, block, self.size, counter)
        self.cuda.cuEventRecord(self.end, None)
        self.cuda.cuEventSynchronize(self.end)
        milliseconds = c.c_float()
        self.cuda.cuEventElapsedTime(c.byref(milliseconds), self.begin, self.end)
        return milliseconds.value / 1e3


def kernels_of(cuda, path, wanted):
    with open(path, "rb") as file:
        image = file.read() + b"\0"
    module = c.c_void_p()
    cuda.cuModuleLoadData(c.byref(module), image)
    names = sorted({name.group().decode() for name in re.finditer(
        rb"\b(?:aes(?:128|192|256)_(?:ctr|encrypt|decrypt)|sm4_(?:ctr|ecb))_[124]\b", image)})
    variant = os.path.basename(path).rsplit(".", 1)[0]
    return [Kernel(cuda, module, variant, name) for name in names if wanted in name]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("-o", "--output")
    parser.add_argument("-b", "--blocks", default="512,1024")
    parser.add_argument("-r", "--repeats", type=int, default=7)
    parser.add_argument("-k", "--kernel", default="", help="only kernels whose name has this in it")
    parser.add_argument("-m", "--memory", type=float, default=4, help="GiB of data")
    options = parser.parse_args()
    assert Aes(bytes(range(16))).encrypt(bytes.fromhex("00112233445566778899aabbccddeeff")).hex() == (
        "69c4e0d86a7b0430d8cdb78070b4c55a"), "FIPS 197, C.1"
    example = bytes.fromhex("0123456789abcdeffedcba9876543210")
    assert Sm4(example).encrypt(example).hex() == "681edf34d206965e86b3e94f536e4246", "A.1"
    cuda = Cuda()
    clock_hz = 1e3 * cuda.attribute(13)
    bench = Bench(cuda, int(options.memory * 2**30) // 16 * 16)
    print(f"{cuda.name()}, {bench.sms} SMs, {clock_hz / 1e9:.3f} GHz at most, "
          f"sm_{cuda.attribute(75)}{cuda.attribute(76)}; {bench.size} bytes")
    candidates, wrong = [], 0
    paths = sorted(os.path.join(options.folder, f) for f in os.listdir(options.folder)
                   if f.endswith((".ptx", ".cubin")))
    for kernel in [kernel for path in paths for kernel in kernels_of(cuda, path, options.kernel)]:
        for block in (int(block) for block in options.blocks.split(",")):
            try:
                why = bench.check(kernel, block)
            except RuntimeError as error:
                why = str(error)
            if why:
                wrong += 1
                print(f"WRONG {kernel.variant} {kernel.name} {block}: {why}")
            else:
                candidates.append((kernel, block, []))
    for _ in range(options.repeats):
        for kernel, block, times in candidates:
            times.append(bench.time(kernel, block))
    results = []
    # Of one cipher and mode, the fastest first.
    order = lambda x: (x[0].name[:-2], statistics.median(x[2]))
    for kernel, block, times in sorted(candidates, key=order):
        seconds = statistics.median(times)
        rate = bench.size / seconds
        print(f"{kernel.name:18} {seconds * 1e3:8.3f} ms {rate / 1e9:7.1f} GB/s "
              f"{8 * rate / 1e12:6.3f} Tbit/s {rate / bench.sms / clock_hz:6.3f} B/SM/clk "
              f"(best {bench.size / min(times) / 1e9:.1f}) {block:5} threads {kernel.registers:3} regs  "
              f"{kernel.variant}")
        results.append({"kernel": kernel.name, "variant": kernel.variant, "block": block,
                        "bytes": bench.size, "seconds": times, "registers": kernel.registers})
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump({"device": cuda.name(), "sms": bench.sms, "clock_hz": clock_hz,
                       "results": results}, file)
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
