#!/usr/bin/env python3
"""Times variants of the SHA-3 kernels on the first NVIDIA GPU, for src/tuning.rs.

    tune_sha3.py FOLDER [-o RESULT.json] [-b 64,128] [-r REPEATS] [-m GIB] [-k NAME]

FOLDER holds .ptx or .cubin files, each with all kernels of kernels/sha3.cu. Every variant is checked
against Python's hashlib in every shape before it is timed. Variants take turns, so that a drift of the
clock meets all alike; a time is the median of the repeats, by the device's events. Needs the driver, no
packages.
"""

import argparse
import ctypes as c
import hashlib
import json
import os
import random
import statistics
import sys

from tune import Cuda, Messages


class Sponge(c.Structure):
    _fields_ = [("A", c.c_uint32 * 50), ("rest_len", c.c_uint32), ("suffix", c.c_uint32),
                ("first_round", c.c_uint32), ("output_len", c.c_uint32)]


FUNCTIONS = {"SHA3-224": (144, 6, 28, hashlib.sha3_224), "SHA3-256": (136, 6, 32, hashlib.sha3_256),
             "SHA3-384": (104, 6, 48, hashlib.sha3_384), "SHA3-512": (72, 6, 64, hashlib.sha3_512),
             "SHAKE128": (168, 0x1F, 32, hashlib.shake_128),
             "SHAKE128 long": (168, 0x1F, 1024, hashlib.shake_128)}

# Name, function, kernel, bytes of a message, from one to the next, bytes before the first, messages at most.
SHAPES = [("SHA3-256 8 KiB", "SHA3-256", "rows", 8192, 8192, 0, 1 << 30),
          ("SHAKE128 8 KiB", "SHAKE128", "rows", 8192, 8192, 0, 1 << 30),
          ("SHA3-224 8 KiB", "SHA3-224", "rows", 8192, 8192, 0, 1 << 30),
          ("SHA3-384 8 KiB", "SHA3-384", "rows", 8192, 8192, 0, 1 << 30),
          ("SHA3-512 8 KiB", "SHA3-512", "rows", 8192, 8192, 0, 1 << 30),
          ("SHA3-256 512 B", "SHA3-256", "rows", 512, 512, 0, 1 << 30),
          ("SHA3-256 32 B", "SHA3-256", "32", 32, 32, 0, 1 << 26),
          ("SHA3-256 64 B", "SHA3-256", "short", 64, 64, 0, 1 << 25),
          ("SHA3-512 64 B", "SHA3-512", "short", 64, 64, 0, 1 << 25),
          ("SHA3-256 100 B", "SHA3-256", "many", 100, 100, 0, 1 << 24),
          ("SHA3-256 4097 B", "SHA3-256", "many", 4097, 4097, 1, 1 << 19),
          ("SHAKE128 squeezed", "SHAKE128 long", "rows", 32, 32, 0, 1 << 20)]


class Variant:
    def __init__(self, cuda, path):
        self.name, self.functions, self.cuda = os.path.basename(path).rsplit(".", 1)[0], {}, cuda
        with open(path, "rb") as file:
            image = file.read() + b"\0"
        self.module = c.c_void_p()
        cuda.cuModuleLoadData(c.byref(self.module), image)

    def function(self, name):
        if name not in self.functions:
            function, registers, local = c.c_void_p(), c.c_int(), c.c_int()
            self.cuda.cuModuleGetFunction(c.byref(function), self.module, name.encode())
            self.cuda.cuFuncGetAttribute(c.byref(registers), 4, function)
            self.cuda.cuFuncGetAttribute(c.byref(local), 3, function)
            self.functions[name] = function, registers.value, local.value
        return self.functions[name]


