// P05: rows that a work writes itself have passed one rounding to bf16 only, that of stage 1.
//
// On gfx942 the reduce truncates, with twice the unit of stage 1, and the reference's bound allows
// for the coarser one because it reads no plan (docs/reference/numerics.md, Output). A footprint
// says who wrote a row. The bound B is s + U * (|O| + s) times 1 + 2^-20, plus what is flushed: B
// less (U - u) * |O| is at least the bound with the finer unit u.
#include <algorithm>
#include <cmath>

#include "core/engine/row_map.hpp"
#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "cpu_backend/decode/reference.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"

namespace mla::prop {
namespace {

// Whether works wrote the output of each kernel row.
std::vector<bool> direct_rows(const DecodeResult& result, std::int64_t kernel_rows) {
  std::vector<bool> out(static_cast<std::size_t>(kernel_rows), false);
  for (const Footprint& f : result.footprint)
    for (std::int64_t row = std::max<std::int64_t>(f.output_rows.begin, 0);
         row < std::min(f.output_rows.end, kernel_rows); ++row)
      out[static_cast<std::size_t>(row)] = true;
  return out;
}

}  // namespace

Outcome decode_direct_rows(Subject& subject) {
  const DecodeMetadata& md = *subject.metadata();
  const DecodeResult& result = *subject.result();
  const cpu::ReferenceResult& reference = *subject.reference();
  const double unit = unit_roundoff(stage1_rounding(md.shape.arch));
  const double finer = unit_roundoff(reduce_rounding(md.shape.arch)) - unit;
  const auto map = RowMap::make(md);
  if (finer <= 0 || !map) return passed();
  const std::vector<bool> direct = direct_rows(result, map->kernel_rows());
  const std::int64_t heads = subject.spec().heads;
  std::int64_t row = 0;  // of the result, which has no leading rows
  for (std::size_t r = 0; r + 1 < md.qo_indptr.size(); ++r)
    for (std::int64_t query = md.qo_indptr[r] + md.shape.leading_rows; query < md.qo_indptr[r + 1];
         ++query, ++row)
      for (std::int64_t head = 0; head < heads; ++head) {
        const auto pair = static_cast<std::size_t>(row * heads + head);
        const std::size_t dims = reference.dims();
        const std::int64_t kernel_row = map->place(query, head).kernel_row;
        if (!direct[static_cast<std::size_t>(kernel_row)] ||
            reference.lse_bound[pair] == cpu::kNotEvaluated)
          continue;
        for (std::size_t i = pair * dims; i < (pair + 1) * dims; ++i) {
          const double got = bf16_to_float(result.out[i]);
          const double bound = reference.out_bound[i] - finer * std::fabs(reference.out[i]);
          if (!(std::fabs(got - reference.out[i]) <= bound))
            return failed(say("row ", row, " head ", head, " dim ", i % dims,
                              ", which a work writes itself, is ", got, ", the reference has ",
                              reference.out[i], " and allows ", bound));
        }
      }
  return passed();
}

}  // namespace mla::prop
