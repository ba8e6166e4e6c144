"""The proofs: which modules with which properties, for which parameters."""

import dataclasses
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
SRC = HERE.parent / "src"


@dataclasses.dataclass(frozen=True)
class Module:
    """A Verilog file, and files of properties that are put at the end of its module."""

    path: pathlib.Path
    properties: tuple = ()


@dataclasses.dataclass(frozen=True)
class Proof:
    name: str
    top: str
    modules: tuple
    includes: tuple = ()
    parameters: dict = dataclasses.field(default_factory=dict)
    # Wires of the properties, and the signals within instances that they stand for.
    probes: dict = dataclasses.field(default_factory=dict)
    # Files written for this proof alone: name and text.
    generated: dict = dataclasses.field(default_factory=dict)
    in_ci: bool = True


def all_proofs():
    yield Proof(
        name="round is the standard's",
        top="sm3_round",
        modules=(Module(SRC / "sm3_round.v", ("round.vh",)),),
        includes=(HERE / "round.vh",),
    )
    for rounds in (1, 2):
        yield core(rounds)


def core(rounds):
    """V is the standard's function of the words taken."""
    probes = {
        "f_chain": "\\schedule.chain",
        "f_count": "\\control.count",
    }
    for half in "ae":
        for i in range(4):
            probes[f"f_{half}{i}"] = f"\\value.word[{i}].{half}"
            probes[f"f_given_{half}{i}"] = f"\\value.word[{i}].given_{half}"
    names = ["core", "control", "schedule", "expand", "constant", "value", "round"]
    return Proof(
        name=f"core computes the standard's function, {rounds} round{'s' if rounds > 1 else ''} a cycle",
        top="sm3_core",
        modules=tuple(
            Module(SRC / f"sm3_{name}.v", ("core.vh",) if name == "core" else ())
            for name in names + ["gather"]
        ),
        includes=(HERE / "core.vh",),
        parameters={"ROUNDS_PER_CYCLE": rounds},
        probes=probes,
    )
