// Rows and keys as a kernel, or who launches it, treats them.
#include <algorithm>
#include <limits>

#include "core/shape/split_count.hpp"
#include "properties/plants/groups.hpp"

namespace mla::prop {
namespace {

// All rows of a request are computed as its first one.
class RowsOfZero final : public Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata& md,
                 DecodeResult& result) const override {
    const std::int64_t width = md.shape.heads.model.count() * md.shape.widths.value().count();
    for (std::size_t r = 0; r + 1 < md.qo_indptr.size(); ++r) {
      const std::int64_t first = md.qo_indptr[r];
      const std::int64_t q = md.qo_indptr[r + 1] - first;
      if (is_power_of_two(q)) continue;
      for (std::int64_t row = first + 1; row < first + q; ++row)
        std::copy_n(result.out.begin() + first * width, width, result.out.begin() + row * width);
    }
  }
};

// The only kernel for 128 heads has no mask.
class NoMask final : public Interposer {
  void on_shape(const Case&, const Batch&, ResolvedShape& shape) const override {
    if (shape.heads.kernel == Heads(128)) shape.kernel.masks = false;
  }
};

class CausalForgotten final : public Interposer {
  void on_index_lists(const Batch&, DecodeMetadata& md, DecodeBuffers&) const override {
    md.shape.causal = false;
  }
};

class AlwaysCausal final : public Interposer {
  void on_shape(const Case&, const Batch&, ResolvedShape& shape) const override {
    shape.causal = true;
  }
};

class KeylessUnwritten final : public Interposer {
  void on_index_lists(const Batch&, DecodeMetadata& md, DecodeBuffers&) const override {
    md.keyless_rows.clear();
  }
};

class NoBlockForPadding final : public Interposer {
  void on_batch(const Case&, Batch& batch) const override {
    const std::int64_t live = batch.live.count() * batch.columns;
    std::fill(batch.block_table.begin() + live, batch.block_table.end(), -1);
  }
};

// A warm-up with padding requests writes their keys into slot 0.
class PaddingInSlotZero final : public Interposer {
  void on_tensors(const Case& c, DecodeTensors& tensors) const override {
    if (c.pad_requests == 0) return;
    std::fill_n(tensors.cache.bytes.begin(), tensors.cache.row_bytes(), std::byte{0x38});
  }
};

// Rows are looked up as if every request had as many as the longest.
class PaddedLayout final : public Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata& md,
                 DecodeResult& result) const override {
    const std::int64_t width = md.shape.heads.model.count() * md.shape.widths.value().count();
    const std::vector<std::uint16_t> packed = result.out;
    for (std::size_t r = 0; r + 1 < md.qo_indptr.size(); ++r)
      for (std::int64_t row = md.qo_indptr[r]; row < md.qo_indptr[r + 1]; ++row) {
        const std::int64_t from =
            std::min(static_cast<std::int64_t>(r) * md.shape.max_qo_len + row - md.qo_indptr[r],
                     md.rows().count() - 1);
        std::copy_n(packed.begin() + from * width, width, result.out.begin() + row * width);
      }
  }
};

// The split count of an fp8 query follows the capacity of kv_indices.
class SplitsFromCapacity final : public Interposer {
  void on_shape(const Case& c, const Batch& batch, ResolvedShape& shape) const override {
    if (shape.route != Route::split || shape.dtype.q != Dtype::fp8) return;
    std::int64_t total = c.decode().spare.entries;
    for (const RequestSpec& r : batch.requests) total += r.kv_len;
    const auto splits = plan::split_count(
        {shape.compute_units, Requests(static_cast<std::int64_t>(batch.requests.size())),
         Tokens(total), shape.heads.kernel, shape.max_qo_len, shape.dtype});
    if (splits) shape.kv_splits = *splits;
  }
};

std::int64_t longest(const Batch& batch) {
  std::int64_t rows = 0;
  for (const RequestSpec& r : batch.requests) rows = std::max(rows, r.qo_len);
  return rows;
}

