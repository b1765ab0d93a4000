#!/usr/bin/env bash
# fixtures/capture/mla_capture.py: what it dumps, `check` reads. Skipped without python3 and numpy.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

python3 -c 'import numpy' 2>/dev/null || { echo "no python3 with numpy"; exit 10; }
"$testbed" plan 'mla1:2q4s900_1q1s513;heads=8;cu=4' --json >"$scratch/plan.json"
PYTHONPATH="$root/fixtures/capture" python3 - "$scratch" <<'PYTHON' || fail "the capture script"
import json, sys
import numpy, mla_capture
plan = json.load(open(sys.argv[1] + "/plan.json"))
poison = 0x7FA5A5A5
arguments = {k: plan[k] for k in mla_capture.NUMBERS if k in plan}
arguments["dtype_q"] = "torch.bfloat16"
for key in mla_capture.LISTS:
    arguments[key] = numpy.array(plan[key], dtype=numpy.int32)
for parameter, key in mla_capture.BUFFERS.items():
    words = [poison if w is None else w for w in plan[key]]
    size = numpy.prod(plan["buffer_sizes"][parameter])
    words += [poison] * (int(size) - len(words))
    arguments[parameter] = numpy.array(words, dtype=numpy.int32).reshape(plan["buffer_sizes"][parameter])
scalars, arrays = mla_capture.bundle_of(arguments, {"arch": "gfx942", "num_cu": plan["num_cu"]})
mla_capture.write_bundle(sys.argv[1] + "/step", "step 0", scalars, arrays)
PYTHON
try check "$scratch/step"
expect_exit 0
expect_out '^step 0: valid$'
