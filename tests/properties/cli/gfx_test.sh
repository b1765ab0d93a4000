#!/usr/bin/env bash
# `mla-testbed gfx`: a code object alone, printed, checked and run. The kernels are compiled here.
# gfx_test.sh MLA_TESTBED CLANG, skipped without a clang that knows gfx942.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
clang=${2:-none}
kernel=$scratch/add.hip
cat >"$kernel" <<'END'
#define GLOBAL __attribute__((global)) __attribute__((visibility("default")))
extern "C" GLOBAL void add(const float* a, const float* b, float* out, int n) {
  const unsigned i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < n) out[i] = a[i] + b[i];
}
extern "C" GLOBAL void hasty(const unsigned* in, unsigned* out) {
  unsigned value;
  asm volatile("global_load_dword %0, %1, off\n v_add_u32 %0, 1, %0\n s_waitcnt vmcnt(0)"
               : "=&v"(value) : "v"(in + __builtin_amdgcn_workitem_id_x()) : "memory");
  out[__builtin_amdgcn_workitem_id_x()] = value;
}
extern "C" GLOBAL void half(const unsigned* in, unsigned* out) {
  unsigned value = 0x12345678;
  asm volatile("global_load_short_d16 %0, %1, off\n s_waitcnt vmcnt(0)" : "+v"(value) : "v"(in) : "memory");
  out[__builtin_amdgcn_workitem_id_x()] = value;
}
extern "C" GLOBAL void spin(unsigned* flag) {
  while (__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0) {}
}
extern "C" __attribute__((device)) __attribute__((noinline)) unsigned careless(const unsigned* in) {
  unsigned value;
  asm volatile("global_load_dword %0, %1, off\n v_add_u32 %0, 2, %0\n s_waitcnt vmcnt(0)"
               : "=&v"(value) : "v"(in) : "memory");
  return value;
}
extern "C" GLOBAL void calls(const unsigned* in, unsigned* out) {
  out[__builtin_amdgcn_workitem_id_x()] = careless(in + __builtin_amdgcn_workitem_id_x());
}
END
compile() {
  "$clang" -x hip --cuda-device-only -nogpuinc -nogpulib --no-gpu-bundle-output -std=c++20 -O2 \
    "--offload-arch=$1" -c "$kernel" -o "$scratch/$1.co"
}
if ! compile gfx942 2>"$scratch/err" || ! compile gfx950 2>"$scratch/err"; then
  echo "skipped: no clang that knows gfx942 and gfx950: $(head -c 200 "$scratch/err")"
  exit 10
fi

for arch in gfx942 gfx950; do
  object=$scratch/$arch.co
  try gfx disassemble "$object" --kernel add
  expect_exit 0
  expect_out "^add: $arch, [0-9]+ instructions, [0-9]+ vector registers, 0 bytes of LDS$"
  expect_out '^  0x[0-9a-f]+  v_add_f32 v[0-9]+, v[0-9]+, v[0-9]+$'
  expect_out '^  0x[0-9a-f]+  s_cbranch_execz add\+0x'
  expect_no_out '^hasty'
  try gfx disassemble "$object" --json
  expect_exit 0
  expect_json
  expect_out '"name": "hasty"'

  try gfx check "$object" --kernel add
  expect_exit 0
  expect_out '^add: [0-9]+ instructions, 0 missing waits$'
  try gfx check "$object"
  expect_exit 1
  expect_out '^hasty: [0-9]+ instructions, [1-9] missing waits?$'
  expect_out 'missing-wait: hasty\+0x[0-9a-f]+ `v_add_u32 .*v[0-9]+ is read while a load of it is outstanding on some path; the load is `global_load_dword .* at hasty\+0x[0-9a-f]+; counter vmcnt; missing: s_waitcnt vmcnt\(0\)$'
  try gfx check "$object" --json
  expect_exit 1
  expect_json
  expect_out '"counter": "vmcnt"'
  expect_out '"missing": "s_waitcnt vmcnt\(0\)"'
