// Selection: which kernel of a manifest AITER launches for a decode step, and with what.
//
// The one place where dispatch is decided: key of the row, rows of a workgroup, the row count that
// the kernel is told. A port of the decisions of csrc/py_itfs_cu/asm_mla.cu (aiter.md 4), in its
// order. `heads` and `qo_len` are those of a kernel row and of a request, after folding and
// raising. Fails: shapes that the original rejects, and keys without a row, each with the values.
#pragma once

#include <cstdint>
#include <vector>

#include "core/arch.hpp"
#include "core/result.hpp"
#include "hip_backend/aiter/dialect.hpp"
#include "hip_backend/aiter/manifest.hpp"

namespace mla::hip::aiter {

struct DecodeQuery {
  Arch arch = Arch::gfx942;
  ElementType q = ElementType::bf16;
  ElementType kv = ElementType::bf16;
  std::int64_t heads = 16;
  std::int64_t qo_len = 1;  // the longest request's rows
  bool persistent = true;
  bool causal = true;
  bool lse = false;      // the caller wants the final LSE
  bool cprr = false;     // with the keys of all ranks
  Dialect dialect = {};  // of the manifest in which the row is looked up
};

struct Selection {
  ManifestRow row;
  // Packed rows of a workgroup of the grid's x, not persistent; and what s_MQA says.
  std::int64_t rows_per_workgroup = 128;
  std::int64_t packed_rows = 16;
  // Further rows with the same key: AITER takes whichever its hash map yields first.
  std::vector<ManifestRow> rivals;
};

// The key that the original looks up, without the manifest.
Result<Selection> dispatch_decode(const DecodeQuery& query);

// In the dialect of this manifest.
Result<Selection> select_decode(const Manifest& manifest, DecodeQuery query);

// The same for one row of the manifest, whether AITER would choose it for this query or not.
Result<Selection> select_row(const ManifestRow& row, const DecodeQuery& query);

// The row of a prefill kernel; `persistent` ones take fp8 and a plan.
Result<ManifestRow> select_prefill(const Manifest& manifest, ElementType type, std::int64_t heads,
                                   bool persistent, bool causal);

}  // namespace mla::hip::aiter
