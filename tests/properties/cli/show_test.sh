#!/usr/bin/env bash
# `mla-testbed show`: pages, pictures and traces, and what cannot be drawn.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
case='mla1:2q4s900_1q1s513;heads=8;block=16;cu=4'

# One picture, one trace and one page of a damaged bundle, approved after looking at them.
try show "$case" --trace -
expect_exit 0
expect_json
expect_baseline show_trace.json
try show "$root/fixtures/bundles/word" --svg -
expect_exit 0
expect_baseline show_word.svg
try show "$root/fixtures/bundles/reduce" --html -
expect_exit 0
expect_baseline show_reduce.html
expect_out 'partial row 10: nobody writes it'

# Without an option the page is plan.html; messages go to stderr.
cd "$scratch" || exit 1
try show "$case"
expect_exit 0
expect_silent out
expect_err 'wrote plan.html, [0-9]+ KiB'
grep -q 'keys 784–899' plan.html || fail 'the page has no work B'
grep -q 'lie in the cache' plan.html || fail 'the page has no pages'
rm plan.html
try show "$case" --svg a.svg --trace b.json
expect_exit 0
[[ -s a.svg && -s b.json && ! -e plan.html ]] || fail 'expected a.svg and b.json alone'

# JSON documents and stdin; one plan of several.
"$testbed" plan "$case" --json >plan.json
try show plan.json --svg -
expect_exit 0
expect_out 'F: request 2, keys 16–512'
try_with "$(cat plan.json)" show - --svg -
expect_exit 0
try show "$root/fixtures/bundles/sound" --step 1 --svg -
expect_exit 2
expect_err 'step is 1; there are 1 plan, counted from 0'
try show "$case" --step one
expect_exit 2
expect_err "step has value 'one'"
try show 'mla1:1q1s900+1q1s77;cu=4' --step 1 --html -
expect_exit 0
expect_out '1 of 2, counted from 0'
expect_out '77 pages of 1 token'

# What has no plan of a decode step is refused with the reason.
try show 'mla1:2q300s900;arch=gfx950;dtype=bf16/fp8;kind=prefill;workspace=512' --svg -
expect_exit 10
expect_err 'there is no plan to draw: this is a prefill step'
try show 'mla1:1q1s900;planner=none' --svg -
expect_exit 10
expect_err 'there is no plan to draw: there are no plan buffers'
try show "$root/fixtures/bundles/arange" --svg -
expect_exit 10
expect_err 'the lists of the batch are wrong: seqlens_qo_indptr'
try show 'mla1:1q1x' --svg -
expect_exit 2
expect_err '1q1x'
try show nowhere.json --svg -
expect_exit 3
expect_err 'nowhere.json'
try show "$case" --svg /nonexistent/plan.svg
expect_exit 3
expect_err '/nonexistent/plan.svg'

# A name from a foreign file is text, wherever it stands.
sed 's#"name":"[^"]*"#"name":"</title><script>alert(1)</script>\\u202e\\u0000"#' plan.json >evil.json
try show evil.json --html - --step 0
expect_exit 0
expect_no_out '<script>alert'
expect_out '&lt;/title&gt;&lt;script&gt;alert\(1\)'
try show evil.json --svg -
expect_no_out '<script'
try show evil.json --trace -
expect_out '"plan":"</title><script>alert\(1\)</script>\\u202e\\u0000"'
