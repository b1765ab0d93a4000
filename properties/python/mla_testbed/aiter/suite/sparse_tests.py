"""Which of AITER's tests of the stages around sparse MLA are run. What they call is C++ of AITER's
that has no port, so AITER's own modules are built for them (docs/findings/aiter-python.md#sparse).
"""

from __future__ import annotations

from .tests import AiterTest

SPARSE_TESTS = (
    AiterTest("indexer_k_quant_and_cache", "test_indexer_k_quant_and_cache.py",
              small=("-m", "1", "64", "-b", "1", "16", "-p", "-g")),
    AiterTest("pa_sparse_prefill_opus", "test_pa_sparse_prefill_opus.py", archs=("gfx950",),
              pytest=True, smallest=True),
)
