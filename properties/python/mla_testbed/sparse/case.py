"""Case: one batch of a sparse-attention layer, as one line of text (docs/use/sparse.md)."""

from __future__ import annotations

import dataclasses
import re

from ..errors import UsageError
from .numbers import ENCODINGS

PREFIX = "sparse1:"
#: Elements of an indexer key, and bytes of its scale: the same in every model of this family.
KEY, SCALE = 128, 4
ROW = KEY + SCALE
LAYOUTS, SCALES = ("row", "shuffle"), ("ue8m0", "f32")
#: Rows of the cache that is attended, and elements of the latent part that share a scale.
CACHES = {"bf16": 1, "ds": 128, "v4": 64}
DATA = ("gauss", "ties", "equal", "wide", "zero")
#: Tokens of a compressed key.
RATIOS = (1, 4, 128)
#: Rows and columns of a tile in the layout "shuffle".
TILE = 16
_MOST_TOKENS = 1 << 21
#: Of several ranks, whose caches are made as a whole, one after the other.
_MOST_OF_RANKS = 1 << 18
_REQUESTS = re.compile(r"(\d+)q(\d+)s(\d+)")


@dataclasses.dataclass(frozen=True)
class Case:
    """A batch, its caches and its data. `str` and `parse` are inverse.

    Attributes:
        requests: (rows, keys) of each; the rows are the last ones of the keys.
        block: tokens of a block, of both caches.
        layout: of the indexer cache, "row" or "shuffle".
        gap: bytes between two blocks of the indexer cache, and of a packed one; a multiple of 16.
        heads: of the indexer.
        k: keys that a row selects at most.
        fp8: "fnuz" or "ocp".
        scale: "ue8m0" (a power of two) or "f32"; also of "ds".
        cache: rows of the cache that is attended: "bf16"; "ds" and "v4" are packed (rows.py).
        width: latent and rope elements of a row of the cache that is attended.
        qheads: of the attention.
        shared: tokens that all requests have in common; whole blocks.
        ratio: tokens of a compressed key of DeepSeek-V4: 4, 128, or 1: none.
        window: keys of its sliding window; 0: none.
        pad: rows of a graph after those of the batch.
        dcp: ranks that share each context (decode context parallelism). interleave: positions, one
            after the other, of one rank.
        holes: a row's selection has a -1 in front of every so many keys; 0: none.
        data: "gauss", "ties" (few different logits), "equal" (one), "wide" (magnitudes from 2^-12
            to 2^12), "zero".
        seed: of the data and of the block tables.
    """

    requests: tuple[tuple[int, int], ...]
    block: int = 16
    layout: str = "row"
    gap: int = 0
    heads: int = 64
    k: int = 128
    fp8: str = "fnuz"
    scale: str = "ue8m0"
    cache: str = "bf16"
    width: tuple[int, int] = (512, 64)
    qheads: int = 16
    shared: int = 0
    ratio: int = 1
    window: int = 0
    pad: int = 0
    holes: int = 0
    dcp: int = 1
    interleave: int = 1
    data: str = "gauss"
    seed: int = 0

    def __post_init__(self) -> None:
        self._check_batch()
        for name, value, known in (
                ("layout", self.layout, LAYOUTS), ("fp8", self.fp8, tuple(ENCODINGS)),
                ("scale", self.scale, SCALES), ("cache", self.cache, tuple(CACHES)),
                ("data", self.data, DATA)):
            if value not in known:
                raise UsageError(f"case field '{name}' is '{value}'; expected one of "
                                 f"{', '.join(known)}")
        _range("block", self.block, 1, 4096)
        _range("heads", self.heads, 1, 128)
        _range("k", self.k, 1, 1 << 16)
        _range("latent width", self.width[0], 16, 4096)
        _range("rope width", self.width[1], 0, 4096)
        _range("qheads", self.qheads, 1, 256)
        _range("pad", self.pad, 0, 1 << 12)
        _range("holes", self.holes, 0, 1 << 16)
        _range("gap", self.gap, 0, 1 << 16)
        _range("window", self.window, 0, 1 << 14)
        if self.ratio not in RATIOS:
            raise UsageError(f"case field 'ratio' is {self.ratio}; expected one of "
                             f"{', '.join(map(str, RATIOS))}")
        if self.ratio > 1 and (self.cache != "v4" or self.shared):
            raise UsageError(f"case field 'ratio' is {self.ratio}: compressed keys lie in rows of "
                             "'cache=v4', without a shared prefix")
        self._check_ranks()
        if self.gap % 16:
            raise UsageError(f"case field 'gap' is {self.gap}; expected a multiple of 16")
        if self.width[0] % CACHES[self.cache]:
            raise UsageError(f"case field 'cache' is '{self.cache}': {CACHES[self.cache]} elements "
                             f"have a scale, which do not divide a latent width of {self.width[0]}")
        if self.layout == "shuffle" and self.block % TILE:
            raise UsageError(f"case field 'block' is {self.block}; layout 'shuffle' has tiles of "
                             f"{TILE} tokens")
        if self.shared % self.block or self.shared > min(keys for _, keys in self.requests):
            raise UsageError(f"case field 'shared' is {self.shared}; expected whole blocks of "
                             f"{self.block} tokens that every request has")

    def _check_ranks(self) -> None:
        _range("dcp", self.dcp, 1, 8)
        if self.interleave < 1 or self.block % self.interleave or (
                self.dcp == 1 and self.interleave > 1):
            raise UsageError(f"case field 'interleave' is {self.interleave}; expected a divisor of "
                             f"a block of {self.block} tokens, and 1 without 'dcp'")
        if self.dcp > 1 and (self.ratio > 1 or self.window):
            raise UsageError(f"case field 'dcp' is {self.dcp}: ranks share no context of "
                             f"DeepSeek-V4; found ratio={self.ratio} and window={self.window}")
        tokens = sum(keys for _, keys in self.requests)
        if self.dcp > 1 and tokens > _MOST_OF_RANKS:
            raise UsageError(f"the case has {tokens} keys; expected at most {_MOST_OF_RANKS} of "
                             f"several ranks, found dcp={self.dcp}")
        if self.dcp > 1 and self.shared % (self.block * self.dcp):
            raise UsageError(f"case field 'shared' is {self.shared}; expected whole blocks of all "
                             f"{self.dcp} ranks, {self.block * self.dcp} tokens each")

    def _check_batch(self) -> None:
        if not self.requests:
            raise UsageError("the case has no request; expected such as '2q1s700'")
        for rows, keys in self.requests:
            if not 0 <= rows <= keys:
                raise UsageError(f"a request has {rows} rows and {keys} keys; the rows are the "
                                 "last ones of its keys")
        tokens = sum(keys for _, keys in self.requests)
        if tokens > _MOST_TOKENS:
            raise UsageError(f"the case has {tokens} keys; expected at most {_MOST_TOKENS}")

    @property
    def rows(self) -> int:
        """Of the batch, without padding."""
        return sum(rows for rows, _ in self.requests)

    @property
    def row_width(self) -> int:
        """Elements of a row of the cache that is attended."""
        return sum(self.width)

    @property
    def value_width(self) -> int:
        """Elements of an output: the latent part, or DeepSeek-V4's whole row."""
        return self.row_width if self.cache == "v4" else self.width[0]

    @property
    def block_bytes(self) -> int:
        """From one block of the indexer cache to the next."""
        return self.block * ROW + self.gap

    def __str__(self) -> str:
        groups: list[list[int]] = []
        for rows, keys in self.requests:
            if groups and groups[-1][1:] == [rows, keys]:
                groups[-1][0] += 1
            else:
                groups.append([1, rows, keys])
        batch = "_".join(f"{count}q{rows}s{keys}" for count, rows, keys in groups)
        fields = {**{f.name: getattr(self, f.name) for f in dataclasses.fields(self)},
                  "width": f"{self.width[0]}+{self.width[1]}", "data": f"{self.data}.{self.seed}"}
        names = [name for name in _FIELDS if self.dcp > 1 or name not in _OF_RANKS]
        return PREFIX + ";".join([batch, *(f"{name}={fields[name]}" for name in names)])

    @classmethod
    def parse(cls, line: str) -> Case:
        """The case of a line; fields that are missing have their defaults.

        Raises:
            UsageError: it is no case.
        """
        if not line.startswith(PREFIX):
            raise UsageError(f"'{line}' is no case of the sparse chain; expected '{PREFIX}...'")
        batch, *rest = line.strip()[len(PREFIX):].split(";")
        fields: dict[str, object] = {"requests": _requests(batch)}
        for field in rest:
            name, equals, text = field.partition("=")
            if name not in _FIELDS or not equals or name in fields:
                raise UsageError(f"case field '{field}' is unknown, has no value, or is there "
                                 f"twice; expected {', '.join(_FIELDS)}")
            if name == "data":
                fields["data"], _, seed = text.partition(".")
                fields["seed"] = _number("data", seed)
            elif name == "width":
                fields[name] = tuple(_number(name, part) for part in text.split("+"))
                if len(fields[name]) != 2:  # type: ignore[arg-type]  # noqa: PLR2004
                    raise UsageError(f"case field 'width' is '{text}'; expected such as '512+64'")
            else:
                fields[name] = text if name in _TEXTS else _number(name, text)
        return cls(**fields)  # type: ignore[arg-type]


_TEXTS = ("layout", "fp8", "scale", "cache")
_FIELDS = ("block", "layout", "gap", "heads", "k", "fp8", "scale", "cache", "width",
           "qheads", "shared", "ratio", "window", "pad", "holes", "dcp", "interleave", "data")
#: Printed of cases with several ranks alone, so that every line of before is what it was.
_OF_RANKS = ("dcp", "interleave")


def _requests(batch: str) -> tuple[tuple[int, int], ...]:
    made: list[tuple[int, int]] = []
    for group in batch.split("_"):
        found = _REQUESTS.fullmatch(group)
        if found is None:
            raise UsageError(f"'{group}' is no group of requests; expected such as '2q1s700'")
        count, rows, keys = (int(text) for text in found.groups())
        _range("number of requests", count, 1, 1 << 12)
        made += [(rows, keys)] * count
    return tuple(made)


def _number(name: str, text: str) -> int:
    if not text.isdigit():
        raise UsageError(f"case field '{name}' has '{text}'; expected a number")
    return int(text)


def _range(name: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise UsageError(f"case field '{name}' is {value}; expected {least} to {most}")
