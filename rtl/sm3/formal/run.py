#!/usr/bin/env python3
"""Proofs about the SM3 core, by k-induction: from any state that keeps the invariants, not from reset
alone, so that they hold for runs of any length and for all data.

    run.py             all proofs, for every value of the parameters
    run.py --ci        the same for one value of each parameter that matters to a proof
    run.py --planted   plants one fault after another in the Verilog; a proof must reject each

The properties (*.vh) are put at the end of copies of the modules, so that they see every register. What is
assumed of the bus is in master.vh. README.md says what each proof shows.

Needs pyosys and z3-solver of requirements.txt.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
CORE = HERE.parent
OUT = CORE.parents[1] / "target/rtl/formal"
sys.path[:0] = [str(HERE), str(CORE / "generator")]

import faults  # noqa: E402
import induction  # noqa: E402
import proofs  # noqa: E402


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ci", action="store_true", help="one value of each parameter")
    parser.add_argument("--planted", action="store_true", help="plant faults; proofs must fail")
    parser.add_argument("--only", metavar="TEXT", default="", help="names that contain this")
    options = parser.parse_args()
    tasks = planted() if options.planted else honest(options.ci)
    chosen = [task for name, *task in tasks if options.only in name]
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
        running = [pool.submit(*task) for task in chosen]
        results = [reported(done.result()) for done in concurrent.futures.as_completed(running)]
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    sys.exit(0 if results and all(results) else 1)


def reported(result):
    passed, words = result
    print(words, flush=True)
    return passed


def honest(ci):
    for proof in proofs.all_proofs():
        if not ci or proof.in_ci:
            yield proof.name, holds, proof


def planted():
    by_name = {proof.name: proof for proof in proofs.all_proofs()}
    for fault in faults.FAULTS:
        yield f"{fault.name}: {fault.proof}", rejects, by_name[fault.proof], fault


def holds(proof):
    """Whether a proof succeeds, and words about it."""
    begun = time.monotonic()
    why = first_failure(proof, folder := build(proof))
    words = f"{proof.name}: {'proved' if why is None else 'FAILED'} ({time.monotonic() - begun:.1f} s)"
    if why is not None:
        state = folder / "counterexample.txt"
        state.write_text(f"{proof.name}\n{why}\n")
        words += f"\n  {why.assertion} does not hold {why.where}; the state is in {state}"
    return why is None, words


def rejects(proof, fault):
    """Whether a proof fails on a planted fault, and words about it."""
    begun = time.monotonic()
    why = first_failure(proof, build(proof, fault))
    verdict = f"rejected by {why.assertion}" if why else "NOT NOTICED"
    return why is not None, f"{fault.name}: {verdict} ({time.monotonic() - begun:.1f} s)"


def first_failure(proof, folder):
    """What z3 says against the proof, or nothing."""
    try:
        return induction.refutation((folder / "proof.smt2").read_text(encoding="utf-8"))
    except induction.Undecided as why:
        # No verdict must not pass for one, either way.
        raise SystemExit(f"error: {proof.name}: {why}") from why


def build(proof, fault=None):
    """The folder with the transition relation of modules and properties, proof.smt2."""
    folder = OUT / re.sub(r"\W+", "_", proof.name + (f" {fault.name}" if fault else ""))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name, text in proof.generated.items():
        (folder / name).write_text(text, encoding="utf-8")
    for include in proof.includes:
        shutil.copy(include, folder)
    files = []
    for module in proof.modules:
        text = module.path.read_text(encoding="utf-8")
        if fault is not None and fault.file == module.path.name:
            text = fault.plant(text)
        (folder / module.path.name).write_text(with_properties(text, module.properties))
        files.append(module.path.name)
    passes = [
        *(f"read_verilog -formal {file}" for file in files),
        *(f"chparam -set {name} {value} {proof.top}" for name, value in proof.parameters.items()),
        f"hierarchy -top {proof.top}",
        # Without optimisation, which would settle what wires without a driver are.
        "proc -noopt",
        "flatten",
        f"select -module {proof.top}",
        # What lies in instances gets to the wires by which the properties name it.
        *(f"connect -nomap -nounset -set {wire} {signal}" for wire, signal in proof.probes.items()),
        "select -clear",
        "opt_clean",
        "memory_map",
        "async2sync",
        "opt -full",
        "dffunmap",
        "opt_clean",
        "write_smt2 -wires proof.smt2",
    ]
    (folder / "proof.ys").write_text("\n".join(passes) + "\n")
    program = "from pyosys import libyosys; libyosys.run_pass('script proof.ys', libyosys.Design())"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False
    )
    (folder / "yosys.log").write_text(done.stdout + done.stderr)
    if done.returncode != 0 or not (folder / "proof.smt2").exists():
        sys.exit(f"error: pyosys, {proof.name}:\n{(done.stdout + done.stderr)[-2000:]}")
    return folder


def with_properties(text, properties):
    """The module with properties as its last items."""
    if not properties:
        return text
    place = text.rindex("endmodule")
    lines = "".join(f'`include "{name}"\n' for name in properties)
    return text[:place] + lines + text[place:]


if __name__ == "__main__":
    main()
