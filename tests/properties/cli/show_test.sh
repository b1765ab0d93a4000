#!/usr/bin/env bash
# `mla-testbed show`: pages, pictures and traces, and what cannot be drawn.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
case='mla1:2q4s900_1q1s513;heads=8;block=16;cu=4'

# The page on stdout without its last lines, which name command, version and day.
without_foot() {
  expect_out '^<footer><span>mla-testbed (show|replay) .*<span>[0-9]{4}-[0-9]{2}-[0-9]{2}</span> </footer>$'
  sed -i '/^<footer>/d' "$scratch/out"
}

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
without_foot
expect_baseline show_reduce.html
expect_out 'partial row 10: nothing writes it'

# Without an option the page is plan.html; messages go to stderr.
here=$root/tests/properties/cli
cd "$scratch" || exit 1
try show "$case"
expect_exit 0
expect_silent out
expect_err 'wrote plan.html, [0-9]+ KiB'
grep -q 'keys 784–899' plan.html || fail 'the page has no work B'
grep -q 'lie in the cache' plan.html || fail 'the page has no pages'
rm plan.html
# A page of a large batch: a short heading, all lanes behind a filter, and sheets for other screens.
lengths=$(for i in {1..99}; do printf '1q2s%s_' $((i * 37)); done)
try show "mla1:${lengths%_};heads=16" --html -
expect_exit 0
expect_out '^<h1>99 requests, [0-9,]+ keys, 304 slots</h1>$'
expect_out '^<details><summary>the case</summary><pre>mla1:1q2s37_'
[[ $(grep -c '<g data-lane="request ' "$scratch/out") == 99 ]] || fail 'expected 99 lanes of requests'
[[ $(grep -c '<g data-lane="request .*display="none"' "$scratch/out") == 51 ]] || fail 'expected 51 to wait'
expect_out 'Shown are 48 of 99 tiles'
expect_out '<meta name="viewport" content="width=device-width, initial-scale=1">'
expect_out '@media \(prefers-color-scheme: dark\)'
expect_out '@media print'
[[ $(grep -c '<svg [^>]*role="img" aria-label="' "$scratch/out") == $(grep -c '<svg ' "$scratch/out") ]] ||
  fail 'a picture has no label'
SOURCE_DATE_EPOCH=86400 try show "$case" --html -
expect_out "^<footer><span>mla-testbed show &#39;$case&#39; --html -</span> <span>mla-testbed [0-9.]+</span> <span>1970-01-02</span> </footer>$"
# Requests of a picture are those that the kernel sees, which may be rows or groups of heads.
try show 'mla1:1q7s90;heads=32' --html -
expect_out '<td>persistent-rows: each query row is planned as a request</td>'
expect_out '<td>32 of the kernel, planned as 2 groups of 16</td>'
expect_out '7 requests, 7 rows'
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
expect_err 'step is 1 of 1 plan, counted from 0'
try show "$case" --step one
expect_exit 2
expect_err "step has value 'one'"
try show 'mla1:1q1s900+1q1s77;cu=4' --step 1 --html -
expect_exit 0
expect_out '1 of 2, counted from 0'
expect_out '77 pages of 1 token'

# Two plans: a table, JSON, a page; the same file twice differs in nothing.
other='mla1:2q4s900_1q1s513;heads=8;block=16;cu=3'
try show "$case" --against "$other"
expect_exit 0
expect_silent err
expect_baseline show_against.txt
[[ ! -e plan.html ]] || fail 'a page was written, and none was asked for'
try show "$case" --against "$other" --json
expect_exit 0
expect_json
expect_out '"works_on_the_same_slot": [0-9]+'
try show plan.json --against "$case" --json
expect_exit 0
expect_out '"same": true'
try show "$case" --against "$root/fixtures/bundles/word" --html -
expect_exit 0
expect_no_out 'blocks of the busiest slot  '
expect_out '<title>Two plans: what differs, and what it costs</title>'
expect_out '<p class="bad">Plan B is broken:</p>'
without_foot
try show "$case" --against "$other" --html two.html
expect_exit 0
expect_out '^blocks of the busiest slot '
grep -q 'data-w="b' two.html || fail 'the page outlines nothing'
try show "$case" --against 'mla1:1q1s900;planner=none'
expect_exit 10
try show "$case" --against nowhere.json
expect_exit 3
try show "$case" --against "$other" --svg a.svg
expect_exit 2
expect_err 'show one plan: leave them out with --against'
try show "$case" --json
expect_exit 2
expect_err 'json needs --against'
try show "$case" --against "$other" --html /nonexistent/two.html
expect_exit 3
expect_silent out

