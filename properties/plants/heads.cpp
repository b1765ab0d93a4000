// Heads: padded, folded and taken back by rules that do not agree.
#include <algorithm>

#include "properties/plants/groups.hpp"

namespace mla::prop {
namespace {

std::size_t at(std::int64_t row, std::int64_t head, std::int64_t heads) {
  return static_cast<std::size_t>(row * heads + head);
}

class PlanForModelHeads final : public Interposer {
  void on_plan_query(const DecodeMetadata& md, plan::PlanInput& input,
                     plan::SizeQuery& query) const override {
    input.key.heads_per_kv_head = query.heads = md.shape.heads.model;
  }
};

class SizesForModelHeads final : public Interposer {
  void on_plan_query(const DecodeMetadata& md, plan::PlanInput&,
                     plan::SizeQuery& query) const override {
    query.heads = Heads(round_up(md.shape.heads.model.count(), 8));
  }
};

// The result is cut to the first heads, although each head was repeated.
class UnpadByPrefix final : public Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata& md,
                 DecodeResult& result) const override {
    const HeadPadding& padding = md.shape.heads;
    if (padding.kind != PadKind::repeat) return;
    const std::int64_t heads = padding.model.count();
    const auto dims = md.shape.widths.value().count();
    const std::vector<std::uint16_t> out = result.out;
    const std::vector<float> lse = result.lse;
    for (std::int64_t row = 0; row < md.rows().count(); ++row)
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::size_t from = at(row, padding.source(h), heads);
        const std::size_t to = at(row, h, heads);
        result.lse[to] = lse[from];
        std::copy_n(out.begin() + static_cast<std::ptrdiff_t>(from) * dims, dims,
                    result.out.begin() + static_cast<std::ptrdiff_t>(to) * dims);
      }
  }
};

// Head counts below 16 that do not divide it are not padded at all.
class AppendOnlyPadding final : public Interposer {
  void on_shape(const Case&, const Batch&, ResolvedShape& shape) const override {
    const std::int64_t model = shape.heads.model.count();
    if (model < 16 && 16 % model != 0)
      shape.heads = {Heads(model), Heads(16 / model * model), PadKind::cyclic};
  }
};

// The LSE stays in the kernel's order of folded rows.
class FoldedLse final : public Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata& md,
                 DecodeResult& result) const override {
    const ResolvedShape& shape = md.shape;
    const std::int64_t fold = shape.fold_ratio();
    if (fold == 1 || shape.heads.kind != PadKind::none) return;
    const std::int64_t q = shape.uniform_qo_len;
    const std::int64_t heads = shape.heads.model.count();
    const std::int64_t in_row = shape.row_heads().count();
    const std::vector<float> lse = result.lse;
    for (std::int64_t row = 0; row < md.rows().count(); ++row)
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::int64_t folded = (row / q * fold + h / in_row) * q + row % q;
        result.lse[at(folded, h % in_row, in_row)] = lse[at(row, h, heads)];
      }
  }
};

// The reduce of folded heads weights the pieces of the second group like those of the first.
class BrokenFoldedReduce final : public Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata& md,
                 DecodeResult& result) const override {
    if (md.shape.fold_ratio() == 1) return;
    const std::int64_t heads = md.shape.heads.model.count();
    const std::int64_t dims = md.shape.widths.value().count();
    for (std::int64_t row = 0; row < md.rows().count(); ++row)
      for (std::int64_t h = md.shape.row_heads().count(); h < heads; ++h)
        std::copy_n(result.out.begin() + row * heads * dims, dims,
                    result.out.begin() + (row * heads + h) * dims);
  }
};

constexpr Plant kHeadsPlants[] = {
    {"BUG-021", "P14", "The plan is made for the model's heads while the kernel gets padded ones.",
     "mla1:1q1s1;heads=8", plant_of<PlanForModelHeads>},
    {"SEED-plan-heads", "P07", "Planner and size query are asked for 8 heads, the kernel takes 16.",
     "mla1:1q2s2;heads=8", plant_of<PlanForModelHeads>},
    {"BUG-009", "P14", "The buffers are sized for the unpadded head count.", "mla1:1q1s1;heads=8",
     plant_of<SizesForModelHeads>},
    {"BUG-035", "P14", "Heads are padded by repetition and taken back as a prefix.",
     "mla1:1q1s1;heads=2", plant_of<UnpadByPrefix>, true},
    {"BUG-105", "P14", "Six heads are padded to 12 by repetition, where the kernel takes 16.",
     "mla1:1q1s1;heads=6", plant_of<AppendOnlyPadding>},
    {"BUG-034", "P24", "The LSE of folded heads is not brought back into the order of the output.",
     "mla1:1q2s2;heads=32", plant_of<FoldedLse>, true},
    {"BUG-024", "P14", "The reduce is wrong for heads that are folded.", "mla1:1q1s2;heads=32",
     plant_of<BrokenFoldedReduce>, true},
};

}  // namespace

std::span<const Plant> head_plants() {
  return kHeadsPlants;
}

}  // namespace mla::prop
