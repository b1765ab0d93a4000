#!/usr/bin/env bash
# A source tree of AITER on the command line, for which a script answers: whose plan is shown and
# judged, what is refused, and what is said where the tree or its Python is not there.
#
#   tree_test.sh MLA_TESTBED
. "$(dirname "$0")/lib.sh"

unset AITER_HSA AITER_SRC
export MLA_TESTBED_PYTHON=$root/tests/hip_backend/aiter_tree/fake_tree.py
for how in right refuses faults broken dies no-torch checks heap flood; do mkdir "$scratch/$how"; done
case='mla1:1q1s9_1q1s5;heads=16;cu=4;planner=v12'
on_tree=(--backend aiter --device emulated:gfx942 --aiter)

# The plan is the tree's: one work for each request, where the core cuts none and uses other slots.
try plan "$case" --aiter "$scratch/right"
expect_exit 0
expect_out '  work_info_set +6 x 8 +16'
expect_out '^works: 2 on 2 of 4 slots'
try plan "$case" --aiter "$scratch/refuses"
expect_exit 10
expect_err 'AITER: AssertionError: nhead=17 \(mla.py:9\)'
try plan "$case" --aiter "$scratch/faults"
expect_exit 3
expect_err 'module_mla_asm: out-of-bounds'

# A plan that is not the tree's says so; one that is as well.
"$testbed" plan "$case" --aiter "$scratch/right" --json >"$scratch/plan.json" 2>/dev/null
try check "$scratch/plan.json" --aiter "$scratch/right"
expect_exit 0
expect_out 'note: the planner of this AITER gives these buffers for this call'
sed 's/"work_info":\[0,-1,0,1,0,9/"work_info":[0,-1,0,1,0,8/' "$scratch/plan.json" >"$scratch/cut.json"
try check "$scratch/cut.json" --aiter "$scratch/right"
expect_exit 1
expect_out 'note: not the plan of this AITER: it differs .* work 0 kv_end is 8, planned 9'
try check "$scratch/plan.json" --aiter "$scratch/refuses"
expect_exit 0
expect_out 'note: the planner of this AITER gives no plan for this call: AITER: AssertionError'
# A tree that cannot be asked is said once, however many plans there are.
try check "$scratch/plan.json" "$scratch/cut.json" "$scratch/plan.json" --aiter "$scratch/broken"
expect_exit 1
expect_out '2 valid, 1 broken'
[[ $(grep -c 'cannot be imported' "$scratch/err") -eq 1 ]] || fail "expected one error"

# A replay judges what the tree answers (every element 1), and its line reproduces that.
try replay "$case" "${on_tree[@]}" "$scratch/right" --property P05
expect_exit 1
expect_out '^P05 plan_coverage: fail'
expect_out "^REPRO: .*--aiter $scratch/right"
expect_out '^launched: aiter on emulated:gfx942: decode 2 \(aiter::stage1 1, merge 1\)'
# What breaks is a failure, what AITER refuses is not.
try replay "$case" "${on_tree[@]}" "$scratch/faults" --property P05
expect_exit 1
expect_out 'module_mla_asm: out-of-bounds'
try replay "$case" "${on_tree[@]}" "$scratch/dies" --property P05
expect_exit 1
expect_out 'the process of the AITER tree ended while it was answering'
try replay "$case" "${on_tree[@]}" "$scratch/refuses" --property P05
expect_exit 10
# A check that aborts refuses, as one that raises does; its words are on standard error too.
try replay "$case" "${on_tree[@]}" "$scratch/checks" --property P05
expect_exit 10
expect_out 'refused: AITER: asm_mla.cu:9 no kernel for nhead=17 \(it ends its process\)'
expect_err '^\[AITER\] asm_mla.cu:9 no kernel for nhead=17$'
# A check that refuses what the table takes is no way to hold.
try replay "$case" "${on_tree[@]}" "$scratch/checks" --property P28
expect_exit 1
expect_out 'the shape is taken, but the step is not: AITER: asm_mla.cu:9'
try replay "$case" "${on_tree[@]}" "$scratch/flood" --property P05
expect_exit 10
(($(wc -c <"$scratch/err") > 200000)) || fail "standard error was not passed on whole"
try replay "$case" "${on_tree[@]}" "$scratch/heap" --property P05
expect_exit 1
expect_out 'while it was answering \(signal 6: Aborted\)'
# What it refuses at the launch is refused as well, whatever holds without one.
mkdir "$scratch/takes-no-step"
try replay "$case" "${on_tree[@]}" "$scratch/takes-no-step" --property P04,P05
expect_exit 10
expect_out '^P04 indptr_shape: pass'
expect_out '^refused: AITER: AssertionError: nhead=17'
# What fills the cache is no code of the tree's: a change there is named beside each verdict.
mkdir "$scratch/changed-cache"
told='^ *NOT JUDGED: csrc/kernels/cache_kernels.cu is another than .* no step runs it'
try replay "$case" "${on_tree[@]}" "$scratch/changed-cache" --property P04
expect_exit 0
expect_out "$told"
try run --cases 1 "${on_tree[@]}" "$scratch/changed-cache" --property P04 --no-progress
expect_out "$told"
try replay "$case" "${on_tree[@]}" "$scratch/right" --property P04
expect_exit 0
! grep -q 'NOT JUDGED' "$scratch/out" || fail "nothing of this tree is left out"
# A report names the tree.
try run --cases 1 "${on_tree[@]}" "$scratch/right" --property P05 --json --no-progress
expect_json
expect_out '"AITER version": "0.1.99"|0.1.99'

