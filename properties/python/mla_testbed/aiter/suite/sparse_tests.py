"""Which of AITER's tests of the stages around sparse MLA are run. What they call is C++ of AITER's
that has no port, so AITER's own modules are built for them (docs/findings/aiter-python.md#sparse).
"""

from __future__ import annotations

from .. import topk_grid
from .tests import AiterTest, words

_TOP_K = ("module_top_k_per_row",)

SPARSE_TESTS = (
    AiterTest("indexer_k_quant_and_cache", "test_indexer_k_quant_and_cache.py",
              small=words("-m 1 64 -b 1 16 -p -g")),
    AiterTest("pa_sparse_prefill_opus", "test_pa_sparse_prefill_opus.py", archs=("gfx950",),
              pytest=True, smallest=True),
    # Its first part calls the kernel whose workgroups wait for each other, with rows of 131,073
    # keys and more.
    AiterTest("topk_per_row", "test_topk_per_row.py", modules=_TOP_K,
              small=words("-c 8 3072 -k 512 2048 -b 2 -n 1 2")),
    AiterTest("topk_per_row_stable", "test_topk_per_row_stable.py", modules=_TOP_K,
              driver=topk_grid.__name__),
    AiterTest("topk_row_prefill", "test_topk_row_prefill.py", modules=_TOP_K,
              small=words("-m prefill")),
)