done

# A function that a kernel calls is looked at with it.
try gfx check "$scratch/gfx942.co" --kernel calls
expect_exit 1
expect_out '^calls: [0-9]+ instructions, [1-9] missing waits?$'
expect_out 'missing-wait: careless\+0x[0-9a-f]+ `v_add_u32 '

# A kernel whose symbol has no size is as long as to the next function.
"$clang" -x hip --cuda-device-only -nogpuinc -nogpulib -std=c++20 -O2 --offload-arch=gfx942 \
  -S "$kernel" -o "$scratch/sized.s"
grep -v '^[[:space:]]*\.size[[:space:]]' "$scratch/sized.s" >"$scratch/plain.s"
"$clang" -target amdgcn-amd-amdhsa -mcpu=gfx942 "$scratch/plain.s" -o "$scratch/plain.co"
try gfx disassemble "$scratch/gfx942.co" --kernel add
sized=$(sed -n '1s/.*, \([0-9]*\) instructions.*/\1/p' "$scratch/out")
try gfx disassemble "$scratch/plain.co" --kernel add
expect_exit 0
plain=$(sed -n '1s/.*, \([0-9]*\) instructions.*/\1/p' "$scratch/out")
[[ $plain -ge $sized && $sized -gt 4 ]] || fail "expected at least $sized instructions, not $plain"

# Of a folder one table, worst first; JSON and SARIF; a file that is none is named.
mkdir -p "$scratch/objects/deep"
cat >"$scratch/large.hip" <<'END'
extern "C" __attribute__((global)) void large(unsigned* out) {
  static __attribute__((shared)) unsigned values[20000];
  values[out[0]] = 1;
  out[1] = values[out[2]];
}
END
"$clang" -x hip --cuda-device-only -nogpuinc -nogpulib --no-gpu-bundle-output -std=c++20 -O2 \
  --offload-arch=gfx950 -c "$scratch/large.hip" -o "$scratch/objects/fits.co"
cp "$scratch/gfx942.co" "$scratch/objects/deep/kernels.hsaco"
try gfx check "$scratch/objects"
expect_exit 1
expect_out '^  waits  s_nop    LDS  kernel$'
expect_out '^      [1-9]      0      \.  gfx942 (hasty|calls) in deep/kernels.hsaco$'
expect_out '^2 files, 6 kernels, [34] without findings$'
try gfx check "$scratch/objects" --kernel large
expect_exit 0
expect_out '^2 files, 1 kernels, 1 without findings$'
try gfx check "$scratch/objects" --json
expect_exit 1
expect_json
expect_out '"missing_wait_states": 0'
try gfx check "$scratch/objects" --sarif
expect_exit 1
expect_json
expect_out '"ruleId": "missing-wait"'
expect_out '"fullyQualifiedName": "hasty\+0x[0-9a-f]+"'
echo nothing >"$scratch/objects/none.co"
try gfx check "$scratch/objects" --kernel large
expect_exit 2
expect_out "^not read: '.*/none.co': "
mkdir "$scratch/empty"
try gfx check "$scratch/empty"
expect_exit 2
expect_err "'.*/empty' has no file \*.co or \*.hsaco"

# Too few wait states after a matrix instruction, and more LDS than gfx942 has.
cat >"$scratch/matrix.s" <<'END'
.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
.text
.globl early
.p2align 8
.type early,@function
early:
  v_mov_b32 v0, 0
  v_mov_b32 v1, 0
  v_mov_b32 v2, 0
  v_mov_b32 v3, 0
  s_nop 1
  v_mfma_f32_16x16x16_f16 v[0:3], v[0:1], v[2:3], v[0:3]
  s_nop 4
  v_add_f32 v4, v0, v1
  s_endpgm
.Lend:
  .size early, .Lend-early
.rodata
.p2align 6
.amdhsa_kernel early
  .amdhsa_next_free_vgpr 8
  .amdhsa_accum_offset 8
  .amdhsa_next_free_sgpr 16
  .amdhsa_group_segment_fixed_size 65540
