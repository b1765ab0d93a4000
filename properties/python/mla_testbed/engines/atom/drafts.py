"""Draft steps: ATOM's EagleProposer moves the metadata of the verified step on, for a model of ours
that drafts nothing."""

from __future__ import annotations

import dataclasses
import importlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch

from ..step import EngineStep
from .runner import Runner

_PROPOSER = "atom.spec_decode.eagle_proposer"


@dataclasses.dataclass(frozen=True)
class Drafting:
    """How a step became one of drafts.

    Attributes:
        target: the verified step before it.
        rejected: (requests,) how many of its drafts were not accepted.
    """

    target: EngineStep
    rejected: np.ndarray


def verified(step: EngineStep, number: int) -> Drafting:
    """The step that was verified before the draft step `number` of it, which is `step`.

    A request had the keys of the draft step, without those of its draft steps and with those of
    rejected drafts. Rows are as many as a server with so many drafts has.
    """
    rows = number + 2
    most = np.minimum(rows - 1, np.array(step.seq_lens) - number - 1)
    rejected = np.random.default_rng(step.data_seed).integers(0, most, endpoint=True)
    keys = np.array(step.seq_lens) - number + rejected
    fewer = np.maximum(rows - keys, 0)  # short requests: as many rows as they have keys at least
    keys, rejected = keys + fewer, rejected + fewer
    target = dataclasses.replace(
        step, query_lens=(rows,) * step.requests, seq_lens=tuple(int(k) for k in keys))
    return Drafting(target, rejected)


class _Model:
    """Counts its passes; drafts token 0."""

    def __init__(self) -> None:
        self.passes = 0

    def __call__(self, *, hidden_states: torch.Tensor, **_: Any) -> torch.Tensor:
        self.passes += 1
        return hidden_states

    def compute_draft_ids(self, hidden: torch.Tensor) -> torch.Tensor:
        """One token a request."""
        return torch.zeros(hidden.shape[0], dtype=torch.int64, device=hidden.device)


def propose(builder: Any, runner: Runner, metadata: Any, drafting: Drafting) -> None:
    """EagleProposer.propose after the verified step: `metadata` becomes that of its last pass.

    Raises:
        RuntimeError: it did not make as many passes as the server has drafts.
    """
    module: Any = importlib.import_module(_PROPOSER)
    requests, rows = drafting.target.requests, drafting.target.query_lens[0]
    context = SimpleNamespace(batch_size=requests, is_draft=False, is_prefill=False)
    module.get_forward_context = lambda: SimpleNamespace(context=context, attn_metadata=metadata)
    runner.attn_metadata_builder = builder
    model = _Model()
    device = runner.device
    proposer = SimpleNamespace(
        mtp_k=rows - 1, runner=runner, model=model, _share_mtp_indices=False,
        arrange_bs=torch.arange(requests + 1, dtype=torch.int32, device=device),
        aux_for=lambda _: None, _refresh_dp_metadata=lambda *_: None)
    last = torch.arange(1, requests + 1) * rows - 1
    last = (last - torch.from_numpy(drafting.rejected)).to(device)
    tokens = torch.zeros(requests * rows, dtype=torch.int64, device=device)
    rejected = torch.from_numpy(drafting.rejected.astype(np.int32)).to(device)
    module.EagleProposer.propose(
        proposer, tokens, runner.forward_vars["positions"].gpu[:requests * rows],
        torch.zeros(requests * rows, 1, device=device), rejected,
        torch.zeros(requests, dtype=torch.int64, device=device), last)
    if model.passes != rows - 1:
        raise RuntimeError(f"ATOM's proposer made {model.passes} passes; expected {rows - 1}")
