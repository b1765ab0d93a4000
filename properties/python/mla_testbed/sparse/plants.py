"""Defects that are put into the chain on purpose: each must fail its property.

A plant is made anew for each run, since some keep something from one batch to the next.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from . import (
    broken_lists,
    broken_logits,
    broken_ranks,
    broken_rows,
    broken_v4,
    broken_writing,
    model,
)
from .case import Case
from .draw import drawn
from .findings import Finding
from .judge import judge
from .model import Stages
from .model_v4 import MODEL


@dataclasses.dataclass(frozen=True)
class Plant:
    """A defect.

    Attributes:
        id: its name.
        property: which property finds it.
        what: a sentence: what it does wrong.
        report: of a real defect that it repeats, or "".
        make: its stages, by name.
        fixed: fields of drawn cases that can show it.
        cases: lines instead of drawn ones, one step after the other.
    """

    id: str
    property: str
    what: str
    report: str
    make: Callable[[], dict[str, Any]]
    fixed: dict[str, Any] = dataclasses.field(default_factory=dict)
    cases: tuple[str, ...] = ()

    def stages(self) -> Stages:
        """A chain with the defect."""
        return dataclasses.replace(MODEL, **self.make())


def caught(plant: Plant, seed: int, most: int) -> tuple[str, Finding] | None:
    """The first of `most` cases on which the plant fails its property, with the finding."""
    stages = plant.stages()
    lines = plant.cases or (str(drawn(seed, number, **plant.fixed)) for number in range(most))
    for line in lines:
        for finding in judge(Case.parse(line), stages):
            if finding.property == plant.property:
                return line, finding
    return None


def _reading(read: Callable[..., np.ndarray]) -> Callable[[], dict[str, Any]]:
    """Attention that reads its rows so."""
    return lambda: {"attend": lambda *stage: model.attend(*stage, read=read)}


def _of(name: str, body: Callable[..., Any]) -> Callable[[], dict[str, Any]]:
    return lambda: {name: body}


def _nan_padding(inputs: Any, lists: Any, pieces: Any, partials: Any, lse: Any, sink: Any = None,
                 ) -> np.ndarray:
    made = MODEL.merge(inputs, lists, pieces, partials, lse, sink)
    made[np.diff(lists.indptr) == 0] = np.nan
    return made


_ROPE = {"width": (512, 64)}
_RANKS = {"dcp": 2, "interleave": 1, "block": 16, "shared": 0, "ratio": 1, "window": 0,
          "requests": ((2, 90), (1, 41))}
_V4 = {"cache": "v4", "width": (448, 64), "requests": ((2, 60), (1, 41))}
PLANTS = (
    Plant("padding-written", "SP-01", "A slot of -1 is taken for the last slot of the cache.",
          "", _of("write", broken_writing.padding_written)),
    Plant("past-the-scales", "SP-02", "Four bytes after the last scale of a block are written.",
          "", _of("write", broken_writing.past_the_scales),
          {"gap": 16}),
    Plant("dense-blocks", "SP-03", "The writer takes blocks for dense, whatever lies between them.",
          "", _of("write", broken_writing.dense_blocks),
          {"gap": 16}),
    Plant("row-for-shuffle", "SP-03", "The writer has rows where the reader has tiles.",
          "sglang#31563", _of("write", broken_writing.row_for_shuffle),
          {"block": 64, "layout": "shuffle"}),
    Plant("nearest-power", "SP-04", "Scales are the nearest power of two, so that values saturate.",
          "", _of("write", broken_writing.nearest_power)),
    Plant("truncated-codes", "SP-04", "Values are cut to fp8, not rounded.",
          "", _of("write", broken_writing.truncated_codes)),
    Plant("gather-neighbour", "SP-05", "The first key of a request is looked up in the table "
          "of the request before.", "", _of("gather", broken_writing.gather_neighbour)),
    Plant("padding-stored", "SP-01", "A packed row of a slot of -1 is written to slot 0.",
          "", _of("store", broken_rows.padding_stored), {"cache": "ds"}),
    Plant("row-too-long", "SP-02", "Two bytes after a block's last packed row are written.",
          "", _of("store", broken_rows.row_too_long), {"cache": "ds", "gap": 16, **_ROPE}),
    Plant("dense-rows", "SP-03", "The writer of packed rows takes blocks for dense.",
          "", _of("store", broken_rows.dense_rows), {**_V4, "ratio": 1, "gap": 16}),
    Plant("one-scale", "SP-04", "All tiles of a packed row have the scale of the first.",
          "", _of("store", broken_rows.one_scale), {"cache": "ds", "scale": "f32"}),
    Plant("scales-shifted", "SP-05", "Rows are unpacked with the scale of the tile before.",
          "", _of("fetch", broken_rows.scales_shifted), {"cache": "ds", "data": "wide"}),
    Plant("window-of-zeros", "SP-06", "Loads past a limit of bytes return 0, without a fault.",
          "aiter#4774", _of("logits", broken_logits.window_of_zeros)),
    Plant("stale-columns", "SP-07", "Columns after a row's keys keep what was there.",
          "vllm#39303", _of("logits", broken_logits.stale_columns)),
    Plant("chunk-past-row", "SP-08", "The last chunk of a row is written whole.",
          "", _of("logits", broken_logits.chunk_past_row)),
    Plant("rows-reversed", "SP-09", "Row n of a request sees all but its last n keys.",
          "", _of("logits", broken_logits.rows_reversed),
          {"requests": ((3, 90),)}),
    Plant("fixed-width", "SP-10", "The selection has 64 keys, whatever k is.",
          "sglang#39340", _of("select", broken_logits.fixed_width),
          {"k": 128, "requests": ((1, 300),)}),
    Plant("whole-row", "SP-10", "The selection takes all columns of the buffer for keys.",
          "vllm#39303", _of("select", broken_logits.whole_row)),
    Plant("ties-first", "SP-11", "Keys at the threshold take the places of larger ones.",
          "", _of("select", broken_logits.ties_first),
          {"k": 64, "requests": ((1, 300),), "data": "ties"}),
    Plant("bf16-logits", "SP-12", "A fused selection compares logits that are rounded to bf16.",
          "", lambda: {"logits": None, "select": broken_logits.bf16_logits},
          {"k": 64, "requests": ((1, 2500),), "data": "gauss"}),
    Plant("ties-by-rank", "SP-13", "Each rank takes other keys of those that are equal.",
          "aiter#4376", _of("select", broken_logits.ties_by_rank),
          {"k": 64, "requests": ((1, 300),), "data": "ties"}),
    Plant("next-table", "SP-14", "Rows take the block table of the next request.",
          "", _of("convert", broken_lists.next_table)),
    Plant("none-is-row-0", "SP-14", "A -1 among the selected keys becomes slot 0.",
          "", _of("convert", broken_lists.none_is_row_0),
          {"holes": 5}),
    Plant("first-columns", "SP-14", "Valid keys are counted, and as many first places are taken.",
          "", _of("convert", broken_lists.first_columns),
          {"holes": 5}),
    Plant("old-selection", "SP-14", "A layer keeps the list of the step before, if as long.",
          "", broken_lists.old_selection,
          cases=("sparse1:1q1s300;k=64;data=gauss.1", "sparse1:1q1s300;k=64;data=gauss.2")),
    Plant("own-token-missing", "SP-15", "A row's count leaves out its own key.",
          "", _of("convert", broken_lists.own_token_missing)),
    Plant("plan-by-least", "SP-16", "Pieces are kept as long as min(longest context, k) is the "
          "same.", "vllm#47042", broken_lists.plan_by_least,
          cases=("sparse1:1q64s64;k=64;width=64+0", "sparse1:1q64s200;k=64;width=64+0")),
    Plant("width-576", "SP-17", "The kernel steps 576 elements from row to row of any cache.",
          "vllm#53943", _of("attend", broken_lists.width_576),
          {"width": (512, 0), "cache": "bf16"}),
    Plant("other-encoding", "SP-17", "Packed rows of one encoding are read as the other's.",
          "vllm#45681", _reading(broken_rows.other_encoding),
          {**_V4, "ratio": 1}),
    Plant("scales-of-first", "SP-17", "All rows of a block are read with the scales of its first.",
          "", _reading(broken_rows.scales_of_first),
          {**_V4, "ratio": 1, "data": "wide", "block": 16}),
    Plant("latent-values", "SP-17", "DeepSeek-V4's rope part is left out of the values.",
          "", _of("attend", broken_rows.latent_values), {**_V4, "ratio": 1}),
    Plant("last-piece-lost", "SP-17", "The merge leaves out a row's last piece.",
          "", _of("merge", broken_lists.last_piece_lost)),
    Plant("nan-padding", "SP-18", "A row without keys is 0 / 0.", "", _of("merge", _nan_padding),
          {"pad": 3}),
    Plant("sink-per-piece", "SP-19", "Each piece of a row has the sink in its denominator.",
          "", _of("merge", broken_lists.sink_per_piece),
          {"k": 128, "requests": ((2, 300),)}),
    Plant("halves-swapped", "SP-20", "The older group of a compressed key has the second half.",
          "", _of("compress", broken_v4.halves_swapped), {**_V4, "ratio": 4}),
    Plant("absent-counted", "SP-20", "Tokens before position 0 have weights in the first group.",
          "", _of("compress", broken_v4.absent_counted), {**_V4, "ratio": 4}),
    Plant("states-forgotten", "SP-20", "A group that two steps share has the tokens of the last.",
          "", _of("compress", broken_v4.states_forgotten),
          {**_V4, "ratio": 4, "requests": ((3, 90),)}),
    Plant("turned-at-last", "SP-20", "Keys are rotated at the last position of their group.",
          "", _of("compress", broken_v4.turned_at_last), {**_V4, "ratio": 4}),
    Plant("one-early", "SP-20", "Keys are made one token before their group is whole.",
          "", _of("compress", broken_v4.one_early), {**_V4, "ratio": 4}),
    Plant("window-of-end", "SP-21", "All rows of a request have the window of its last row.",
          "", _of("window", broken_v4.window_of_end), {"window": 16, "requests": ((3, 90),)}),
    Plant("ring-too-short", "SP-21", "A ring has no room for the rows of the step itself.",
          "", _of("window", broken_v4.ring_too_short), {"window": 16, "requests": ((3, 90),)}),
    Plant("half-groups", "SP-21", "A compressed key is visible before its group is whole.",
          "", _of("visible", broken_v4.half_groups),
          {**_V4, "ratio": 4, "requests": ((3, 93),)}),
    Plant("list-of-first-layer", "SP-23", "A layer has the list of the layer that selected.",
          "", broken_v4.list_of_first_layer),
    Plant("list-of-step-before", "SP-23", "A layer's list is kept while there are as many rows.",
          "", broken_v4.list_of_step_before,
          cases=("sparse1:1q1s300;k=64;data=gauss.1", "sparse1:1q1s300;k=64;data=gauss.2")),
    Plant("blocks-dealt", "SP-24", "Whole blocks are dealt to ranks, not single positions.",
          "", _of("deal", broken_ranks.blocks_dealt), _RANKS),
    Plant("places-of-all", "SP-24", "A rank looks for its keys where one device has them.",
          "", _of("deal", broken_ranks.places_of_all), _RANKS),
    Plant("not-compacted", "SP-24", "A rank counts its keys, and takes as many first places.",
          "", _of("deal", broken_ranks.not_compacted), _RANKS),
    Plant("runs-of-one", "SP-24", "Positions are dealt one by one, whatever the interleave is.",
          "", _of("deal", broken_ranks.runs_of_one), {**_RANKS, "interleave": 4}),
    Plant("lse-of-base-2", "SP-25", "A rank's lse is a logarithm of base 2.",
          "", _of("attend_part", broken_ranks.lse_of_base_2), _RANKS),
    Plant("lse-of-nothing", "SP-25", "A row without keys on a rank has the lse 0.",
          "", _of("attend_part", broken_ranks.lse_of_nothing),
          {**_RANKS, "requests": ((1, 1), (1, 90))}),
    Plant("equal-ranks", "SP-26", "Parts are averaged over the ranks that have keys.",
          "", _of("join", broken_ranks.equal_ranks), _RANKS),
    Plant("empty-ranks-count", "SP-26", "A rank without keys has weight.",
          "", _of("join", broken_ranks.empty_ranks_count),
          {**_RANKS, "requests": ((1, 1), (1, 90))}),
    Plant("last-rank-lost", "SP-26", "The last rank's part is left out.",
          "", _of("join", broken_ranks.last_rank_lost), _RANKS),
    Plant("tail-of-capture", "SP-22", "The sums of padding are those of the capture.",
          "", _of("convert", broken_lists.tail_of_capture),
          {"pad": 3}),
)
