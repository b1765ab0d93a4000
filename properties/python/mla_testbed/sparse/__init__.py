"""Sparse MLA from the indexer to the output: cases, references, properties (docs/use/sparse.md).

    from mla_testbed.sparse import Case, judge, MODEL
    judge(Case.parse("sparse1:2q1s700;block=16"), MODEL)     # [] : every property holds
"""

from __future__ import annotations

from .case import Case
from .findings import Finding
from .inputs import Inputs, inputs_of
from .judge import judge
from .model import Stages
from .model_v4 import MODEL

__all__ = ["MODEL", "Case", "Finding", "Inputs", "Stages", "inputs_of", "judge"]
