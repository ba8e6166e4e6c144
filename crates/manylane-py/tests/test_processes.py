"""Signals, threads, processes, and what is left behind."""

from __future__ import annotations

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import manylane
import numpy as np
import pytest

INTERRUPTED = """
import os, signal, sys, threading, time
import manylane, numpy
# A job of a shell in the background would ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
data = numpy.zeros((1 << 10, 1 << 20), numpy.uint8)
done = []
def news(bytes, total):
    done.append(bytes)
    if len(done) == 2:
        os.kill(os.getpid(), signal.SIGINT)
try:
    manylane.hash_many("sm3", data, progress=news)
except KeyboardInterrupt:
    print("interrupted", len(done))
else:
    print("done", len(done))
"""


def test_ctrl_c_ends_the_work() -> None:
    run = [sys.executable, "-c", INTERRUPTED]
    output = subprocess.run(run, capture_output=True, text=True, check=True, timeout=120).stdout
    word, steps = output.split()
    # In the step after the second, or the one after that.
    assert word == "interrupted" and int(steps) <= 4


INTERRUPTED_PIPE = """
import os, signal, sys, threading
import manylane
signal.signal(signal.SIGINT, signal.default_int_handler)
os.mkfifo(sys.argv[1])
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    # Nobody ever writes to it, so that it cannot even be opened.
    manylane.hash_file(sys.argv[1])
except KeyboardInterrupt:
    assert manylane.hash_file(__import__("manylane").__file__)
    print("interrupted")
"""


def test_ctrl_c_ends_the_wait_for_a_pipe(tmp_path: Path) -> None:
    run = [sys.executable, "-c", INTERRUPTED_PIPE, str(tmp_path / "pipe")]
    assert subprocess.run(run, capture_output=True, text=True, check=True, timeout=120).stdout == "interrupted\n"


def test_few_engines_are_kept() -> None:
    script = """
import manylane, os
for threads in range(2, 60):
    assert len(manylane.hash_many("sm3", [bytes(1 << 16)] * 128, threads=threads)) == 128
import time
end = time.monotonic() + 60
# Threads of the engines that went end by themselves.
while (count := len(os.listdir("/proc/self/task"))) > 8 * 60 and time.monotonic() < end:
    time.sleep(0.05)
print(count)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    # All of them would have 1,711 threads.
    assert int(run.stdout) <= 8 * 60


INTERRUPTED_FILE = """
import os, signal, sys, threading
import manylane
signal.signal(signal.SIGINT, signal.default_int_handler)
# A pipe that nobody closes is a file without end.
reading, writing = os.pipe()
def feed():
    block = bytes(1 << 16)
    while True:
        os.write(writing, block)
threading.Thread(target=feed, daemon=True).start()
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    manylane.hash_file(f"/proc/self/fd/{reading}")
except KeyboardInterrupt:
    print("interrupted")
    sys.stdout.flush()
    os._exit(0)
"""


def test_ctrl_c_ends_the_reading_of_a_file() -> None:
    run = [sys.executable, "-c", INTERRUPTED_FILE]
    output = subprocess.run(run, capture_output=True, text=True, check=True, timeout=120).stdout
    assert output == "interrupted\n"


def work(seed: int) -> bytes:
    rows = np.random.default_rng(seed).integers(0, 256, (3000, 500), dtype=np.uint8)
    return bytes(manylane.sm3(manylane.hash_many("sm3", rows, threads=2)).digest())


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_processes(method: str) -> None:
    # Threads run already when the process forks.
    expected = [work(seed) for seed in range(4)]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(work, range(4)) == expected


def test_threads() -> None:
    expected = [work(seed) for seed in range(4)]
    results: dict[int, bytes] = {}

    def run(seed: int) -> None:
        results[seed] = work(seed)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [results[seed] for seed in range(4)] == expected


def test_other_threads_run_meanwhile() -> None:
    ticks, ended = [0], threading.Event()

    def tick() -> None:
        while not ended.is_set():
            ticks[0] += 1
            time.sleep(0)

    thread = threading.Thread(target=tick)
    thread.start()
    rows = np.zeros((4, 8 << 20), np.uint8)
    before = ticks[0]
    manylane.hash_many("sm3", rows, threads=1)
    during = ticks[0] - before
    ended.set()
    thread.join()
    # With the interpreter's lock held there would be none.
    assert during > 0


def memory() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_nothing_is_left_behind() -> None:
    rows = np.zeros((500, 1000), np.uint8)
    messages = [row.tobytes() for row in rows]
    key = manylane.sm2.private_key_from_bytes((5).to_bytes(32, "big"))

    def everything() -> None:
        manylane.hash_many("sm3", rows)
        manylane.hash_many("sm3", messages)
        manylane.hash_many("sm3", iter(messages))
        manylane.sm3(rows).copy().hexdigest()
        aead = manylane.aead.SM4GCM(bytes(16))
        aead.decrypt(bytes(12), aead.encrypt(bytes(12), rows, None))
        with pytest.raises(TypeError):
            manylane.hash_many("sm3", [b"", None])
        with pytest.raises(RuntimeError):
            manylane.hash_many("sm3", rows, progress=fail)
        manylane.hmac_many("sm3", b"k", rows)
        ciphers = manylane.ciphers
        cipher = ciphers.Cipher(ciphers.algorithms.AES(bytes(16)), ciphers.modes.CTR(bytes(16)))
        cipher.encryptor().update(rows)
        manylane.sm2.load_pem_private_key(key.private_bytes())

    def fail(done: int, total: int | None) -> None:
        raise RuntimeError

    references = [sys.getrefcount(thing) for thing in (rows, messages, messages[7], None)]
    for _ in range(5):
        everything()
    gc.collect()
    before = memory()
    for _ in range(40):
        everything()
    gc.collect()
    # One leak of the rows in each round would be 20 MB.
    assert memory() - before < 6 << 20
    after = [sys.getrefcount(thing) for thing in (rows, messages, messages[7])]
    assert after == references[:3]


def test_a_held_buffer_cannot_be_resized() -> None:
    buffer, tried = bytearray(64 << 20), []

    def resize(done: int, total: int | None) -> None:
        try:
            buffer.clear()
        except BufferError as error:
            tried.append(str(error))

    offsets = np.array([0, len(buffer)], np.uint64)
    manylane.hash_many("sm3", buffer, offsets=offsets, progress=resize)
    assert tried
    buffer.clear()


def test_signal_module_is_as_it_was() -> None:
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
