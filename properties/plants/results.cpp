// Partial results, their merge, and the LSE.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "core/numeric/bf16.hpp"
#include "properties/plants/groups.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

std::uint16_t times(std::uint16_t bits, float factor) {
  return bf16_from_float(bf16_to_float(bits) * factor, Bf16Rounding::nearest_even);
}

// Elements of the output of a query row.
std::int64_t row_elements(const DecodeMetadata& md) {
  return md.shape.heads.model.count() * md.shape.widths.value().count();
}

void scale_rows(DecodeResult& result, const DecodeMetadata& md, std::int64_t begin,
                std::int64_t end, float factor) {
  for (std::int64_t i = begin * row_elements(md); i < end * row_elements(md); ++i)
    result.out[static_cast<std::size_t>(i)] =
        times(result.out[static_cast<std::size_t>(i)], factor);
}

void poison_rows(DecodeResult& result, const DecodeMetadata& md, RowRange rows) {
  std::fill(result.out.begin() + rows.begin * row_elements(md),
            result.out.begin() + rows.end * row_elements(md), kBf16Nan);
}

class BinaryLog final : public Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata&,
                 DecodeResult& result) const override {
    for (float& lse : result.lse) lse *= static_cast<float>(M_LOG2E);
  }
};

class NoLse final : public Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata&,
                 DecodeResult& result) const override {
    result.lse.clear();
  }
};

// An empty split takes part in the merge with the weight of one that holds keys.
class WeightyEmptySplit final : public Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata& md,
                 DecodeResult& result) const override {
    if (md.shape.route != Route::split) return;
    for (std::size_t r = 0; r < md.kv_lens.size(); ++r) {
      const std::int64_t tiles = ceil_div(md.kv_lens[r], md.shape.split_granularity);
      if (tiles > 0 && tiles < md.shape.kv_splits)
        scale_rows(result, md, md.qo_indptr[r], md.qo_indptr[r + 1],
                   static_cast<float>(tiles) / static_cast<float>(md.shape.kv_splits));
    }
  }
};

class ZeroByZero final : public Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata& md,
                 DecodeResult& result) const override {
    if (md.shape.route != Route::split) return;
    for (const RowRange& rows : md.keyless_rows) poison_rows(result, md, rows);
  }
};

class FoldedShortContext final : public Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata& md,
                 DecodeResult& result) const override {
    if (md.shape.fold_ratio() == 1) return;
    for (std::size_t r = 0; r < md.kv_lens.size(); ++r) {
      const RowRange rows{md.qo_indptr[r], md.qo_indptr[r + 1]};
      if (md.kv_lens[r] <= 2 * (rows.end - rows.begin)) poison_rows(result, md, rows);
    }
  }
};

// With a second thread the reduce is early: it reads a slot that is not written yet.
class RacingReduce final : public Interposer {
  void on_result(const ExecutionOptions& options, const DecodeMetadata& md,
                 DecodeResult& result) const override {
    if (options.threads > 1 && md.plan && !result.out.empty()) result.out[0] = kBf16Nan;
  }
};

// A merge reads a partial result that has not arrived yet, where memory answers late.
class LatePartial final : public Interposer {
  void on_result(const ExecutionOptions& options, const DecodeMetadata&,
                 DecodeResult& result) const override {
    if (options.schedule_seed / 4 % 3 == 1 && !result.out.empty()) result.out[0] = kBf16Nan;
  }
};

// A slot that works off several requests is off by a little for the ones after the first.
class CompoundingSteal final : public Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata& md,
                 DecodeResult& result) const override {
    if (!md.plan || md.requests().count() <= md.shape.plan.slots.count()) return;
    scale_rows(result, md, md.shape.plan.slots.count(), md.rows().count(), 1.0625F);
  }
};

// The value of a key that a row must not see is multiplied by its probability of 0.
class ZeroTimesNan final : public Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata& md,
                 DecodeResult& result) const override {
    for (std::size_t r = 0; r + 1 < md.qo_indptr.size(); ++r) {
      const RowRange rows{md.qo_indptr[r], md.qo_indptr[r + 1]};
      if (rows.end <= rows.begin) continue;
      const auto last = static_cast<std::size_t>((rows.end - 1) * row_elements(md));
      if (std::isnan(bf16_to_float(result.out[last]))) poison_rows(result, md, rows);
    }
  }
};

// The comparison takes four times the error that the reference allows.
class TolerantComparison final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.compare_elements = [](const ComparedRows& judged) {
      cpu::ReferenceResult wide = judged.reference;
      for (double& bound : wide.out_bound) bound *= 4;
      for (double& bound : wide.lse_bound) bound *= 4;
      return compare_elements({.out = judged.out,
                               .lse = judged.lse,
                               .faults = judged.faults,
                               .reference = wide,
                               .requests = judged.requests,
                               .heads = judged.heads,
                               .dims = judged.dims,
                               .blame = judged.blame});
    };
  }
};

class SilentFaults final : public Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata&,
                 DecodeResult& result) const override {
    result.faults.clear();
  }
};

constexpr Plant kResultsPlants[] = {
    {"BUG-107", "P24", "The LSE is a binary logarithm.", "mla1:1q1s1", plant_of<BinaryLog>, true},
    {"BUG-106", "P24", "The LSE is not returned.", "mla1:1q1s1", plant_of<NoLse>, true},
    {"BUG-070", "P09", "A split without keys contributes weight.", "mla1:1q1s1;planner=none",
     plant_of<WeightyEmptySplit>, true},
    {"SEED-zero-times-nan", "P37", "A NaN in a key that a row must not see reaches its output.",
     "mla1:1q2s4", plant_of<ZeroTimesNan>, true},
    {"SEED-silent-faults", "P39", "What a launch leaves out is not reported.", "mla1:1q1s1",
     plant_of<SilentFaults>, true},
    {"BUG-076", "P09", "Without keys the split route divides 0 by 0.", "mla1:1q1s0;planner=none",
     plant_of<ZeroByZero>, true},
    {"BUG-013", "P09", "Short contexts come out as NaN when heads are folded.",
     "mla1:1q1s1;heads=32", plant_of<FoldedShortContext>, true},
    {"BUG-069", "P31", "The reduce reads slots that no split has written.", "mla1:1q1s1",
     plant_of<RacingReduce>, true},
    {"SEED-late-partial", "P43", "A merge reads a partial result before it has arrived.",
     "mla1:1q1s1", plant_of<LatePartial>, true},
    {"SEED-tolerant-comparison", "P44", "The comparison allows four times the bound.", "mla1:1q1s1",
     plant_of<TolerantComparison>},
    {"BUG-073", "P08", "Slots that work off many rows are off by a little.", "mla1:2q1s1;cu=1",
     plant_of<CompoundingSteal>, true},
};

}  // namespace

std::span<const Plant> result_plants() {
  return kResultsPlants;
}

}  // namespace mla::prop