# A plan of an FP8 prefill step, of a case and of a file; a work that check complains about is red.
prefill='mla1:2q300s300_1q64s64;arch=gfx950;dtype=bf16/fp8;kind=prefill;heads=16;cu=6'
try show "$prefill" --html -
expect_exit 0
expect_out '<td>16 of the kernel, 1 a work</td>'
expect_out '>request 0, rows 0–255<'
expect_no_out 'class="[^"]*wrong'
try plan "$prefill" --json
cp out prefill.json
try show prefill.json --against prefill.json
expect_exit 10
expect_err 'compares plans of decode steps'
sed 's/"work_info":\[0,-1,0,256,0,256,/"work_info":[0,-1,0,256,1,256,/' prefill.json >broken.json
try check broken.json --html broken.html
expect_exit 1
cp broken.html out
expect_out '>request 0, rows 0–255, head 0<'
expect_out 'class="[^"]*wrong'

# What has no plan is refused with the reason.
try show 'mla1:2q300s900;arch=gfx950;dtype=bf16/fp8;kind=prefill;workspace=512' --svg -
expect_exit 10
expect_err 'there is no plan to draw: a prefill step without a plan'
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
try show evil.json --against evil.json --html -
expect_no_out '<script>alert'
try show evil.json --against evil.json
expect_exit 0
expect_no_out $'\u202e'
expect_out '^A  </title><script>alert\(1\)</script>\\xE2'
try show evil.json --svg -
expect_no_out '<script'
try show evil.json --trace -
expect_out '"plan":"</title><script>alert\(1\)</script>\\u202e\\u0000"'

# check: a page with the broken records, and with what cannot be drawn.
bundles=$root/fixtures/bundles
try check "$bundles/word" "$bundles/arange" "$bundles/sound" --html check.html
expect_exit 1
expect_out '1 valid, 2 broken, 0 not checked'
cp check.html out
expect_out '<title>1 valid, 2 broken, 0 not checked</title>'
expect_out 'kv_offset 116, but 117 keys of the request follow'
expect_out 'class="r0 wrong"'
expect_out 'there is no plan to draw: the lists of the batch are wrong'
# No page takes the place of a part of the bundle; one beside them does no harm.
cp -r "$bundles/kernel" kept
for command in 'check kept' 'show kept' 'replay kept' 'show kept --against kept'; do
  for part in manifest.json q.npy; do
    try $command --html "kept/$part"
    expect_exit 2
    expect_err "--html would overwrite 'kept/$part', which .* reads: name another file"
  done
done
diff -r "$bundles/kernel" kept || fail 'the bundle was changed'
for round in first second; do
  try show kept --html kept/page.html
  expect_exit 0
done
# One stream takes one of them.
try show "$case" --against "$case" --json --html -
expect_exit 2
expect_err "--json and --html both write '-'"
for command in 'check kept' 'replay kept' 'replay mla1:1q1s9'; do
  try $command --html -
  expect_exit 2
  expect_err "the report and --html both write '-'"
done
try check "$bundles/word" --html /nonexistent/check.html
expect_exit 3
expect_silent out

# replay: where the result is wrong, which works computed it, and the command that repeats it.
try replay 'mla1:2q4s40;heads=8' --property P12 --plant SEED-qo-arange --html replay.html \
  --backend cpu-portable