# Prefill steps: the plan is the tree's, all works in the first slot.
prefill='mla1:1q9s9;heads=2;cu=32;arch=gfx950;dtype=bf16/fp8;kind=prefill'
on_gfx950=(--backend aiter --device emulated:gfx950 --aiter)
try plan "$prefill" --aiter "$scratch/right"
expect_exit 0
expect_out '^works: 16 on 1 of 32 slots'
"$testbed" plan "$prefill" --aiter "$scratch/right" --json >"$scratch/prefill.json" 2>/dev/null
try check "$scratch/prefill.json" --aiter "$scratch/right"
expect_exit 0
expect_out 'note: the planner of this AITER gives these buffers for this call'
mkdir "$scratch/misses-a-key"
try check "$scratch/prefill.json" --aiter "$scratch/misses-a-key"
expect_exit 0
expect_out 'note: not the plan of this AITER: it differs .* work 0 kv_end is 9, planned 8'
"$testbed" plan "$prefill" --aiter "$scratch/misses-a-key" --json >"$scratch/missed.json" 2>/dev/null
try check "$scratch/missed.json" --aiter "$scratch/misses-a-key"
expect_exit 1
expect_out 'note: the planner of this AITER gives these buffers for this call'
try plan "$prefill" --aiter "$scratch/refuses"
expect_exit 10
expect_err 'AITER: AssertionError: nhead=17 \(mla.py:9\)'
try replay "$prefill" "${on_gfx950[@]}" "$scratch/right" --property P05
expect_exit 1
expect_out '^P05 plan_coverage: fail'
expect_out '^launched: aiter on emulated:gfx950: prefill 2 \(aiter::prefill 1, merge 1\)'
try replay "$prefill" "${on_gfx950[@]}" "$scratch/takes-no-step" --property P05
expect_exit 10
expect_out '^refused: AITER: AssertionError: nhead=17'
try replay "$prefill" "${on_gfx950[@]}" "$scratch/faults" --property P05
expect_exit 1
expect_out 'module_mla_asm: out-of-bounds'
try replay "${prefill/arch=gfx950/arch=gfx942}" "${on_tree[@]}" "$scratch/right" --property P05
expect_exit 10
expect_out 'backend aiter on emulated:gfx942 has no prefill step'

# Which kernel its dispatch takes, and what it raises where it takes none.
one=(--arch gfx950 --heads 48 --dtype bf16/bf16 --rows 2)
try support "${one[@]}" --aiter "$scratch/right"
expect_exit 0
expect_out '2 rows and 48 heads, bf16/bf16 on gfx950, runs on aiter::qh48, route persistent: AITER launched it, then merge\.'
grep -q '"call": "support", .*"rows": 2' "$scratch/right/asked.json" ||
  fail "the tree was not asked for two rows: $(cat "$scratch/right/asked.json")"