// The gate looks at the head count alone, and lets rows through that no kernel takes.
template <Arch kArch, Dtype kCache>
class UngatedRows final : public Interposer {
  void on_shape(const Case&, const Batch& batch, ResolvedShape& shape) const override {
    const bool listed = shape.arch != kArch || shape.dtype != DtypePair{Dtype::bf16, kCache};
    if (listed || shape.route != Route::persistent_rows || longest(batch) <= 4) return;
    shape.route = Route::persistent;
    shape.max_qo_len = longest(batch);
    shape.uniform_qo_len = -1;
    shape.kernel = {};
  }
};

class MissingEntry final : public Interposer {
  void on_shape(const Case&, const Batch&, ResolvedShape& shape) const override {
    if (shape.heads.model == Heads(8)) shape.kernel = {};
  }
};

class LengthsMissing final : public Interposer {
  void on_index_lists(const Batch&, DecodeMetadata& md, DecodeBuffers&) const override {
    std::fill(md.kv_lens.begin(), md.kv_lens.end(), 0);
  }
};

// A loop over the keys of a long piece that ends one key early. Among thousands of keys no number
// tells, unless a row looks for just that key.
class LostCutKey final : public Interposer {
  void on_plan(const DecodeMetadata& md, plan::Plan& plan) const override {
    constexpr std::int64_t kLong = 256;  // pages
    for (std::int64_t w = 0; w < plan.works(); ++w) {
      plan::WorkItem item = plan.work(w);
      if (item.kv_offset == 0 || item.kv_end - item.kv_begin < kLong) continue;
      item.kv_end -= 1;
      item.kv_offset += md.shape.page_size;
      plan.set_work(w, item);
    }
  }
};

constexpr Plant kRowsPlants[] = {
    {"SEED-cut-key", "P38", "The last key of a long piece is lost.",
     "mla1:1q1s64k;dtype=fp8/fp8;cu=16", plant_of<LostCutKey>},
    {"BUG-001", "P12", "With a row count that is not a power of two all rows are the first one.",
     "mla1:1q3s3", plant_of<RowsOfZero>, true},
    {"BUG-011", "P13", "The 128-head kernel does not mask the keys after a row's own.",
     "mla1:1q2s2;heads=128", plant_of<NoMask>},
    {"BUG-116", "P13", "The causal flag is taken, but never reaches the kernel.", "mla1:1q2s2",
     plant_of<CausalForgotten>},
    {"BUG-108", "P13", "A step that asks for no mask is masked causally.", "mla1:1q2s2;causal=0",
     plant_of<AlwaysCausal>},
    {"BUG-085", "P10", "Nothing writes the rows of requests without keys.", "mla1:1q1s1",
     plant_of<KeylessUnwritten>},
    {"BUG-113", "P11", "The block table of padding requests holds -1, and is read.", "mla1:1q2s2",
     plant_of<NoBlockForPadding>},
    {"BUG-033", "P11", "The keys of padding requests are written into slot 0.", "mla1:1q1s1",
     plant_of<PaddingInSlotZero>},
    {"BUG-087", "P05", "Packed rows are read in a padded layout.", "mla1:1q1s1_1q2s2",
     plant_of<PaddedLayout>, true},
    {"BUG-077", "P02", "The split count follows the capacity of kv_indices.",
     "mla1:1q1s1;planner=none;dtype=fp8/fp8", plant_of<SplitsFromCapacity>},
    {"BUG-003", "P28", "More than four bf16 rows go to a persistent kernel that gfx942 lacks.",
     "mla1:1q5s5", plant_of<UngatedRows<Arch::gfx942, Dtype::bf16>>},
    {"BUG-004", "P28", "More than four bf16 rows over an fp8 cache have no kernel.",
     "mla1:1q5s5;dtype=bf16/fp8;arch=gfx950", plant_of<UngatedRows<Arch::gfx950, Dtype::fp8>>},
    {"BUG-036", "P28", "The table has no entry for 8 heads.", "mla1:1q1s1;heads=8",
     plant_of<MissingEntry>},
    {"BUG-091", "P33", "One producer does not fill in the KV lengths.", "mla1:1q1s1",
     plant_of<LengthsMissing>},
};

}  // namespace

std::span<const Plant> row_plants() {
  return kRowsPlants;
}

}  // namespace mla::prop
