#!/usr/bin/env bash
# AITER-10 by one command, as docs/findings/aiter.md has it, and stage 1 next to ours. Skipped unless AITER_HSA names the directory hsa
# of an installation.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[[ -n ${AITER_HSA-} ]] || {
  echo "skipped: AITER_HSA does not name the directory hsa of an AITER installation"
  exit 10
}
case='mla1:1q4s300;dtype=fp8/fp8;arch=gfx950;cu=1'
on=(--property P12 --backend aiter --device emulated:gfx950)

# The instructions that docs/findings/aiter.md names: the matrix product and the page.
try replay "$case" "${on[@]}" --checks=waits
expect_exit 1
expect_out '^FAIL P12 .*;arch=gfx950;cu=1;'
expect_out '^REPRO: .* --checks=waits --aiter-hsa '
expect_out '^finding: missing-wait: workgroup \(0,0,0\) wave 2 at .* `v_mfma_f32_32x32x64_f8f6f4 .*a\[120:127\].*pc 0x60c0'
expect_out '^finding: missing-wait: .* `v_mul_lo_u32 v217, v30, s68`, .*pc 0x3f08: v30 is read while a load of it'
[[ $(grep -c '^finding:' "$scratch/out") -ge 3 ]] || fail 'expected the three mistakes of AITER-10'

# A finding names the load and the wait that is missing.
expect_out 'pc 0x3f08: .*; the other is `buffer_load_dword v30, .*; missing: s_waitcnt vmcnt\([0-9]+\) '
# The table of docs/findings/aiter.md: right only if memory takes 7 to 89 instructions.
for delay in 0 6 7 89 90 300; do
  try replay "$case" --property P14 --backend aiter --device emulated:gfx950 --arrival "after.$delay"
  expect_exit $((delay < 7 || delay > 89))
done
# The page of a gfx942 kernel, by both witnesses.
other=('mla1:1q1s300;cu=1' --property P14 --backend aiter --device emulated:gfx942)
try replay "${other[@]}" --checks=waits
expect_exit 1
expect_out 'pc 0x38dc: v11 is read while a load of it is outstanding; .*; missing: s_waitcnt vmcnt\(37\) '
try replay "${other[@]}" --arrival after.200
expect_exit 0
try replay "${other[@]}" --arrival late
expect_exit 1

# FP8 prefill by AITER's kernels, with context and without: right but for AITER-31. A step without a
# plan is refused.
prefill='block=16;cu=4;arch=gfx950;dtype=bf16/fp8;kind=prefill'
on_prefill=(--backend aiter --device emulated:gfx950)
for step in "1q300s300_1q40s40_1q70s70;heads=16;$prefill" \
  "1q40s100_1q150s270;heads=16;$prefill;planner=v12;workspace=64"; do
  try replay "mla1:$step" "${on_prefill[@]}"
  expect_exit 1
  expect_out '^P37 hidden_nan: fail$'
  for property in P05 P14 P15 P20 P22 P23 P24 P39; do expect_out "^$property .*: pass$"; done
  expect_out '^launched: aiter on emulated:gfx950: prefill .*prefill_ps [1-9].*prefill_ps for the LSE [1-9]'
  expect_out '^launched: hip on emulated:gfx950: prefill .*reduce [1-9]'
done
expect_out '^P25 chunk_merge: pass$'
try replay "mla1:1q40s100;$prefill" "${on_prefill[@]}" --property P05
expect_out '^P05 plan_coverage: skip \(.*the backend has no flash attention, only works of a plan: the batch has chunked context'
try replay 'mla1:1q40s40;kind=prefill' --property P05 --backend aiter --device emulated:gfx942
expect_out '^P05 plan_coverage: not-applicable \(backend aiter on emulated:gfx942 has no prefill step\)$'

