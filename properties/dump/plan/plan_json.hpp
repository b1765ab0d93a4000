// plan_json: a document of planning cases in, a document of plans out.
//
// Owns: the JSON form of a planner call. The keys of a case are those of the golden vectors in
// fixtures/golden: the arguments of AITER's metadata call plus `arch` and `num_cu`. `fast_mode` and
// `intra_batch_mode` select planner v1.2, v1.0 or v1.1; a case with `pages_kv_indptr` or
// `context_lens` is one of the prefill planner. Absent keys take AITER's defaults (aiter.md 3.1,
// 5). Result: {"results": [...]} in the order of the cases, each with `name`, `buffer_sizes` and
// the five int32 buffers, flattened, null where never written, the unwritten tail cut off; with
// as_aiter, writes past a buffer stand in `overruns` as [index, value]. A case that cannot be read
// or planned has `name` and `error` and does not keep the others from running.
// Fails: a document that is no JSON object with a list `cases`.
#pragma once

#include <string>

#include "core/result.hpp"

namespace mla::dump {

struct PlanJsonOptions {
  bool force_serial = false;  // v1.2: never the parallel kernel
  bool as_aiter = false;      // repeat the original where it is broken, see Fidelity
  bool valid_only = false;    // refuse what `check` would call broken
};

Result<std::string> plan_json(const std::string& document, const PlanJsonOptions& options);

}  // namespace mla::dump
