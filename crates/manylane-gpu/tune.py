#!/usr/bin/env python3
"""Times variants of the SM3 kernels on the first NVIDIA GPU, for src/tuning.rs.

    tune.py FOLDER [-o RESULT.json] [-b 128,256] [-r REPEATS] [-m GIB]

FOLDER holds one .ptx or .cubin file a variant, each with all kernels of kernels/sm3.cu. Every
variant is checked against the host's SM3 in every shape before it is timed. Variants take turns, so
that a drift of the clock meets all alike. A time is the median of the repeats, by the device's
events; ordering by length is included where messages differ. Needs the driver, no packages.
"""

import argparse
import ctypes as c
import hashlib
import itertools
import json
import os
import random
import statistics
import struct
import sys

IV = (0x7380166F, 0x4914B2B9, 0x172442D7, 0xDA8A0600, 0xA96F30BC, 0x163138AA, 0xE38DEE4D, 0xB0FB0E4E)
BINS = 1024


class Messages(c.Structure):
    _fields_ = [("data", c.c_uint64), ("offsets", c.c_uint64), ("len", c.c_uint64),
                ("stride", c.c_uint64), ("base", c.c_uint64), ("kind", c.c_uint32),
                ("reserved", c.c_uint32)]


class Start(c.Structure):
    _fields_ = [("V", c.c_uint32 * 8), ("rest", c.c_uint8 * 64), ("prefix_len", c.c_uint64),
                ("rest_len", c.c_uint32), ("reserved", c.c_uint32)]


class PaddingBlock(c.Structure):
    _fields_ = [("W", c.c_uint32 * 64), ("W_prime", c.c_uint32 * 64)]


def rotate(x, n):
    return (x << n | x >> (32 - n)) & 0xFFFFFFFF


def padding_block(length):
    """The expanded words of the block that pads messages of whole blocks."""
    w = [0x80000000] + [0] * 13 + list(struct.unpack(">2I", struct.pack(">Q", 8 * length)))
    for j in range(16, 68):
        x = w[j - 16] ^ w[j - 9] ^ rotate(w[j - 3], 15)
        w.append(x ^ rotate(x, 15) ^ rotate(x, 23) ^ rotate(w[j - 13], 7) ^ w[j - 6])
    block = PaddingBlock()
    block.W[:] = w[:64]
    block.W_prime[:] = [w[j] ^ w[j + 4] for j in range(64)]
    return block


class Cuda:
    """The few functions of the driver that are needed; an error is an exception."""

    def __init__(self):
        self.library = c.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
        self.cuInit(0)
        self.device, context = c.c_int(), c.c_void_p()
        self.cuDeviceGet(c.byref(self.device), 0)
        self.cuDevicePrimaryCtxRetain(c.byref(context), self.device)
        self.cuCtxSetCurrent(context)

    def __getattr__(self, name):
        function = getattr(self.library, name)

        def call(*arguments):
            code = function(*arguments)
            if code:
                text = c.c_char_p()
                self.library.cuGetErrorString(code, c.byref(text))
                raise RuntimeError(f"{name}: {code} {text.value and text.value.decode()}")

        return call

    def attribute(self, which):
        value = c.c_int()
        self.cuDeviceGetAttribute(c.byref(value), which, self.device)
        return value.value

    def name(self):
        text = c.create_string_buffer(256)
        self.cuDeviceGetName(text, 256, self.device)
        return text.value.decode()

    def allocate(self, size):
        pointer = c.c_uint64()
        self.cuMemAlloc_v2(c.byref(pointer), c.c_size_t(size))
        return pointer.value

    def write(self, to, data):
        self.cuMemcpyHtoD_v2(c.c_uint64(to), data, c.c_size_t(len(data)))

    def read(self, at, size):
        data = c.create_string_buffer(size)
        self.cuMemcpyDtoH_v2(data, c.c_uint64(at), c.c_size_t(size))
        return data.raw

    def event(self):
        event = c.c_void_p()
        self.cuEventCreate(c.byref(event), 0)
        return event

    def launch(self, function, grid, block, *arguments, shared=0):
        pointers = (c.c_void_p * len(arguments))(*[c.addressof(a) for a in arguments])
        self.cuLaunchKernel(function, grid, 1, 1, block, 1, 1, shared, None, pointers, None)


