#!/usr/bin/env bash
# `mla-testbed check` of documents that ask for too much, say too little, or are none.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

"$testbed" plan 'mla1:2q1s300;heads=16;cu=4' --json >"$scratch/good.json"
"$testbed" plan 'mla1:1q300s300;arch=gfx950;dtype=bf16/fp8;kind=prefill;heads=2;cu=8' --json \
  >"$scratch/prefill.json"
# edited FILE STATEMENT: prints the plan of the file, whose object p the statement changes.
edited() {
  python3 - "$scratch/$1.json" "$2" <<'END'
import json, sys
p = json.load(open(sys.argv[1]))
exec(sys.argv[2])
print(json.dumps(p))
END
}
edited good 'p["work_info"][5] -= 1; p["name"] = "broken"' >"$scratch/broken.json"
try check "$scratch/broken.json"
expect_exit 1

# Of many violations of one rule the text has eight, and says how many there are; JSON has all.
"$testbed" plan 'mla1:40q1s300;heads=16;cu=40' --json >"$scratch/many.json"
edited many 'p["work_info"][1::8] = [-2] * len(p["work_info"][1::8])' >"$scratch/each.json"
try check "$scratch/each.json"
expect_exit 1
all=$(sed -nE 's/.*: ([0-9]+) violations$/\1/p' "$scratch/out")
records=$(grep -c '^  work_record: work ' "$scratch/out")
[[ $records -eq 8 ]] || fail "expected 8 lines of work_record, not $records"
expect_out '^  work_record: [0-9]+ more; check --json lists all$'
try check --json "$scratch/each.json"
[[ $(grep -c '"what":' "$scratch/out") -eq $all ]] || fail "expected $all violations"

# A short prefill plan that asks for gigabytes is refused by name, and the others are judged.
edited prefill 'p["num_heads_k"] = 2147483647' >"$scratch/heads.json"
echo "[$(cat "$scratch/broken.json"), $(cat "$scratch/heads.json")]" >"$scratch/two.json"
try check "$scratch/two.json"
expect_exit 1
expect_out '^0 valid, 1 broken, 0 not checked$'
expect_err "two.json', plan 1: key 'num_heads_k' is 2147483647: expected at most 128"
try show "$scratch/heads.json" --html "$scratch/heads.html"
expect_exit 2
expect_err "plan 0: key 'num_heads_k' is 2147483647: expected at most 128"
edited prefill 'p["gqa_ratio"] = 129' >"$scratch/ratio.json"
try check "$scratch/ratio.json"
expect_exit 2
expect_err "key 'gqa_ratio' is 129: expected at most 128"
# All rows of a call, in tiles of one row.
rows='n = 4194304
p.update(seqlens_qo_indptr=[0, n], pages_kv_indptr=[0, n], context_lens=[n], qlen_granularity=1)'
edited prefill "$rows" >"$scratch/rows.json"
try check "$scratch/rows.json"
expect_exit 2
expect_err 'the plan buffers of this call have [0-9]+ words, .* expected at most 67108864 words'

# Heads that no kernel has are named.
edited good 'p["num_heads_per_head_k"] = -16; p["num_heads_k"] = -1' >"$scratch/minus.json"
try check "$scratch/minus.json"
expect_exit 2
expect_err "key 'num_heads_per_head_k' is -16: it must be at least 1"
edited good 'p["num_heads_k"] = -1' >"$scratch/minus.json"
try check "$scratch/minus.json"
expect_exit 2
expect_err "key 'num_heads_k' is -1: it must be at least 1"

# What null stands for in a list, and that a list is not null itself.
edited good 'p["work_indptr"] = None' >"$scratch/null.json"
try check "$scratch/null.json"
expect_exit 2
expect_err "key 'work_indptr' must be a list of 32-bit integers, in which null stands for an element \
that was never written, or of rows of them"

# Nothing of a document is left out in silence: one list of plans, and nothing else that is a plan.
good=$(cat "$scratch/good.json")
broken=$(cat "$scratch/broken.json")
# refused DOCUMENT MESSAGE
refused() {
  try_with "$1" check -
  expect_exit 2
  expect_silent out
  expect_err "$2"
}
refused "{\"cases\": [$broken], \"steps\": [$good]}" "key 'steps' is unknown beside the list 'cases'"
refused "${broken%?}, \"cases\": [$good]}" "key 'arch' is unknown beside the list 'cases'"
refused "{\"cases\": [$good], \"casses\": [$broken]}" \
  "key 'casses' is unknown beside the list 'cases'; did you mean 'cases'\?"
