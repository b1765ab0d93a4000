"""What the adapters of vLLM have in common: its import, a configuration, tensors of the device."""

from __future__ import annotations

import importlib
from typing import Any, ClassVar

import numpy as np
import torch

from .. import surroundings
from ..engine import Machine
from . import config, installed


class VllmBase:
    """One vLLM, one architecture.

    Attributes:
        OPTIONS, MODULE, MODEL: what `--option` takes; of the backend; config.json of its model.
        base: a VllmConfig of this model.
    """

    name = "vllm"
    OPTIONS: ClassVar[dict[str, tuple[str, ...]]] = {}
    MODULE: ClassVar[str]
    MODEL: ClassVar[dict[str, Any]]

    def __init__(self, machine: Machine) -> None:
        self.version = installed.version()
        self.ported = surroundings.enter(machine).ported
        import aiter  # noqa: F401 before the engine, as on ROCm images

        self.aiter = surroundings.aiter_version()
        installed.platform()
        self._module = importlib.import_module(self.MODULE)
        self.sources: tuple[str, ...] = (str(self._module.__file__),)
        self._options = machine.option(self.OPTIONS)
        self.attends = not machine.without_aiter
        self.base = config.base(self.MODEL)
        self._device = torch.device("cuda")
        self._builder: Any = None
        self._current: Any = None

    def _tensor(self, bits: np.ndarray, dtype: str) -> torch.Tensor:
        return surroundings.on_device(bits, dtype)

    def _entered(self) -> Any:
        from vllm.config import set_current_vllm_config

        return set_current_vllm_config(self._current)
