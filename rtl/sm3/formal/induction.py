"""Induction over a transition relation that Yosys wrote (write_smt2): first states keep the assertions, and
a step from any state that keeps all of them leads to one that keeps them.

Each assertion is a query of its own, in which the next state is replaced by what it is a function of. That
leaves z3 one state to reason about, and of the design only what the assertion depends on. yosys-smtbmc, which
asks for all assertions at once about two states, does not get there in hours.
"""

import dataclasses
import re

import z3


@dataclasses.dataclass(frozen=True)
class Refutation:
    """An assertion that does not hold, and the state before the step that shows it."""

    assertion: str
    step: bool
    values: dict

    @property
    def where(self):
        return "after a step" if self.step else "at the beginning"

    def __str__(self):
        lines = [f"{self.assertion} does not hold {self.where}. Before it:"]
        lines += [f"  {name} = {value}" for name, value in sorted(self.values.items())]
        return "\n".join(lines)


class Undecided(Exception):
    """The solver gave up on an assertion."""


class Relation:
    """Yosys's transition relation, with registers and inputs as constants of z3."""

    def __init__(self, text):
        self.module = re.search(r"^; yosys-smt2-topmod (\S+)", text, re.M)[1]
        asserts = re.findall(r"^; yosys-smt2-assert (\d+) \S+ (.*)$", text, re.M)
        assumes = re.findall(r"^; yosys-smt2-assume (\d+)", text, re.M)
        wires = re.findall(r"^; yosys-smt2-wire (\S+) \d+$", text, re.M)

        terms = [f"({self.name('t')} s0 s1)", f"({self.name('i')} s0)"]
        terms += [f"({self.name(f'u {n}')} {state})" for n in assumes for state in ("s0", "s1")]
        terms += [f"({self.name(f'a {n}')} {state})" for n, _ in asserts for state in ("s0", "s1")]
        parsed = self.parsed(text, terms, wires)
        transition, self.initial = parsed[0], parsed[1]
        count = 2 * len(assumes)
        assumed, asserted = parsed[2 : 2 + count], parsed[2 + count : 2 + count + 2 * len(asserts)]
        self.wires = {name: parsed[-len(wires) + i].arg(1) for i, name in enumerate(wires)}

        next_state = {}
        for equation in transition.children() if z3.is_and(transition) else [transition]:
            next_state[equation.arg(1).get_id()] = (equation.arg(1), equation.arg(0))
        replace = list(next_state.values())
        self.assumed = assumed[0::2]
        self.assumed_next = [z3.substitute(term, *replace) for term in assumed[1::2]]
        # A place in the sources can stand for several assertions: it may be in a loop.
        places = [place for _, place in asserts]
        self.asserted = list(zip(places, asserted[0::2]))
        self.asserted_next = [
            (place, z3.substitute(term, *replace)) for place, term in zip(places, asserted[1::2])
        ]

    def name(self, what):
        return f"|{self.module}_{what}|"

    def parsed(self, text, terms, wires):
        """The terms, then equations whose right sides are the wires, about states s0 and s1."""
        sort = self.name("s")
        lines = [text, f"(declare-const s0 {sort})", f"(declare-const s1 {sort})"]
        lines += [f"(assert {term})" for term in terms]
        for i, wire in enumerate(wires):
            kind = re.search(rf"^\(define-fun {re.escape(self.name('n ' + wire))} \(\(state .*?\)\) "
                             r"(Bool|\(_ BitVec \d+\)) ", text, re.M)[1]
            lines += [f"(declare-const wire!{i} {kind})"]
            lines += [f"(assert (= wire!{i} ({self.name('n ' + wire)} s0)))"]
        formulas = list(z3.parse_smt2_string("\n".join(lines)))
        return constants_for_applications(formulas)


def constants_for_applications(formulas):
    """The formulas with every register of a state, f(s), as a constant f@s."""
    found, seen, stack = {}, set(), list(formulas)
    while stack:
        term = stack.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        if term.decl().kind() == z3.Z3_OP_UNINTERPRETED and term.num_args() == 1:
            state = term.arg(0)
            found[term.get_id()] = (term, z3.Const(f"{term.decl().name()}@{state}", term.sort()))
        else:
            stack += term.children()
    return [z3.substitute(formula, *found.values()) for formula in formulas]


def refutation(text, seconds=60, progress=None):
    """The first assertion found not to hold, or nothing if all do."""
    relation = Relation(text)
    if not relation.asserted:
        raise Undecided("there is nothing to prove")
    for name, term in relation.asserted:
        known = [relation.initial, *relation.assumed]
        found = counterexample(relation, known, term, seconds, name)
        if found is not None:
            return Refutation(name, False, found)
    invariant = [term for _, term in relation.asserted]
    for name, term in relation.asserted_next:
        known = [*invariant, *relation.assumed, *relation.assumed_next]
        found = counterexample(relation, known, term, seconds, name)
        if found is not None:
            return Refutation(name, True, found)
        if progress is not None:
            progress(name)
    return None


def counterexample(relation, known, claim, seconds, name):
    """The wires in a state in which what is known holds and the claim does not; nothing if none."""
    solver = z3.SolverFor("QF_BV")
    solver.set("timeout", 1000 * seconds)
    solver.add(*known, z3.Not(claim))
    answer = solver.check()
    if answer == z3.unsat:
        return None
    if answer == z3.unknown:
        raise Undecided(f"{name}: no answer in {seconds} s")
    model = solver.model()
    # Names with a dollar are Yosys's own.
    named = {wire: term for wire, term in relation.wires.items() if "$" not in wire}
    return {wire: shown(model.eval(term, model_completion=True)) for wire, term in named.items()}


def shown(value):
    return f"{value.as_long():x}" if z3.is_bv_value(value) else str(value)