.end_amdhsa_kernel
END
"$clang" -target amdgcn-amd-amdhsa -mcpu=gfx942 "$scratch/matrix.s" -o "$scratch/matrix.co"
try gfx check "$scratch/matrix.co"
expect_exit 1
expect_out '^early: [0-9]+ instructions, 0 missing waits, 1 missing s_nop$'
expect_out 'missing-wait-states: early\+0x[0-9a-f]+ `v_add_f32 v4, v0, v1`: v0 is read 5 wait states after `v_mfma_f32_16x16x16_f16 .* on some path; needed: 7; missing: s_nop 1$'
expect_out 'lds-above-limit: early has 65540 bytes of LDS, a workgroup has at most 65536$'
try gfx check "$scratch/matrix.co" --sarif
expect_exit 1
expect_json
expect_out '"ruleId": "lds-above-limit"'

# Our own kernels wait for all that they use, on every path.
for object in "$(dirname "$testbed")"/hip_backend/gfx9*_O3.co; do
  [[ -e $object ]] || break  # a build without device code
  try gfx check "$object"
  expect_exit 0
  expect_out ': [1-9][0-9,]* instructions, 0 missing waits$'
done

# A launch: values and a fill go in, numbers and a file come out.
cat >"$scratch/add.json" <<'END'
{"arguments": [{"buffer": "f32", "values": [1, 2.5, -3]}, {"buffer": "f32", "count": 3, "fill": 10},
               {"buffer": "f32", "count": 3, "show": 3, "output": "sum.bin"},
               {"scalar": "i32", "value": 3}]}
END
run=(gfx run "$scratch/gfx942.co" --kernel add --grid 1 --block 64 --args)
try "${run[@]}" "$scratch/add.json" --checks
expect_exit 0
expect_out '^executed [1-9][0-9]* wave instructions of 1 wave in 1 workgroup$'
expect_out '^emulated with --checks: 1 launch of 1 kernel, 0 findings$'
expect_out '^argument 2: 11.0 12.5 7.0$'
[[ $(od -An -tx4 "$scratch/sum.bin" | tr -d ' ') == 413000004148000040e00000 ]] || fail "sum.bin: $(od -An -tx4 "$scratch/sum.bin")"
try "${run[@]}" "$scratch/add.json" --json --arrival late
expect_exit 0
expect_json
expect_out '"wave_instructions": [1-9]'
sed 's/sum.bin/\/dev\/full/' "$scratch/add.json" >"$scratch/full.json"
try "${run[@]}" "$scratch/full.json"
expect_exit 3
expect_err "cannot write '/dev/full'"
expect_out '^argument 2: 11.0 12.5 7.0$'

# What one launch writes, another one reads.
sed 's/"values": \[1, 2.5, -3\]/"file": "sum.bin"/; s/, "output": "sum.bin"//' "$scratch/add.json" >"$scratch/again.json"
try "${run[@]}" "$scratch/again.json"
expect_out '^argument 2: 21.0 22.5 17.0$'

# No output takes the place of what the command reads, nor of another output.
cp "$scratch/gfx942.co" "$scratch/kept.co"
for other in sum.bin gfx942.co other.json; do
  sed "s/\"count\": 3, \"fill\": 10/&, \"output\": \"$other\"/" "$scratch/add.json" >"$scratch/other.json"
  try "${run[@]}" "$scratch/other.json"
  expect_exit 2
  expect_err "both write '.*/sum.bin'|\"output\" of argument 1 would overwrite '.*/(gfx942.co|other.json)'"
done
for option in annotate trace; do
  try "${run[@]}" "$scratch/add.json" "--$option" "$scratch/gfx942.co"
  expect_exit 2
  expect_err "$option would overwrite '.*/gfx942.co', which gfx run reads: name another file"
done
cmp -s "$scratch/gfx942.co" "$scratch/kept.co" || fail 'the code object was overwritten'

