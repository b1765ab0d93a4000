#!/usr/bin/env bash
# Rows of other widths than 512 + 64: what says them, what executes them, and what refuses them.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

# The CPU backend is judged by all properties; kernels with a width built in refuse with the width.
try replay 'mla1:2q2s100;heads=16;latent=448;value=512'
expect_exit 0
expect_out '^case mla1:2q2s100;.*;latent=448;value=512$'
expect_out '^P45 row_widths: pass$'
try replay 'mla1:2q2s100;heads=16;rope=0' --backend hip --device emulated:gfx942
expect_exit 10
grep -q 'has no code' "$scratch/out" ||  # before any width is looked at
  expect_out 'the HIP kernels of this project have rows of 512 \+ 64 built in, not 512 \+ 0'
try replay 'mla1:1q1s9;latent=512;rope=65'
expect_exit 2
expect_err "latent width 512 and rope width 65 make rows of 577 elements: expected at most 576"

# Other values of the same tensors: a latent part that no kernel sees is nobody's reason to refuse.
try plan 'mla1:2q1s300;latent=448;rope=128;value=512'
expect_exit 0
expect_out '^widths +rows of 448 \+ 128 with values of 512: keys of 576 elements, values of 512$'
expect_no_out 'no kernel of AITER'

# `plan`, `support` and `show` say the width, and nothing of it where it is 512 + 64.
try plan 'mla1:2q1s300;rope=0'
expect_exit 0
expect_out '^widths +rows of 512 \+ 0: keys of 512 elements, values of 512$'
expect_out '^note +no kernel of AITER has rows of 512 \+ 0: planned as for 512 \+ 64$'
try plan 'mla1:2q1s300;rope=64'
expect_exit 0
expect_no_out '^widths'
try support --arch gfx950 --heads 16 --dtype fp8/fp8 --rows 1 --latent 512 --rope 0
expect_exit 0
expect_out 'fp8/fp8, rows of 512 \+ 0 on gfx950'
expect_out 'no kernel of AITER has rows of 512 \+ 0: planned as for 512 \+ 64'
try support --latent 513
expect_exit 2
expect_err "latent width 513 and rope width 64 make rows of 577 elements"
try show 'mla1:2q1s300;rope=0' --html -
expect_exit 0
expect_out 'rows of the cache'
expect_out '512 \+ 0'

# There are no published times of such rows.
try time 'mla1:4q1s1k;arch=gfx950;dtype=fp8/fp8;rope=0'
expect_exit 10
expect_out 'no published times of rows of 512 \+ 0'

# A bundle carries them, and one without says 512 + 64.
try plan 'mla1:2q2s40;heads=16;cu=4;latent=256' --bundle "$scratch/narrow" --tensors
expect_exit 0
grep -q '"latent": 256' "$scratch/narrow/manifest.json" || fail "no latent in the manifest"
try check "$scratch/narrow"
expect_exit 0
try replay "$scratch/narrow"
expect_exit 0
expect_out '^case mla1:2q2s40;.*;latent=256$'
expect_out '^backend cpu: pass$'
expect_out '^the engine.s result: pass'
try plan 'mla1:2q2s40;heads=16;cu=4' --bundle "$scratch/wide" --tensors
expect_exit 0
grep -qE '"(latent|rope|value)"' "$scratch/wide/manifest.json" && fail "512 + 64 is in the manifest"
# Whoever reads the widths of a dump wrong is told by its tensors.
sed -i 's/"latent": 256/"latent": 255/; s/"value": 256/"value": 255/' "$scratch/narrow/manifest.json"
try check "$scratch/narrow"
expect_exit 1
expect_out 'q has shape \(4, 16, 320\): expected rows of 16 heads of 319'
try replay "$scratch/narrow"
expect_exit 1
expect_out 'expected rows of 16 heads of 319'
sed -i 's/"latent": 255/"latent": 600/' "$scratch/narrow/manifest.json"
try check "$scratch/narrow"
expect_exit 2
expect_err "key 'latent' is such that latent width 600 and rope width 64 make rows of 664 elements"

# Random cases have them if asked.
try run --cases 40 --seed 5 --widths --property P45
expect_exit 0
expect_out '^P45 +row_widths +[0-9]+ +[0-9]+ +0 +pass'
