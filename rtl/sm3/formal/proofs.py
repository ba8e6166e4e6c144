"""The proofs: which modules with which properties, for which parameters."""

import dataclasses
import pathlib

import access

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
    yield fifo("gather", "pairs", ("gather.vh", "gather_alone.vh"))
    yield fifo("buffer", "words", ("buffer.vh",))
    for rounds in (1, 2):
        yield core(rounds)
    for rounds in (1, 2):
        for buffered in (0, 1):
            yield bus(rounds, buffered)


def fifo(name, shown, properties):
    """What goes in comes out."""
    return Proof(
        name=f"{name}: no word lost, {shown} in order",
        top=f"sm3_{name}",
        modules=(Module(SRC / f"sm3_{name}.v", properties),),
        includes=tuple(HERE / name for name in properties),
    )


def modules(properties):
    """The modules of a design, with the properties that each gets."""
    names = ("ahb", "buffer", "core", "control", "schedule", "expand", "constant", "value", "round", "gather")
    return {
        "modules": tuple(Module(SRC / f"sm3_{name}.v", properties.get(name, ())) for name in names),
        "includes": tuple(HERE / name for names in properties.values() for name in names),
    }


# Of modules within a design, for the proofs about the whole.
WITHIN = {"control": ("control.vh",), "gather": ("gather.vh", "gather_within.vh")}


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
    return Proof(
        name=f"core computes the standard's function, {plural(rounds)} a cycle",
        top="sm3_core",
        parameters={"ROUNDS_PER_CYCLE": rounds},
        probes=probes,
        **modules({**WITHIN, "core": ("core.vh",)}),
    )


def bus(rounds, buffered):
    """sm3_ahb keeps the rules of the bus and the register map, and passes each word on."""
    properties = ("master.vh", "ahb.vh") + (() if buffered else ("burst_direct.vh",))
    parameters = {"ROUNDS_PER_CYCLE": rounds, "INPUT_BUFFER": buffered}
    design = modules({**WITHIN, "ahb": properties})
    design["includes"] += (SRC / "sm3_regs.vh",)
    return Proof(
        name=f"bus, {plural(rounds)} a cycle, {'with' if buffered else 'without'} a buffer",
        top="sm3_ahb",
        generated={"access.vh": access.functions(HERE.parent / "regs.rdl", parameters)},
        parameters=parameters,
        probes={"f_count": "\\core.control.count"},
        **design,
    )


def plural(rounds):
    return "1 round" if rounds == 1 else "2 rounds"