# 16-bit floats and whole numbers, by their bits: nearest, ties to even.
cat >"$scratch/types.json" <<'END'
{"arguments": [
  {"buffer": "f16", "values": [1, -2, 65504, 65520, 0.00006103515625, 5.960464477539063e-8, 2049, 0.1],
   "show": 8, "output": "f16.bin"},
  {"buffer": "bf16", "values": [1, -2, 0.1, 1.00390625], "show": 4},
  {"buffer": "i8", "values": [-128, 127], "show": 2},
  {"buffer": "u16", "values": [65535], "show": 1}]}
END
sed -i 's/^/ /' "$scratch/types.json"
try gfx run "$scratch/gfx942.co" --kernel add --block 64 --args "$scratch/types.json"
expect_exit 2
expect_err 'argument 3: it has 8 bytes; kernel .add. takes 4 there'
sed -i 's/{"buffer": "u16", "values": \[65535\], "show": 1}/{"scalar": "i32", "value": 0}/' "$scratch/types.json"
try gfx run "$scratch/gfx942.co" --kernel add --block 64 --args "$scratch/types.json"
expect_exit 0
expect_out '^argument 0: 1.0 -2.0 65504.0 inf 6.103515625e-05 '
expect_out '^argument 1: 1.0 -2.0 0.10009765625 1.0$'
expect_out '^argument 2: -128.0 127.0$'
[[ $(od -An -v -tx2 "$scratch/f16.bin" | tr -d '\n') == ' 3c00 c000 7bff 7c00 0400 0001 6800 2e66' ]] || fail "f16.bin: $(od -An -v -tx2 "$scratch/f16.bin")"

# The missing wait in a launch: found by the checks, and seen in the numbers.
cat >"$scratch/hasty.json" <<'END'
{"arguments": [{"buffer": "u32", "count": 64, "fill": 41}, {"buffer": "u32", "count": 64, "show": 1}]}
END
hasty=(gfx run "$scratch/gfx942.co" --kernel hasty --block 64 --args "$scratch/hasty.json")
try "${hasty[@]}"
expect_exit 0
expect_out '^argument 1: 42.0$'
try "${hasty[@]}" --checks
expect_exit 1
expect_out '^finding: missing-wait: '
try "${hasty[@]}" --arrival late
expect_no_out '^argument 1: 42.0$'
# A load into one half of a register rests on an assumption, and says so.
cat >"$scratch/half.json" <<'END'
{"arguments": [{"buffer": "u32", "values": [43981]}, {"buffer": "u32", "count": 64, "show": 1}]}
END
try gfx run "$scratch/gfx942.co" --kernel half --block 64 --args "$scratch/half.json"
expect_exit 0
expect_out '^argument 1: 305441741.0$'
expect_out '^rests on D16_OTHER_HALF, 1 wave instructions$'

# A fault: the output is too small.
sed 's/"count": 64, "show"/"count": 63, "show"/' "$scratch/hasty.json" >"$scratch/small.json"
try "${hasty[@]/hasty.json/small.json}" --json
expect_exit 1
expect_json
expect_out '"problem": "out-of-bounds"'
try "${hasty[@]/hasty.json/small.json}"
expect_out "^fault: out-of-bounds: .*of 'argument 1', which has 252 bytes"

# The commands of docs/reference/emulator.md.
sed -n '/^    clang++-22 .*scale.co$/p' "$root/docs/reference/emulator.md" >"$scratch/compile"
[[ $(wc -l <"$scratch/compile") -eq 1 ]] || fail "docs/reference/emulator.md has no line that makes scale.co"
ln -s "$root/docs" "$scratch/docs"
cd "$scratch" || exit 1
eval "${clang@Q} $(sed 's/^ *clang++-22//' compile)" || fail "the line of docs/reference/emulator.md does not compile"
sed -n '/^\[executed by cli_gfx/,/^$/{/^mla-testbed/p}' "$root/tests/properties/cli/documented_commands.txt" >commands
[[ $(wc -l <commands) -eq 4 ]] || fail "expected four commands of docs/reference/emulator.md"
while read -r _ arguments; do
  # shellcheck disable=SC2086
  try $arguments
  expect_exit 0
  [[ $arguments != *--checks ]] || expect_out '^argument 1: 1.5 1.5 1.5 1.5$'