try_with "{\"cases\": [$good], \"casses\": [$broken]}" plan --input -
expect_exit 2
expect_err "'-': key 'casses' is unknown beside the list 'cases'; did you mean 'cases'\?"
refused "{\"steps\": $broken}" "key 'steps' is .*: it must be a list of plans"
try_with "{\"name\": \"two\", \"note\": \"\", \"steps\": [$good, $broken]}" check -
expect_exit 1
expect_out '^1 valid, 1 broken, 0 not checked$'
cp -r "$root/fixtures/bundles/word" "$scratch/cases"
sed -i 's/^{/{"cases": [],/' "$scratch/cases/manifest.json"
try check "$scratch/cases"
expect_exit 2
expect_err "cases', plan 0: key 'cases' is unknown"

# A NUL byte does not end a document.
printf '%s\0%s' "$good" "$broken" >"$scratch/nul.json"
try check "$scratch/nul.json"
expect_exit 2
expect_err "nul.json' is not JSON: it breaks at line 1, column $((${#good} + 1))"

# What `plan` makes of a case, `check` reads: padding and rows are requests of the planner too.
for case in 'mla1:65536q1s1;pad=1' 'mla1:30000q5s10'; do
  "$testbed" plan "$case" --json >"$scratch/many.json"
  try check "$scratch/many.json"
  expect_exit 0
  expect_out '^1 valid, 0 broken, 0 not checked$'
done

# A format that is unknown, and one that the other keys contradict.
refused "$(edited broken 'p["format"] = "mla-testbed plan 99"')" \
  "key 'format' is \"mla-testbed plan 99\": expected one of 'mla-testbed plan 1', "
refused "$(edited broken 'p["format"] = 1')" "key 'format' is 1: expected one of 'mla-testbed plan 1'"
refused "$(edited broken 'p["format"] = "mla-testbed fa 1"')" \
  "key 'format' is \"mla-testbed fa 1\", which has no key 'seqlens_qo_indptr'"
refused "$(edited broken 'p["format"] = "mla-testbed prefill 1"')" \
  "key 'format' is \"mla-testbed prefill 1\", which has no key 'seqlens_kv_indptr'"
refused "$(edited prefill 'p["format"] = "mla-testbed plan 1"')" \
  "key 'format' is \"mla-testbed plan 1\", which has no key 'pages_kv_indptr'"
refused "{\"format\": \"mla-testbed steps 2\", \"steps\": [$good]}" \
  "key 'format' is \"mla-testbed steps 2\": expected one of 'mla-testbed steps 1'"
for case in 'mla1:2q1s9;kind=fa;block=16' 'mla1:1q1s9+1q1s10'; do
  "$testbed" plan "$case" --json >"$scratch/formats.json" || fail "no plan of $case"
  try check "$scratch/formats.json"
  expect_no_err .
done

# A bundle in one file is no pipe and no device: neither may end.
mkfifo "$scratch/pipe.safetensors"
ln -s /dev/zero "$scratch/zero.safetensors"
for bundle in pipe zero; do
  for command in check replay show; do
    try_in_time "$command" "$scratch/$bundle.safetensors"
    expect_exit 2
    expect_err "$bundle.safetensors' is not a regular file"
  done
done
# What does not fit in memory is named, and the others are judged. A sanitizer needs terabytes.
if (ulimit -v 3000000 && "$testbed" --version) >"$scratch/out" 2>"$scratch/err"; then
  truncate -s 8G "$scratch/huge.json"
  last='mla-testbed check huge.json /dev/zero broken.json'
  (ulimit -v 3000000
   timeout 120 "$testbed" check "$scratch/huge.json" /dev/zero "$scratch/broken.json") \
    >"$scratch/out" 2>"$scratch/err"
  code=$?
  expect_exit 1
  expect_err "cannot read '.*/huge.json': Cannot allocate memory"
  expect_err "'/dev/zero' is no file and gave more than 1 GiB"
  expect_out '^0 valid, 1 broken, 0 not checked$'
  # Small buffers for many requests, far from what the planner gives: the search for another call
  # that gives them needs no gigabytes.
  rows='n = 400000
p.update(seqlens_qo_indptr=list(range(n + 1)), seqlens_kv_indptr=list(range(n + 1)),
         kv_last_page_lens=[1] * n)
del p["buffer_sizes"]'
  edited good "$rows" >"$scratch/far.json"
  last='mla-testbed check far.json'
  (ulimit -v 1200000 && timeout 120 "$testbed" check "$scratch/far.json") \
    >"$scratch/out" 2>"$scratch/err"
  code=$?
  expect_exit 1
  expect_out 'at fault: the builder, or what came after it: no planner gives these buffers'
fi
