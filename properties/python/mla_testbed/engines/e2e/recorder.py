"""Keeps what an engine does in each step while it serves, for the finder.

What a layer computed is copied by a launch of the world, so that a captured graph copies it again
in each replay, and the host waits for nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

from ... import mla_bundle, mla_capture, world
from ..decode.built import Built
from ..observed import Observed
from .scenario import Scenario
from .traced import Step
from .written import Written


class Recorder:
    """The steps of one engine; an engine's watch fills them in.

    Attributes:
        steps: in their order. on: whether requests are served, not a warm-up.
        given: tokens and positions that the model got in this step, with padding.
        written: keeps what each step writes to the cache, where an engine's watch does that.
        attending: number of the layer that attends now, -1 for none.
        scale: of the cache of the first layer, as a checkpoint has it; None: not seen.
    """

    def __init__(self, scenario: Scenario, observed: Observed) -> None:
        self._scenario = scenario
        self.steps: list[Step] = []
        self.on = False
        self.given: tuple[torch.Tensor, torch.Tensor] | None = None
        self.attending = -1
        self.scale: float | None = None
        self._observed = observed
        self.written: Written | None = None

    @property
    def replays(self) -> int:
        """Steps whose layers a graph ran."""
        return sum(step.replayed for step in self.steps)

    def wrong_writes(self) -> list[str]:
        """A sentence for the first step that wrote other slots of the cache than its own."""
        if self.written is None:
            return []
        found = (self.written.wrong(step, self._scenario.block) for step in self.steps)
        return list(filter(None, found))[:1]

    def wrong_scale(self, wanted: int) -> str:
        """A sentence if the cache has another scale than the checkpoint; "" if it has that one."""
        if wanted in (1, self.scale):
            return ""
        found = "is not seen" if self.scale is None else f"is {self.scale:g}"
        return f"the scale of layer 0's cache {found}; the checkpoint has {wanted}"

    def save_launch(self, step: int, layer: int, folder: str) -> None:
        """Saves the decode launch of a step and layer, with its tensors, when it comes."""
        import aiter.mla

        kernel = aiter.mla.mla_decode_fwd

        def after(arguments: dict[str, Any]) -> None:
            number, given = self.attending, dict(arguments)

            def save() -> None:
                if self.on and len(self.steps) - 1 == step and number == layer:
                    self._saved(folder, given)

            self.launch([given["o"]], save)

        mla_capture.replace_everywhere(kernel, mla_capture.observed(kernel, after))

    def _saved(self, folder: str, arguments: dict[str, Any]) -> None:
        call = self.planned(arguments.get("work_indptr"))
        if call is None:
            scalars = dict(self._observed.facts)
            arrays = {key: mla_bundle.as_array(arguments[name]).reshape(-1)
                      for name, key in mla_capture.LAUNCH_LISTS.items()}
            more, launch = mla_capture.unplanned_launch(arguments)
        else:
            scalars, arrays = mla_capture.bundle_of(call, self._observed.facts)
            scalars.update(mla_capture.planned_dtypes(call))
            # The tensors themselves: the plan is held against their addresses.
            more, launch = mla_capture.launch_of(arguments)
        numbers, told = self._scheduled(len(arrays["seqlens_qo_indptr"]) - 1)
        most, tensors = mla_capture.tensors_of(arguments, arrays["seqlens_kv_indptr"])
        mla_bundle.write_bundle(folder, f"step {len(self.steps) - 1}",
                                {**scalars, **more, **numbers, **most},
                                {**arrays, **launch, **told, **tensors})

    def _scheduled(self, requests: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """What the scheduler says of the first requests of the step, as a bundle has it."""
        served = self.steps[-1].served[:requests]
        if self.given is None or not served:
            return {}, {}
        positions, size = copied(self.given[1]), self._scenario.block
        ends = [int(positions[one.first]) + one.rows for one in served]
        width = -(-max(ends) // size)
        table = [[*one.blocks[:width], *[0] * (width - len(one.blocks))] for one in served]
        return {"scheduler_block_size": size}, mla_capture.told_arrays({
            "scheduler_seq_lens": torch.tensor(ends),
            "scheduler_query_lens": torch.tensor([one.rows for one in served]),
            "scheduler_block_table": torch.tensor(table)})

    def lists_of(self, layer: int) -> bool:
        """Whether the lists of a layer are kept: the first one's, and of a model whose layers share
        selections those of all."""
        return layer == 0 or (layer > 0 and self._scenario.share > 1)

    @staticmethod
    def keep_lists(step: Step, layer: int, built: Built) -> None:
        """What the kernel of a layer was about to read."""
        if layer == 0:
            step.built = built
        else:
            step.later[layer] = built

    def planned(self, plan: torch.Tensor | None) -> dict[str, Any] | None:
        """The planner call that filled a plan, as its tensors are now."""
        for call in reversed(self._observed.decode):
            if plan is not None and call["work_indptr"].data_ptr() == plan.data_ptr():
                return {name: copied(value) if isinstance(value, torch.Tensor) else value
                        for name, value in call.items()}
        return None

    def keep(self, number: int) -> Callable[[dict[str, torch.Tensor]], None]:
        """What a launch calls with the tensors of a layer; to be asked when it is queued."""
        graph = world.active().state.capture is not None  # type: ignore[union-attr]

        def keep(found: dict[str, torch.Tensor]) -> None:
            if not self.on or not self.steps or self.given is None:
                return
            step, (tokens, positions) = self.steps[-1], self.given
            step.replayed |= graph
            if step.tokens is None:
                step.tokens = copied(tokens)[:step.rows]
                step.positions = copied(positions)[:step.rows]
            layer = step.layers.setdefault(number, {})
            layer.update({name: copied(tensor).flatten(1)[:step.rows].float()
                          for name, tensor in found.items()})

        return keep

    def launch(self, tensors: list[torch.Tensor], copy: Callable[[], None]) -> None:
        """Copies after what computes the tensors; in a graph with each replay."""
        entered = world.active()
        assert entered is not None
        entered.launch(copy, tensors)


def unplanned(scenario: Scenario, rows: int) -> dict[str, Any]:
    """What a planner would be told of a step of at most `rows` rows a request."""
    return {"num_heads_per_head_k": scenario.heads, "num_heads_k": 1, "page_size": 1,
            "is_causal": True, "dtype_q": scenario.cache, "dtype_kv": scenario.cache,
            "max_seqlen_qo": rows}


def put(step: Step, **fields: Any) -> None:
    """Sets fields of a step."""
    for name, value in fields.items():
        setattr(step, name, value)


def copied(tensor: torch.Tensor) -> torch.Tensor:
    """On the host, without waiting: what lies at the tensor's address now."""
    with _disable_current_modes():
        return torch.empty(tensor.shape, dtype=tensor.dtype).copy_(tensor)
