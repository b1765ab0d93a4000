"""Which of AITER's tests of its OPUS kernels are run, for gfx950, over AITER's own modules. Where a
variable chooses OPUS, or AITER's dispatch may choose another kernel, the module is named: without
it the run says nothing of OPUS (docs/findings/aiter-python.md#opus).
"""

from __future__ import annotations

from .tests import AiterTest, words

_GFX950 = ("gfx950",)
_CHOSEN = (("AITER_MLA_USE_OPUS", "1"),)
_DECODE = words("-c 64 300 -b 2 -d fp8 -kvd fp8 -ms 16")

OPUS_TESTS = (
    AiterTest("mla_opus_one_row", "test_mla_persistent.py", archs=_GFX950,
              small=(*_DECODE, *words("-n 16,1 32,1 64,1 128,1")),
              modules=("module_opus_mla",), environment=_CHOSEN),
    AiterTest("mla_opus_rows", "test_mla_persistent.py", archs=_GFX950,
              small=(*_DECODE, *words("-n 16,2 16,4 48,2 128,2")),
              modules=("module_opus_mla",), environment=_CHOSEN),
    # Works of 32 k + 1 keys with 4 rows: AITER-29.
    AiterTest("mla_opus_limit", "test_mla_persistent.py", archs=_GFX950,
              small=words("-c 65 -b 1 -n 16,4 -d fp8 -kvd fp8 -ms 1"),
              modules=("module_opus_mla",), environment=_CHOSEN),
    AiterTest("mla_ds32_opus", "test_mla_persistent.py", archs=_GFX950,
              small=words("-pl DS32_OPUS -n 128,1 16,4 -b 1 -c 64 300 -d fp8 -kvd fp8 -ms 1 16"),
              modules=("module_ds32_mla",)),
    AiterTest("mla_v4_nm", "test_mla_v4_nm.py", archs=_GFX950, modules=("module_mla_v4_asm",),
              small=words("-b 1 -c 64 -q 1 --gqa-ratio 64 --iters 1 --warmup 0 "
                          "--out_16_nosplit 1")),
    AiterTest("fmha_opus", "test_mha.py", archs=_GFX950, pytest=True, smallest=True,
              keyword="opus", modules=("module_fmha_fwd_bf16_opus",)),
    AiterTest("pa_sparse_prefill_opus", "test_pa_sparse_prefill_opus.py", archs=_GFX950,
              pytest=True, smallest=True),
)
