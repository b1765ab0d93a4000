// Dispatch: a program that says itself which steps its kernels take, beside this core's table.
//
// The table is that of one AITER. Another one has kernels for head counts that the table has no row
// for, or takes as they are what this one folds.
// Fails: `unsupported` with what the program says, `fault` where it broke.
#pragma once

#include <cstdint>

#include "core/arch.hpp"
#include "core/case/batch.hpp"
#include "core/case/case.hpp"
#include "core/result.hpp"
#include "core/shape/resolved_shape.hpp"
#include "core/units.hpp"

namespace mla {

struct DispatchQuestion {
  Arch arch = Arch::gfx942;
  std::int64_t compute_units = 304;
  DtypePair dtype;
  std::int64_t heads = 16;  // as the program gets them
  std::int64_t rows = 1;    // of a request
  bool causal = true;
  bool lse = false;  // the final LSE is asked for
  bool planned = true;
};

class Dispatch {
 public:
  Dispatch() = default;
  Dispatch(const Dispatch&) = delete;
  Dispatch& operator=(const Dispatch&) = delete;
  virtual ~Dispatch() = default;
  // Heads of a row of Q as the kernel gets it: those of the question, or fewer where it folds.
  [[nodiscard]] virtual Result<Heads> row_heads(const DispatchQuestion& question) const = 0;
};

// resolve_shape(), with the program's answer where the table has no row for a head count: the heads
// of the model are tried as they are, then padded as an engine pads them. Folding is the program's
// everywhere. Null: the table alone.
Result<ResolvedShape> resolve_shape(const Case& c, const Batch& batch, const Dispatch* dispatch);

// Whether the kernel of the shape is the program's choice, which the table does not have.
bool chosen_by_dispatch(const ResolvedShape& shape);

}  // namespace mla
