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
        for in_ram in (0, 1):
            yield core(rounds, in_ram)
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
    names = ("ahb", "buffer", "core", "control", "schedule", "expand", "constant", "value", "words", "round", "gather")
    return {
        "modules": tuple(Module(SRC / f"sm3_{name}.v", properties.get(name, ())) for name in names),
        "includes": tuple(HERE / name for names in properties.values() for name in names),
    }


# Of modules within a design, for the proofs about the whole.
WITHIN = {"control": ("control.vh",), "gather": ("gather.vh", "gather_within.vh")}


def core(rounds, in_ram):
    """V is the standard's function of the words taken."""
    pairs = "f_memory" if in_ram else "registers"
    probes = {
        "f_chain": "\\schedule.chain",
        "f_count": "\\control.count",
    }
    for number, instance in ((1, "round"), (2, "two.round_2"))[:rounds]:
        for operand in ("a", "b", "c", "m", "e", "f", "g", "n", "t", "early"):
            probes[f"f_{number}{operand}"] = f"\\{instance}.{operand}"
    for i in range(4):
        pair = f"\\value.lane[{i % rounds}].words.{pairs}.pair[{i // rounds}]"
        probes[f"f_a{i}"] = f"{pair}.a"
        probes[f"f_e{i}"] = f"{pair}.e"
    probes["f_given"] = "\\value.given"
    return Proof(
        name=f"core computes the standard's function, {plural(rounds)} a cycle" + in_ram * ", V in memory",
        top="sm3_core",
        parameters={"ROUNDS_PER_CYCLE": rounds, "V_IN_RAM": in_ram},
        probes=probes,
        in_ci=rounds == 1 and not in_ram,
        **modules({**WITHIN, "core": ("core.vh",), "words": ("words.vh",) if in_ram else ()}),
    )


def bus(rounds, buffered):
    """sm3_ahb keeps the rules of the bus and the register map, and passes each word on."""
    properties, probes = ["master.vh", "ahb.vh"], {"f_count": "\\core.control.count"}
    if not buffered:
        properties.append("burst_direct.vh")
        probes["f_units"] = "\\core.units"
    if not buffered and rounds == 2:
        properties.append("burst_pairs.vh")
        probes["f_held"] = "\\core.two.gather.f_held"
    parameters = {"ROUNDS_PER_CYCLE": rounds, "INPUT_BUFFER": buffered}
    design = modules({**WITHIN, "ahb": tuple(properties)})
    design["includes"] += (HERE.parent / "generated/sm3_regs.vh",)
    return Proof(
        name=f"bus, {plural(rounds)} a cycle, {'with' if buffered else 'without'} a buffer",
        top="sm3_ahb",
        generated={"access.vh": access.functions(HERE.parent / "regs.rdl", parameters)},
        parameters=parameters,
        probes=probes,
        in_ci=rounds == 1 or not buffered,
        **design,
    )


def plural(rounds):
    return "1 round" if rounds == 1 else "2 rounds"