done <commands

# Hostile input: one sentence each.
one_sentence() {
  expect_exit "$1"
  expect_silent out
  expect_err "$2"
  [[ $(wc -l <"$scratch/err") -eq 1 ]] || fail "expected one line on stderr"
}
for size in 0 3 40 64 200 1000 2000; do
  head -c "$size" "$scratch/gfx942.co" >"$scratch/short.co"
  for command in disassemble check; do
    try gfx $command "$scratch/short.co"
    one_sentence 2 "^mla-testbed gfx $command: '.*short.co': "
  done
done
sed 's/\x4c\x05\x00\x00/\x3f\x05\x00\x00/' "$scratch/gfx942.co" >"$scratch/other.co"
try gfx check "$scratch/other.co"
one_sentence 10 'is for processor 0x3f, only gfx942 \(0x4c\) and gfx950 \(0x4f\) are executed'
try gfx check "$scratch/gfx942.co" --kernel missing
one_sentence 2 "has no kernel 'missing'; it has add, hasty"
try gfx check "$scratch/nothing.co"
one_sentence 3 'nothing.co'
try gfx run "$scratch/gfx942.co" --block 64 --args "$scratch/add.json"
one_sentence 2 'has 5 kernels; --kernel takes the name of one'
try gfx run "$scratch/gfx942.co" --kernel add --grid 0 --block 64 --args "$scratch/add.json"
one_sentence 2 '^mla-testbed gfx run: --grid is 0; expected 1 to'
try gfx run "$scratch/gfx942.co" --kernel add --block 4096 --args "$scratch/add.json"
one_sentence 2 'a block of 4096 threads'
wrong_arguments() {
  printf '%s' "$1" >"$scratch/wrong.json"
  try "${run[@]}" "$scratch/wrong.json"
  one_sentence "${3-2}" "$2"
}
wrong_arguments '' 'wrong.json.: the file is no JSON$'
wrong_arguments '[]' 'expected an object with the list "arguments"'
wrong_arguments '{"arguments": [], "grid": 1}' "'grid' is not known"
wrong_arguments '{"arguments": []}' "there are 0 arguments; kernel 'add' takes 4$"
wrong_arguments '{"arguments": [5]}' 'argument 0: expected an object with either "scalar" or "buffer"$'
wrong_arguments '{"arguments": [{"scalar": "f31", "value": 1}]}' "argument 0: there is no type 'f31'; there are i8, u8"
wrong_arguments '{"arguments": [{"scalar": "u8", "value": 256}]}' 'argument 0: 256: expected a number of type u8$'
wrong_arguments '{"arguments": [{"scalar": "i8", "value": -129}]}' 'argument 0: -129: expected a number of type i8$'
wrong_arguments '{"arguments": [{"scalar": "u8", "value": -1}]}' 'argument 0: -1: expected a number of type u8$'
wrong_arguments '{"arguments": [{"scalar": "i32", "value": 1.5}]}' 'argument 0: 1.5: expected a number of type i32$'
wrong_arguments '{"arguments": [{"scalar": "i32"}]}' 'the scalar has no "value"$'
wrong_arguments '{"arguments": [{"buffer": "f32"}]}' 'expected one of "count", "values" and "file"$'
wrong_arguments '{"arguments": [{"buffer": "f32", "count": 0}]}' 'the buffer is empty$'
wrong_arguments '{"arguments": [{"buffer": "f32", "count": 1e99}]}' '"count" is 1e\+99; expected at most'
wrong_arguments '{"arguments": [{"buffer": "f32", "count": 999999999999}]}' '"count" is 999999999999; expected at most'
wrong_arguments '{"arguments": [{"buffer": "f32", "values": [1], "fill": 2}]}' '"fill" goes with "count"$'
wrong_arguments '{"arguments": [{"buffer": "f32", "file": "missing.bin"}]}' 'missing.bin' 3
wrong_arguments '{"arguments": [{"buffer": "f32", "file": "wrong.json", "count": 1}]}' 'expected one of'
wrong_arguments '{"arguments": [{"scalar": "i32", "value": 1, "offset": 99999}]}' '"offset" is 99999; expected 0 to 4092$'
wrong_arguments '{"arguments": [{"scalar": "i32", "value": 1, "ofset": 8}]}' "'ofset' is not known; did you mean 'offset'"

