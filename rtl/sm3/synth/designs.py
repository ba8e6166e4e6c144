"""The designs that are measured; every script of this folder treats them alike."""

from dataclasses import dataclass, field, replace
from pathlib import Path

RTL = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Design:
    """A top module with its parameters; `port` names its testbench, tb/<port>.v."""
    name: str
    top: str
    folder: str
    port: str
    what: str
    parameters: dict = field(default_factory=dict, hash=False)
    fpga: dict = field(default_factory=dict, hash=False)  # parameters besides, for FPGA targets
    gates: bool = True  # common enables become clock gates, where the library has one

    def for_fpga(self):
        return replace(self, parameters={**self.parameters, **self.fpga})

    def files(self):
        found = sorted((RTL / self.folder).glob("*.v"))
        if not (RTL / self.folder / f"{self.top}.v").is_file():
            raise FileNotFoundError(f"{RTL / self.folder / self.top}.v is missing")
        return found

    @property
    def clock(self):
        return "HCLK" if self.port.endswith("ahb") else "clk"

    @property
    def reset(self):
        return "HRESETn" if self.port.endswith("ahb") else "rst_n"


def _designs():
    found = [Design(f"core-r{r}", "sm3_core", "src", "core", f"sm3_core, {r} round{'s' * (r > 1)} a cycle",
                    {"ROUNDS_PER_CYCLE": r}, {"V_IN_RAM": 1}) for r in (1, 2)]
    for r in (1, 2):
        for b in (0, 1):
            found.append(Design(f"ahb-r{r}" + "-buffer" * b, "sm3_ahb", "src", "ahb",
                                f"sm3_ahb, {r} round{'s' * (r > 1)} a cycle" + ", input buffer" * b,
                                {"ROUNDS_PER_CYCLE": r, "INPUT_BUFFER": b}, {"V_IN_RAM": 1}))
    for nested, suffix, how in ((1, "", "compression begun while words come"),
                                (0, "-plain", "compression begun after the last word")):
        found.append(Design("paper" + suffix, "sm3_paper", "compare", "paper",
                            f"the paper's architecture, {how}", {"NESTED": nested}))
    found.append(Design("paper-ahb", "sm3_paper_ahb", "compare", "paper_ahb",
                        "the paper's architecture with its AHB-SIC, registers of a word", {"NESTED": 1, "WIDE": 0}))
    found.append(Design("paper-ahb-wide", "sm3_paper_ahb", "compare", "paper_wide_ahb",
                        "the paper's architecture with its AHB-SIC, registers of 512 and 256 bits", {"NESTED": 1, "WIDE": 1}))
    # The paper does not mention clock gates: its architecture is measured with them, as ours is, and without.
    found += [replace(d, name=f"{d.name}-ungated", what=f"{d.what}, no clock gates", gates=False)
              for d in found if d.name in ("paper", "paper-ahb", "paper-ahb-wide", "core-r1", "ahb-r1")]
    return {design.name: design for design in found}


DESIGNS = _designs()