expect_exit 1
sed 's/at most [0-9.e+]* times/at most N times/' replay.html >out
without_foot
expect_baseline show_replay.html
expect_out 'never written, or not finite'
expect_out '<b>guilty</b>: no work computes row 2 head 0, the worst of the result'
expect_out '<pre>mla-testbed replay &#39;mla1:2q4s40;.*&#39; --property P12 --backend cpu-portable --plant SEED-qo-arange</pre>'
try replay 'mla1:1q1s300' --property P05 --html replay.html
expect_exit 0
cp replay.html out
expect_out 'within its bounds'
expect_no_out 'FAIL'
try replay 'mla1:2q300s900;arch=gfx950;dtype=bf16/fp8;kind=prefill;workspace=512' --property P05 \
  --html replay.html
cp replay.html out
expect_out 'There is no plan to draw: path flash: the batch has chunked context'
expect_out 'within its bounds'
try replay 'mla1:2q300s900;arch=gfx950;dtype=bf16/fp8;kind=prefill;planner=v12' --property P05 \
  --html replay.html
cp replay.html out
expect_out 'The plan is that of the new tokens. Not drawn: 1 plan of the context'
try replay 'mla1:1q700s700_1q300s300;heads=16;arch=gfx950;dtype=bf16/fp8;cu=16;kind=prefill' \
  --property P24 --plant BUG-072 --html replay.html
expect_exit 1
cp replay.html out
expect_out '<b>guilty</b>: work 0 computes row 0 head 0'
[[ $(grep -o '<b>guilty</b>' out | wc -l) == 1 ]] || fail 'works of other heads are called guilty'
expect_out 'class="r0 wrong"'
expect_out 'never written, or not finite'
try replay 'mla1:1q5s5+1q4s9;heads=1;kind=prefill' --property P24 --html replay.html
cp replay.html out
expect_out 'Drawn is the first of 2 steps'
try replay 'mla1:1q9s40;kind=prefill' --property P24 --html replay.html
cp replay.html out
expect_out 'There is no plan to draw: path flash: the architecture is gfx942'
# The first step with a wrong element, and which rows are wrong: the first of each request.
try replay 'mla1:1q4s4+2q4s60;heads=4;kvheads=2;dim=64;block=16;kind=fa;workspace=16;window=15' \
  --property P25 --plant SEED-fa-window-rows --html replay.html
expect_exit 1
cp replay.html out
expect_out 'The errors are those of step 1. An FA step has no plan'
expect_out 'The error of row 0, the worst: heads and dims'
try replay 'mla1:1q1s900;planner=none' --property P24 --html replay.html
cp replay.html out
expect_out 'There is no plan to draw: route split'
try replay "$bundles/kernel" --html bundle.html
expect_exit 1
cp bundle.html out
expect_out '<b>guilty</b>: work 0 computes row 0 head 10'
expect_out 'The error of the wrong result'
try replay 'mla1:1q1s300' --property P05 --html /nonexistent/replay.html
expect_exit 3
expect_silent out

# run: the table of verdicts, and each failure with its pictures.
try run --cases 60 --seed 8 --property P00,P05 --no-progress --html run.html
expect_exit 1
cp run.html out
expect_out 'mla-testbed run: a property failed \(exit 1\)'
[[ $(grep -n '<h2>FAIL P00 ' out | cut -d : -f 1) -lt $(grep -n '<h2>backend ' out | cut -d : -f 1) ]] ||
  fail 'the page does not begin with what failed'
expect_out '<td>P05</td><td>plan_coverage</td>.*<td class="good">pass</td>'
expect_out '<td>P00</td><td>canary</td>.*<td class="bad">fail</td>'
expect_out 'Made smaller 1 time, from mla1:'
expect_out '<pre>mla-testbed replay .* --property P00</pre>'
try run --cases 5 --html /nonexistent/run.html
expect_exit 3
expect_err '/nonexistent/run.html'
