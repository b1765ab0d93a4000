#!/usr/bin/env bash
# `--annotate` and `--trace`: what a launch did at each instruction, and when its waves did it.
# profile_test.sh MLA_TESTBED CLANG, skipped without a clang that knows gfx942.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
clang=${2:-none}
cd "$scratch" || exit 1
cat >shares.hip <<'END'
#define GLOBAL __attribute__((global)) __attribute__((visibility("default")))
// Wave 0 does more before the barrier; 32 lanes of each wave write; all lanes use one bank of LDS.
extern "C" GLOBAL void shares(float* out, int turns) {
  static __attribute__((shared)) float room[128 * 32];
  const unsigned i = __builtin_amdgcn_workitem_id_x();
  float value = 1;
  if (i < 64)
    for (int k = 0; k < turns; ++k) value = value * 3 + 1;
  room[i * 32] = value;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
  value += room[(127 - i) * 32];
  if (turns < 0) out[i] = 7;
  if (i % 64 < 32) out[i] = value;
}
extern "C" GLOBAL void hasty(const unsigned* in, unsigned* out) {
  unsigned value;
  asm volatile("global_load_dword %0, %1, off\n v_add_u32 %0, 1, %0\n s_waitcnt vmcnt(0)"
               : "=&v"(value) : "v"(in + __builtin_amdgcn_workitem_id_x()) : "memory");
  out[__builtin_amdgcn_workitem_id_x()] = value;
}
END
if ! "$clang" -x hip --cuda-device-only -nogpuinc -nogpulib --no-gpu-bundle-output -std=c++20 -O2 \
  --offload-arch=gfx942 -g -c shares.hip -o shares.co 2>err; then
  echo "skipped: no clang that knows gfx942: $(head -c 200 err)"
  exit 10
fi
echo '{"arguments": [{"buffer": "f32", "count": 128, "fill": 0}, {"scalar": "i32", "value": 40}]}' >args.json
run=(gfx run shares.co --kernel shares --block 128 --args args.json)

try "${run[@]}" --grid 3 --json --annotate lines.txt --trace waves.json --trace-workgroup 2
expect_exit 0
cp out report.json
# The columns add up to the statistics; lines that were not executed are there, and say so.
python3 - <<'END' || fail 'the annotated lines are not what the launch did'
import json, re
counts = json.load(open("report.json"))["executed"]
head, columns, function, *lines = open("lines.txt").read().splitlines()
assert re.fullmatch(r"shares: 1 launch, ([\d,]+) wave instructions", head), head
assert columns.split() == ["hits", "lanes", "memory", "LDS", "banks", "at"], columns
assert function == "shares:", function
row = re.compile(r" *(\S+) (.{6}) +(\S+) +(\S+) +(\S+)  (\+0x[0-9a-f]+) +(.*)")
number = lambda text: 0 if text == "." else int(text.replace(",", ""))
rows = [row.fullmatch(line).groups() for line in lines]
hits = [number(r[0]) for r in rows]
assert sum(hits) == counts["wave_instructions"] == number(head.split(", ", 1)[1].split()[0]), sum(hits)
assert sum(number(r[2]) for r in rows) == counts["bytes_read"] + counts["bytes_written"]
assert sum(number(r[3]) for r in rows) == counts["lds_bytes_read"] + counts["lds_bytes_written"] > 0
stores = [r for r in rows if r[6].startswith("global_store_dword") and number(r[0]) > 0]
assert [(number(r[0]), r[1].strip(), number(r[2])) for r in stores] == [(6, "32.0", 6 * 32 * 4)], stores
reads = [r for r in rows if r[6].startswith("ds_read")]
assert reads and all(number(r[4]) > 0 for r in reads), "no bank conflict"
assert any(n == 0 for n in hits), "every line was executed"
assert any("; " in r[6] and "shares.hip:" in r[6] for r in rows), "no source line"
END
# Each wave's time has no gap and no overlap. The one that does less waits for the other.
python3 - <<'END' || fail 'the trace is not what the waves did'
import json
trace = json.load(open("waves.json"))
events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
assert trace["otherData"]["events_left_out"] == 0
names = {e["args"]["name"] for e in trace["traceEvents"] if e["ph"] == "M"}
assert names == {"launch 0: shares", "wave 0", "wave 1"}, names
executed = json.load(open("report.json"))["executed"]["wave_instructions"]
assert sum(e["args"].get("instructions", 1) for e in events if e["cat"] != "wait") == executed // 3
waits, opened = {}, {}
for wave in (0, 1):
    clock = 0
    for e in sorted((e for e in events if e["tid"] == wave), key=lambda e: e["ts"]):
        assert e["ts"] == clock, (wave, e, clock)
        clock += e["dur"]
        if e["name"] == "waits at the barrier":
            waits[wave] = e["dur"]
        if e["name"] == "s_barrier":
            opened[wave] = clock + (waits.get(wave) or 0)
assert 0 not in waits and waits[1] > 40, waits
assert opened[1] + waits[1] == opened[0], (opened, waits)
assert any(e["name"] == "arithmetic" and e["args"]["instructions"] > 2 for e in events)
assert any(e["name"].startswith("ds_read") and e["args"]["text"].startswith("ds_read") for e in events)
END

# With checks a finding is a mark in the trace, and the counts are the same.
try "${run[@]}" --grid 3 --annotate checked.txt --checks
expect_exit 0
cmp -s lines.txt checked.txt || fail 'checks change what is counted'
echo '{"arguments": [{"buffer": "u32", "count": 64, "fill": 1}, {"buffer": "u32", "count": 64}]}' >hasty.json
try gfx run shares.co --kernel hasty --block 64 --args hasty.json --checks=waits --trace -
expect_exit 1
expect_out '"name":"missing-wait","cat":"finding","ph":"i"'

# What cannot be recorded.
try "${run[@]}" --trace waves.json --trace-workgroup 5
expect_exit 2
expect_err 'no launch had a workgroup 5'
for bad in '--trace-workgroup=1,2,3,4' '--trace-workgroup=-1' '--trace-workgroup=x' '--arrival=late'; do
  try "${run[@]}" --trace waves.json "$bad"
  expect_exit 2
  expect_silent out
done
try "${run[@]}" --annotate same.txt --trace same.txt
expect_exit 2
try "${run[@]}" --json --annotate -
expect_exit 2
expect_silent out
expect_err "annotate and --json both write '-'"
try "${run[@]}" --annotate /nonexistent/lines.txt
expect_exit 3
try replay 'mla1:1q1s30' --annotate lines.txt
expect_exit 2
expect_err "need an emulated device, not 'auto'"

# A case: all launches of a kernel are counted together.
case='mla1:2q4s90;heads=16;cu=2'
try replay "$case" --backend hip --device emulated:gfx942 --property P31 --statistics \
  --annotate lines.txt --trace waves.json
[[ $code -eq 3 ]] && exit 0  # a build without device code
expect_exit 0
# What all launches of a kernel executed is what its lines add up to.
for kernel in $(sed -n 's/^kernel \(.*\), [2-9] launches$/\1/p' out); do
  executed=$(sed -n "/^kernel $kernel,/,/wave instr/s/^  wave instructions *//p" out)
  grep -q "^$kernel: [2-9] launches $executed wave instructions$" <(tr -d , <lines.txt) ||
    fail "$kernel executed $executed wave instructions"
done
grep -q ': [2-9] launches, [0-9,]* wave instructions$' lines.txt || fail 'no kernel with several launches'
grep -q '"launch 1: ' waves.json || fail 'the trace has one launch'