# A kernel that spins ends with the signal, in turns that never end and under the checks too, and the
# message says where it was. What a script starts in the background ignores SIGINT at first, as here.
printf '{"arguments": [{"buffer": "u32", "count": 1, "fill": 0}]}' >"$scratch/spin.json"
trap 'kill -KILL $(jobs -p) 2>/dev/null; rm -rf "$scratch"' EXIT
ends_by_signal() {  # SIGNAL OPTION...
  last="mla-testbed gfx run of a kernel that spins, ${*:2}, then SIG$1"
  "$testbed" gfx run "$scratch/gfx942.co" --kernel spin --block 128 --args "$scratch/spin.json" \
    "${@:2}" >"$scratch/out" 2>"$scratch/err" </dev/null &
  local pid=$! ticks=0 caught=0
  while ((ticks++ < 300 && !(16#$caught >> 1 & 1))); do  # until it catches SIGINT, bit 1
    sleep 0.1
    caught=$(awk '/^SigCgt/ { print $2 }' "/proc/$pid/status")
  done
  sleep 0.5  # into the kernel
  kill "-$1" "$pid"
  for ((ticks = 0; ticks < 300; ++ticks)); do
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  ((ticks < 300)) || fail 'it still runs 30 s after the signal'
  wait "$pid"
  code=$?
  one_sentence 4 "gfx run: kernel 'spin' was interrupted: workgroup .* stood at spin\\+0x"
}
# It ends by the limit: the option's, else that of the environment; the option takes it away.
try gfx run "$scratch/gfx942.co" --kernel spin --block 64 --args "$scratch/spin.json" --limit 1000
expect_exit 1
expect_out 'instruction-limit: workgroup \(0,0,0\) wave 0 '
export MLA_TESTBED_INSTRUCTION_LIMIT=2000
try gfx run "$scratch/gfx942.co" --kernel spin --block 64 --args "$scratch/spin.json"
expect_exit 1
expect_out 'the wave has executed 2000 instructions, which is the limit'
export MLA_TESTBED_INSTRUCTION_LIMIT=2e3
try gfx run "$scratch/gfx942.co" --kernel spin --block 64 --args "$scratch/spin.json"
one_sentence 2 "MLA_TESTBED_INSTRUCTION_LIMIT is '2e3'; expected a number of instructions"
export MLA_TESTBED_INSTRUCTION_LIMIT=1000
ends_by_signal INT --grid 1 --limit 0
unset MLA_TESTBED_INSTRUCTION_LIMIT
# Above two seconds it says how far it is, where that is asked for.
export MLA_TESTBED_PROGRESS=1
try gfx run "$scratch/gfx942.co" --kernel spin --block 64 --args "$scratch/spin.json" --limit 150000000
expect_err '^mla-testbed: spin: 0 of 1 workgroups, [0-9]+ million instructions, [2-9] s$'
unset MLA_TESTBED_PROGRESS
ends_by_signal INT --grid 1
ends_by_signal TERM --grid 5
ends_by_signal INT --grid 5 --schedule slice=0
ends_by_signal INT --grid 5 --checks
ends_by_signal INT --grid 5 --arrival late
ends_by_signal INT --grid 5 --annotate -
