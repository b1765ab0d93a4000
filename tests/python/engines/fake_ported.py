"""An engine of our own that says in whose place ports ran: `fake_ported:Changed`, `:Same`."""

from fake_engine import FakeEngine
from mla_testbed.engines import Machine
from mla_testbed.ported import Ported

FILE = "csrc/kernels/mla/metadata.cu"


class Same(FakeEngine):
    def __init__(self, machine: Machine) -> None:
        super().__init__(machine, "Sound")

    def ported(self) -> Ported:
        return Ported("v7", ("module_mla_metadata",))


class Changed(Same):
    def ported(self) -> Ported:
        return Ported("v7", ("module_mla_metadata",), {FILE: ("module_mla_metadata",)})


class Wrong(Changed):
    def __init__(self, machine: Machine) -> None:
        super().__init__(machine)
        self.plant = "WrongPage"
