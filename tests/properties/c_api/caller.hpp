// A decode step of ours as a caller of the C interface has it: the kernel's rows and heads, pages
// that lie apart, and buffers that hold what no computation produces.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/engine/backend.hpp"
#include "core/engine/row_map.hpp"
#include "properties/c_api/mla_testbed.h"
#include "properties/claims/support/support.hpp"

namespace mla::test {

// Dense.
aiter_tensor_t c_tensor(const void* at, mla_dtype dtype, std::initializer_list<std::int64_t> shape);
mla_dtype c_dtype(Dtype dtype);
std::int64_t c_arch(Arch arch);

// What a caller gets wrong.
struct Misuse {
  const char* name = "";
  bool no_scales = false;       // both are 1
  bool pages_together = false;  // their stride is left out
  bool last_work = false;       // the last slot ends before it
  bool other_rows = false;      // the final map names the rows after its own
  bool halved = false;          // the scale of the softmax
};

class Caller {
 public:
  // What it refers to outlives it. The pages lie as far apart as `random` says.
  Caller(const DecodeLaunch& launch, const RowMap& rows, prop::Random& random,
         const Misuse& misuse);

  // Stage 1, in as many partial rows as `partial_rows`. The status, with the sentence of an error.
  std::string stage1(std::int64_t partial_rows, bool want_lse);
  // Stage 1 of the caller's own list of splits. One is the output, more are partials.
  std::string split(std::int64_t splits, const std::vector<std::int32_t>& splits_indptr);
  // Merges what stage 1 left into the output, whose rows lie `gap` elements apart, and heads half
  // as many.
  std::string reduce(const plan::Plan& plan, std::int64_t gap, bool with_map);
  // The same for every row in so many splits.
  std::string reduce_splits(std::int64_t splits);

  // In the rows and heads of the kernel.
  std::vector<std::uint16_t> out;
  std::vector<float> lse, partial_out, partial_lse;
  bool has_lse = true;

 private:
  struct Lists {
    std::vector<std::int32_t> reduce_indptr, final_map, partial_map;
  };
  void lay_out_cache(prop::Random& random);
  std::string call(mla_stage1_tensors tensors, std::int64_t first, std::int64_t second);
  std::string merge(const Lists& lists, std::int64_t gap, bool with_map);

  const DecodeMetadata& md_;
  const DecodeTensors& tensors_;
  const RowMap& rows_;
  Misuse misuse_;
  std::vector<std::byte> q_, cache_;
  std::int64_t page_stride_ = 0;  // elements
  std::vector<std::int32_t> kv_indices_;
};

// The float64 reference of a batch through the C interface.
Result<cpu::ReferenceResult> c_reference(const Case& c, const Batch& batch,
                                         const DecodeTensors& tensors);

}  // namespace mla::test