class Variant:
    KERNELS = ("sm3_hash_many", "sm3_hash_rows", "sm3_hash_short", "sm3_hash_32", "sm3_hmac_many",
               "bin_count", "bin_offsets", "bin_scatter")

    def __init__(self, cuda, path):
        self.name = os.path.basename(path).rsplit(".", 1)[0]
        with open(path, "rb") as file:
            image = file.read() + b"\0"
        module = c.c_void_p()
        cuda.cuModuleLoadData(c.byref(module), image)
        self.registers, self.kernels = {}, {}
        for kernel in self.KERNELS:
            function, registers = c.c_void_p(), c.c_int()
            cuda.cuModuleGetFunction(c.byref(function), module, kernel.encode())
            cuda.cuFuncGetAttribute(c.byref(registers), 4, function)
            self.kernels[kernel], self.registers[kernel] = function, registers.value


class Bench:
    """The messages: a block of random bytes, repeated over the whole of a buffer."""

    PERIOD = 64 << 20

    def __init__(self, cuda, size):
        self.cuda, self.size = cuda, size
        self.random = random.Random(3)
        block = self.random.randbytes(self.PERIOD)
        self.data = cuda.allocate(size + self.PERIOD)
        for at in range(0, size + self.PERIOD, self.PERIOD):
            part = min(self.PERIOD, size + self.PERIOD - at)
            cuda.write(self.data + at, block[:part])
        # The longest message may run over the end of the period.
        self.block = block + block[:1 << 16]
        self.out = cuda.allocate(size // 2 + (1 << 26) * 32)
        self.bins = cuda.allocate(4 * BINS)
        self.order = cuda.allocate(4 << 21)
        self.offsets = cuda.allocate(8 << 21)
        self.start = Start()
        self.start.V[:] = IV
        self.sms = cuda.attribute(16)
        self.begin, self.end = cuda.event(), cuda.event()

    def message(self, at, length):
        at %= self.PERIOD
        return self.block[at:at + length]

    def strided(self, length, stride, offset=0):
        return Messages(self.data + offset, 0, length, stride, 0, 0, 0)

    def shapes(self):
        """Name, kernel, messages, count, where each message lies, bytes of all."""
        def fixed(name, kernel, count, length, stride, offset=0):
            count = min(count, (self.size - offset) // stride)
            spans = lambda i: (offset + i * stride, length)
            messages = self.strided(length, stride, offset)
            return [name, kernel, messages, count, spans, count * length]

        yield fixed("8 KiB", "sm3_hash_rows", 4096 * self.sms, 8192, 8192)
        yield fixed("8 KiB, 256 an SM", "sm3_hash_rows", 256 * self.sms, 8192, 8192)
        yield fixed("4 KiB", "sm3_hash_rows", 4096 * self.sms, 4096, 4096)
        yield fixed("64 B", "sm3_hash_rows", 1 << 25, 64, 64)
        yield fixed("32 B", "sm3_hash_32", 1 << 26, 32, 32)
        yield fixed("55 B in 64", "sm3_hash_short", 1 << 25, 55, 64)
        yield fixed("55 B in 55", "sm3_hash_short", 1 << 25, 55, 55)
        yield fixed("4 KiB + 1 at odd", "sm3_hash_many", 4096 * self.sms, 4097, 4103, 3)
        yield fixed("64 B keyed", "sm3_hmac_many", 1 << 23, 64, 64)
        for count in (100_000, 200_000, 300_000, 400_000, 600_000, 1_000_000):
            offsets, at = [0], 0
            for _ in range(count):
                at += self.random.randrange(1, 8193)
                if at > self.size:
                    break
                offsets.append(at)
            self.offset_list = offsets
            self.cuda.write(self.offsets, struct.pack(f"<{len(offsets)}Q", *offsets))
            spans = lambda i: (offsets[i], offsets[i + 1] - offsets[i])
            messages = Messages(self.data, self.offsets, 0, 0, 0, 2, 0)
            yield ["1…8192 B", "ordered", messages, len(offsets) - 1, spans, offsets[-1]]

    def enqueue(self, variant, kernel, messages, count, block, each, at_a_time):
        grid, number, one = -(-count // (block * each)), c.c_uint32(count), c.c_uint32(1)
        out, bins, order = (c.c_uint64(p) for p in (self.out, self.bins, self.order))
        launch, kernels = self.cuda.launch, variant.kernels
        if kernel == "sm3_hash_rows":
            blocks = messages.len // 64
            launch(kernels[kernel], grid, block, c.c_uint64(messages.data),
                   c.c_uint64(messages.stride), c.c_uint32(blocks), self.start,
                   self.padding, number, one, out)
        elif kernel == "sm3_hash_short":
            launch(kernels[kernel], grid, block, messages, self.start, number, one, out)
        elif kernel == "sm3_hash_32":
            launch(kernels[kernel], grid, block, c.c_uint64(messages.data),
                   c.c_uint64(messages.stride), number, one, out)
        elif kernel == "sm3_hmac_many":
            keys = self.strided(32, 64)
            launch(kernels[kernel], grid, block, keys, messages, c.c_uint64(0), number, one, out)
        elif kernel == "sm3_hash_many":
            launch(kernels[kernel], grid, block, messages, self.start, c.c_uint64(0), number, one,
                   out)
        else:
            extra, tiles = c.c_uint32(9), min(2 * self.sms, -(-count // 1024))
            self.cuda.cuMemsetD32Async(c.c_uint64(self.bins), 0, c.c_size_t(BINS), None)
            launch(kernels["bin_count"], tiles, 512, messages, extra, number, bins)
            launch(kernels["bin_offsets"], 1, 1024, bins)
            launch(kernels["bin_scatter"], tiles, 512, messages, extra, number, bins, order)
            shared = self.shared(at_a_time)
            self.cuda.cuFuncSetAttribute(kernels["sm3_hash_many"], 8, shared)
            launch(kernels["sm3_hash_many"], grid, block, messages, self.start, order, number, one,
                   out, shared=shared)

    def shared(self, blocks):
        """Bytes of shared memory a block with which so many are on a multiprocessor; 0 for any."""
        of_all, reserved = self.cuda.attribute(81), self.cuda.attribute(111)
        return (of_all // blocks - reserved) & ~127 if blocks else 0

    def check(self, kernel, count, spans):
        """Compares some digests, the first and the last among them, with the host's."""
        for i in [0, count - 1] + [self.random.randrange(count) for _ in range(40)]:
            message = self.message(*spans(i))
            if kernel == "sm3_hmac_many":
                key = self.message(64 * i, 32).ljust(64, b"\0")
                inner = hashlib.new("sm3", bytes(b ^ 0x36 for b in key) + message).digest()
                message = bytes(b ^ 0x5C for b in key) + inner
            want = hashlib.new("sm3", message).digest()
            got = self.cuda.read(self.out + 32 * i, 32)
            if got != want:
                return f"message {i}: {got.hex()} instead of {want.hex()}"
        return None

    def time(self, *arguments):
        # While this runs, all that is timed is enqueued: else the host's part would be timed too.
        self.enqueue(*arguments)
        self.cuda.cuEventRecord(self.begin, None)
        self.enqueue(*arguments)
        self.cuda.cuEventRecord(self.end, None)
        self.cuda.cuEventSynchronize(self.end)
        milliseconds = c.c_float()
        self.cuda.cuEventElapsedTime(c.byref(milliseconds), self.begin, self.end)
        return milliseconds.value / 1e3


# Messages a thread takes one after the other, in the kernels that can.
EACH = {"sm3_hash_32": (1, 4, 16), "sm3_hash_short": (1, 4, 16)}

# Thread blocks at a time on a multiprocessor, held down by shared memory that is asked for and not
# used: with fewer, the longest messages, which decide when all is done, get on faster.
AT_A_TIME = {"ordered": (0, 2, 3, 4, 5, 6, 7)}


def candidates_of(bench, variants, blocks, shape):
    """Every way to launch every variant, checked."""
    name, kernel, messages, count, spans, _ = shape
    right, wrong = [], 0
    for variant in variants:
        for block in blocks:
            ways = itertools.product(EACH.get(kernel, (1,)), AT_A_TIME.get(kernel, (0,)))
            for each, at_a_time in ways:
                bench.cuda.cuMemsetD8_v2(c.c_uint64(bench.out), 0xA5, c.c_size_t(32 * count))
                try:
                    bench.enqueue(variant, kernel, messages, count, block, each, at_a_time)
                    bench.cuda.cuCtxSynchronize()
                    why = bench.check(kernel, count, spans)
                except RuntimeError as error:
                    why = str(error)
                if why:
                    wrong += 1
                    print(f"WRONG {variant.name} {name} {block}: {why}")
                else:
                    right.append((variant, block, each, at_a_time, []))
    return right, wrong


def measure(bench, variants, blocks, repeats, clock_hz, only):
    results, wrong = [], 0
    for shape in bench.shapes():
        if only not in shape[0]:
            continue
        name, kernel, messages, count, _, size = shape
        bench.padding = padding_block(messages.len)
        candidates, failed = candidates_of(bench, variants, blocks, shape)
        wrong += failed
        for _ in range(repeats):
            for variant, block, each, at_a_time, times in candidates:
                times.append(bench.time(variant, kernel, messages, count, block, each, at_a_time))
        print(f"\n{name}, {count} messages, {size} bytes ({kernel})")
        ranked = sorted(candidates, key=lambda x: statistics.median(x[4]))
        for variant, block, each, at_a_time, times in ranked:
            seconds = statistics.median(times)
            rate = size / seconds
            registers = variant.registers["sm3_hash_many" if kernel == "ordered" else kernel]
            print(f"{rate / 1e9:8.1f} GB/s {count / seconds / 1e9:8.3f} G/s "
                  f"{rate / bench.sms / clock_hz:6.3f} B/SM/clk {seconds * 1e3:8.3f} ms "
                  f"{block:5} threads x {each:2} {registers:3} regs {at_a_time:2} at a time  {variant.name}")
            results.append({"shape": name, "kernel": kernel, "variant": variant.name,
                            "block": block, "each": each, "at_a_time": at_a_time, "count": count,
                            "bytes": size, "seconds": times, "registers": registers})
    return results, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("-o", "--output")
    parser.add_argument("-b", "--blocks", default="128,256")
    parser.add_argument("-r", "--repeats", type=int, default=7)
    parser.add_argument("-s", "--shape", default="", help="only shapes whose name has this in it")
    parser.add_argument("-m", "--memory", type=float, default=4.25, help="GiB of messages")
    options = parser.parse_args()
    cuda = Cuda()
    clock_hz = 1e3 * cuda.attribute(13)
    bench = Bench(cuda, int(options.memory * 2**30) // 64 * 64)
    paths = sorted(os.path.join(options.folder, f) for f in os.listdir(options.folder)
                   if f.endswith((".ptx", ".cubin")))
    variants = [Variant(cuda, path) for path in paths]
    print(f"{cuda.name()}, {bench.sms} SMs, {clock_hz / 1e9:.3f} GHz at most, "
          f"sm_{cuda.attribute(75)}{cuda.attribute(76)}")
    blocks = [int(block) for block in options.blocks.split(",")]
    results, wrong = measure(bench, variants, blocks, options.repeats, clock_hz, options.shape)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump({"device": cuda.name(), "sms": bench.sms, "clock_hz": clock_hz,
                       "results": results}, file)
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
