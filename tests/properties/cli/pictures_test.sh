#!/usr/bin/env bash
# The pages of ten cases and three bundles: titles, notes, and how much is drawn, as approved after
# looking at each in a browser. Exact pictures are in show_test.sh.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
here=$(cd "$here" && pwd)

# What a page has: its size in steps of 100 kB, headings, notes, complaints, drawn and wrong works.
digest() {
  echo "== $1"
  echo "boxes $(grep -o 'class="r[0-9]' page.html | wc -l), wrong" \
    "$(grep -oE 'class="[^"]*wrong' page.html | wc -l), below $(($(wc -c <page.html) / 100000 + 1))00 kB"
  grep -oE '<h2[^>]*>[^<]*|<p class="notes">[^<]*|<li[^>]*>.*</li>' page.html |
    sed -E 's/<[^>]*>//g; s/^/  /' | uniq
}

cd "$scratch" || exit 1
for what in 'mla1:16q1s8k;heads=16' 'mla1:16q4s1k_3q1s513;heads=8;block=16' \
  'mla1:8q1s500;cu=16' 'mla1:8q1s500_2q1s3000;block=16;cu=16' \
  'mla1:8q1s500;block=64;cu=16;arch=gfx950' 'mla1:3q1s200;pad=5' \
  'mla1:8q1s900;planner=v10;cu=16' 'mla1:8q1s900;planner=v11;cu=16' 'mla1:65536q1s100' \
  'mla1:16q1s68431;heads=12;block=128;dtype=fp8/fp8;arch=gfx950;layout=prefix.499' \
  word reduce stale; do
  plan=$what
  [[ $what == mla1:* ]] || plan=$root/fixtures/bundles/$what
  try show "$plan" --html page.html
  expect_exit 0
  digest "$what" >>digests
done
cp digests out
[[ $(grep -c '^==' out) -eq 13 ]] || fail 'expected thirteen pages'
expect_baseline pictures.txt