try support --rows 1 --planner none --aiter "$scratch/right" --json
expect_exit 0
expect_json
expect_out '"route": "split"'
try support "${one[@]}" --aiter "$scratch/refuses"
expect_exit 0
expect_out 'does not run: AITER: AssertionError: nhead=17'
try support --arch gfx950 --rows 1 --aiter "$scratch/refuses"
expect_exit 0
expect_out ' refused .*AITER: AssertionError: nhead=17'
# What breaks is no answer, in any of the three forms.
try support --arch gfx950 --rows 1 --aiter "$scratch/faults"
expect_exit 3
expect_out ' fails .*module_mla_asm: out-of-bounds'
try support --rows 1 --aiter "$scratch/faults" --json
expect_exit 3
try support "${one[@]}" --aiter "$scratch/faults"
expect_exit 3
expect_out 'does not run: module_mla_asm: out-of-bounds'
try support "${one[@]}" --aiter "$scratch/checks"
expect_exit 0
expect_out 'does not run: AITER: asm_mla.cu:9 no kernel for nhead=17 \(it ends its process\)'
try support --arch gfx950 --rows 1 --aiter "$scratch/checks"
expect_exit 0
expect_out ' refused .*asm_mla.cu:9 no kernel for nhead=17'
try support "${one[@]}" --aiter "$scratch/heap"
expect_exit 3
expect_out 'does not run: .*\(signal 6: Aborted\)'
try support --aiter "$scratch/right"
expect_exit 2
expect_err 'launches each shape, which takes a while: name --heads or --rows'
try support "${one[@]}" --aiter "$scratch/right" --latent 448
expect_exit 2
expect_err 'takes no --latent or --rope'
try support --kind prefill --aiter "$scratch/right"
expect_exit 2
expect_err 'takes no --backend or --kind'

# What goes together, and what is not there.
try replay "$case" --backend aiter --aiter "$scratch/right"
expect_exit 2
expect_err "runs on --device emulated:gfx942 or emulated:gfx950, not 'auto'"
try replay "$case" "${on_tree[@]}" "$scratch/right" --aiter-hsa "$scratch"
expect_exit 2
expect_err 'has kernels of its own: leave out --aiter-hsa'
# Its launches run as they are asked to, and the line that reproduces it says so.
try replay "$case" "${on_tree[@]}" "$scratch/right" --property P05 --schedule slice=64 --checks=waits
expect_exit 1
expect_out '^REPRO: .* --checks=waits --schedule slice=64 --aiter '
grep -q '"checks": "waits", "matrix": "fast", "schedule": "slice=64"' "$scratch/right/asked.json" ||
  fail "the tree was not told how to run: $(cat "$scratch/right/asked.json")"
try replay "$case" "${on_tree[@]}" "$scratch/right" --schedule slice=x
expect_exit 2
expect_err 'slice takes a number of instructions'
try replay "$case" "${on_tree[@]}" "$scratch/right" --annotate "$scratch/notes.txt"
expect_exit 2
expect_err 'has launches that cannot be profiled'
try replay "$case" --backend cpu --aiter "$scratch/right"
expect_exit 2
expect_err 'goes with backend aiter'
try replay "$case" "${on_tree[@]}" "$scratch/none"
expect_exit 2
expect_err "there is no directory '$scratch/none'"
try plan "$case" --aiter "$scratch/right" --as-aiter
expect_exit 2
expect_err 'is AITER itself: leave out --as-aiter'
try plan --input x.json --aiter "$scratch/right"
expect_exit 2
expect_err '--aiter goes with a case, not with --input'
try plan 'mla1:1q8s8;kind=fa' --aiter "$scratch/right"
expect_exit 2
expect_err 'plans decode and prefill steps, not those of kind fa'
try plan "$case" --aiter "$scratch/no-torch"
expect_exit 3
expect_err 'MLA_TESTBED_PYTHON names another Python'
MLA_TESTBED_PYTHON=/no/python try plan "$case" --aiter "$scratch/right"
expect_exit 3
expect_err "'/no/python' cannot be started"

# The Python command: without words, and in a Python without the package.
try aiter
expect_exit 2
expect_err 'give judge, bisect, compare or report'
for action in judge bisect compare report; do
  MLA_TESTBED_PYTHON=/no/python try aiter "$action" x
  expect_exit 3
  expect_err "'/no/python' cannot be started"
done
mkdir "$scratch/mla_testbed"
echo 'raise ImportError("no torch")' >"$scratch/mla_testbed/__init__.py"
MLA_TESTBED_PYTHON=python3 PYTHONPATH=$scratch try aiter judge --rev A..B
expect_exit 3
expect_err ': no torch; it needs the package mla_testbed with torch; MLA_TESTBED_PYTHON names another Python'