class Bench:
    """The messages: a block of random bytes, repeated over the whole of a buffer."""

    PERIOD = 64 << 20

    def __init__(self, cuda, size):
        self.cuda, self.size = cuda, size
        self.random = random.Random(3)
        block = self.random.randbytes(self.PERIOD)
        self.data = cuda.allocate(size + self.PERIOD)
        for at in range(0, size + self.PERIOD, self.PERIOD):
            cuda.write(self.data + at, block[:min(self.PERIOD, size + self.PERIOD - at)])
        # The longest message may run over the end of the period.
        self.block = block + block[:1 << 16]
        self.out = cuda.allocate(1 << 31)
        self.begin, self.end = cuda.event(), cuda.event()

    def count(self, shape):
        # As many for each multiprocessor, in blocks of up to 256 threads.
        step = 256 * self.cuda.attribute(16)
        count = min(shape[6], self.size // shape[4])
        return count // step * step

    def kernel(self, variant, shape):
        rate = FUNCTIONS[shape[1]][0]
        return variant.function("sha3_hash_32" if shape[2] == "32" else f"sha3_hash_{shape[2]}_{rate}")

    def launch(self, variant, shape, block):
        _, name, kind, length, stride, skip, _ = shape
        rate, suffix, output_len, _ = FUNCTIONS[name]
        count = self.count(shape)
        sponge = Sponge(rest_len=0, suffix=suffix, first_round=0, output_len=output_len)
        data, out = c.c_uint64(self.data + skip), c.c_uint64(self.out)
        u32 = c.c_uint32
        each = 4 if kind in ("32", "short") else 1
        arguments = {
            "rows": (data, c.c_uint64(stride), u32(length // rate), u32(length % rate), sponge, u32(count), out),
            "32": (data, c.c_uint64(stride), u32(count), u32(suffix), out),
            "short": (data, c.c_uint64(stride), u32(length), u32(suffix), u32(0), u32(output_len),
                      u32(count), out),
            "many": (Messages(data=data.value, len=length, stride=stride), sponge, c.c_uint64(0),
                     u32(count), out),
        }[kind]
        grid = (count + each * block - 1) // (each * block)
        self.cuda.launch(self.kernel(variant, shape)[0], grid, block, *arguments)

    def check(self, variant, shape, block):
        _, name, _, length, stride, skip, _ = shape
        _, _, output_len, function = FUNCTIONS[name]
        count = self.count(shape)
        self.cuda.cuMemsetD8_v2(c.c_uint64(self.out), 0xA5, c.c_size_t(count * output_len))
        self.launch(variant, shape, block)
        self.cuda.cuCtxSynchronize()
        for i in [0, 1, count - 1] + [self.random.randrange(count) for _ in range(13)]:
            at = (skip + i * stride) % self.PERIOD
            digest = function(self.block[at:at + length])
            want = digest.digest(output_len) if "SHAKE" in name else digest.digest()
            if self.cuda.read(self.out + i * output_len, output_len) != want:
                return f"message {i} of {count}"
        return None

    def time(self, variant, shape, block):
        # While the first runs, all that is timed is enqueued: else the host's part would be timed too.
        self.launch(variant, shape, block)
        self.cuda.cuEventRecord(self.begin, None)
        self.launch(variant, shape, block)
        self.cuda.cuEventRecord(self.end, None)
        self.cuda.cuEventSynchronize(self.end)
        milliseconds = c.c_float()
        self.cuda.cuEventElapsedTime(c.byref(milliseconds), self.begin, self.end)
        return milliseconds.value / 1e3


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("-o", "--output")
    parser.add_argument("-b", "--blocks", default="128")
    parser.add_argument("-r", "--repeats", type=int, default=7)
    parser.add_argument("-k", "--kernel", default="", help="only shapes whose name has this in it")
    parser.add_argument("-m", "--memory", type=float, default=4, help="GiB of data")
    options = parser.parse_args()
    cuda = Cuda()
    clock_hz, sms = 1e3 * cuda.attribute(13), cuda.attribute(16)
    bench = Bench(cuda, int(options.memory * 2**30))
    print(f"{cuda.name()}, {sms} SMs, {clock_hz / 1e9:.3f} GHz at most, "
          f"sm_{cuda.attribute(75)}{cuda.attribute(76)}; {bench.size} bytes")
    paths = sorted(os.path.join(options.folder, f) for f in os.listdir(options.folder)
                   if f.endswith((".ptx", ".cubin")))
    variants, results, wrong = [Variant(cuda, path) for path in paths], [], 0
    for shape in (shape for shape in SHAPES if options.kernel in shape[0]):
        candidates = []
        for variant in variants:
            for block in (int(block) for block in options.blocks.split(",")):
                try:
                    why = bench.check(variant, shape, block)
                except RuntimeError as error:
                    why = str(error)
                if why:
                    wrong += 1
                    print(f"WRONG {variant.name} {shape[0]} {block}: {why}")
                else:
                    candidates.append((variant, block, []))
        for _ in range(options.repeats):
            for variant, block, times in candidates:
                times.append(bench.time(variant, shape, block))
        count, rate = bench.count(shape), FUNCTIONS[shape[1]][0]
        outputs = -(-FUNCTIONS[shape[1]][2] // rate)
        permutations = count * (shape[3] // rate + outputs)
        print(f"\n{shape[0]}, {count} messages")
        for variant, block, times in sorted(candidates, key=lambda x: statistics.median(x[2])):
            seconds = statistics.median(times)
            _, registers, local = bench.kernel(variant, shape)
            # Instructions of one pipe, at 64 lanes a clock, for which there would be time.
            slots = seconds * sms * clock_hz * 64 / permutations
            print(f"  {seconds * 1e3:8.3f} ms {count * shape[3] / seconds / 1e9:7.1f} GB/s "
                  f"{count / seconds / 1e9:7.4f} G/s {slots:6.0f} slots (best {min(times) * 1e3:.3f} ms) "
                  f"{block:4} threads {registers:3} regs {local:3} local  {variant.name}")
            results.append({"shape": shape[0], "variant": variant.name, "block": block, "count": count,
                            "seconds": times, "registers": registers})
        sys.stdout.flush()
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump({"device": cuda.name(), "sms": sms, "clock_hz": clock_hz, "results": results}, file)
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