# The same in reports for tools, and a case without the kernel has no finding.
echo "$case" >"$scratch/cases.txt"
try run --backend aiter --device emulated:gfx950 --cases-file "$scratch/cases.txt" --property P12 \
  --checks=waits --json --junit "$scratch/report.xml"
expect_exit 1
expect_json
expect_out '"problem": "missing-wait"'
expect_out '"pc": "0x60c0"'
grep -q '<failure message="emulated with --checks=waits: ' "$scratch/report.xml" ||
  fail 'expected the findings in the JUnit report'

# Without running: AITER-10 and AITER-21 along the paths, and the table of docs/findings/aiter-checks.md.
try gfx check "$AITER_HSA/gfx950/mla/mla_a8w8_qh16_qseqlen4_gqaratio16_v3_ps.co" --json
expect_exit 1
expect_out '"pc": "0x3f08"'
expect_out '"pc": "0x60c0"'
expect_out '"pc": "0x8868"'
try gfx check "$AITER_HSA/gfx942/mla/mla_a16w16_qh16_m16x4_n16x1_coex0_mask1_ps.co" --json
expect_exit 1
expect_out '"pc": "0x38dc"'
expect_out '"missing": "s_waitcnt vmcnt\(37\)"'
for arch in gfx942 gfx950; do
  objects=0 clean=0 few=0 some=0 many=0 all=0
  for object in "$AITER_HSA/$arch"/mla/*.co; do
    try gfx check "$object"
    [[ $code -le 1 ]] || fail 'expected exit 0 or 1'
    findings=$(grep -c '^  missing-wait: ' "$scratch/out")
    objects=$((objects + 1)) all=$((all + findings))
    if [[ $findings -eq 0 ]]; then
      clean=$((clean + 1))
    elif [[ $findings -le 5 ]]; then
      few=$((few + 1))
    elif [[ $findings -le 45 ]]; then
      some=$((some + 1))
    else
      many=$((many + 1))
    fi
  done
  row="| $arch | $objects | $clean | $few | $some | $many | $(sed 's/^\([0-9]\)\([0-9][0-9][0-9]\)$/\1,\2/' <<<"$all") |"
  grep -qF "$row" "$root/docs/findings/aiter-checks.md" || fail "docs/findings/aiter-checks.md has another row than: $row"
done

# Our stage 1 executes and reads at most 1.15 times what AITER's does (docs/findings/measurements.md).
for shape in 'heads=16' 'heads=16;dtype=fp8/fp8' 'heads=128;dtype=fp8/fp8'; do
  for arch in gfx942 gfx950; do
    try replay "mla1:4q1s8k;$shape;arch=$arch;cu=8" --property P14 --backend hip,aiter \
      --device "emulated:$arch" --statistics
    expect_exit 0
    expect_out '^stage 1 +hip +aiter +ratio$'
    awk '/^stage 1/ { rows = 3; next } rows-- > 0 { n++; if ($NF > 1.15) exit 1 } END { exit n != 3 }' \
      "$scratch/out" || fail "expected ratios of at most 1.15 for $shape on $arch"
  done
done

# AITER-38: rows of 512 are refused with the width, or run with what is read past.
narrow='mla1:1q1s70;heads=16;arch=gfx950;cu=2;rope=0'
try replay "$narrow;dtype=fp8/fp8" "${on[@]}"
expect_exit 10
expect_out "AITER's MLA kernels have rows of 512 \+ 64 built in, not 512 \+ 0"
for dtype in bf16/bf16 fp8/fp8; do
  try replay "$narrow;dtype=$dtype" "${on[@]}" --aiter-any-width
  expect_exit 1
  expect_out '^ +fault: stage 1 reads past the end of q: .*out-of-bounds: .* at offset [0-9]+ of '
  expect_out '^REPRO: .* --aiter-any-width'
done
try replay 'mla1:1q1s70;cu=2' --aiter-any-width
expect_exit 2
expect_err '--aiter-any-width goes with backend aiter and --aiter-hsa'
