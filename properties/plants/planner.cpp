// What the planner is asked, and what it makes of it.
#include "properties/plants/groups.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

// The parallel kernel gives a request without keys no work when the slot is full, and no other slot
// writes its row.
class DroppedKeyless final : public Interposer {
  void on_index_lists(const Batch&, DecodeMetadata& md, DecodeBuffers&) const override {
    if (md.shape.max_qo_len == 1 && md.shape.route != Route::split) md.keyless_rows.clear();
  }
  void on_plan_query(const DecodeMetadata&, plan::PlanInput& input,
                     plan::SizeQuery&) const override {
    input.fidelity = plan::Fidelity::as_aiter;
  }
};

class UnclampedTail final : public Interposer {
  void on_plan_query(const DecodeMetadata&, plan::PlanInput& input,
                     plan::SizeQuery&) const override {
    input.fidelity = plan::Fidelity::as_aiter;
  }
};

// The first launch reads ragged lengths from scratch memory before it stores them.
class RowsOfFirst final : public Interposer {
  void on_plan_query(const DecodeMetadata&, plan::PlanInput& input,
                     plan::SizeQuery&) const override {
    if (input.uniform_qo_len > 0) return;
    static thread_local std::vector<std::int32_t> rows;
    rows.clear();
    for (std::size_t r = 0; r < input.qo_indptr.size(); ++r)
      rows.push_back(static_cast<std::int32_t>(r) * input.qo_indptr[1]);
    input.qo_indptr = rows;
    input.fidelity = plan::Fidelity::as_aiter;
  }
};

class CappedSplits final : public Interposer {
  void on_plan_query(const DecodeMetadata&, plan::PlanInput& input,
                     plan::SizeQuery&) const override {
    input.max_split_per_batch = 16;
  }
};

// Every request may be cut once more than its cap says.
class OneSplitMore final : public Interposer {
  void on_plan_query(const DecodeMetadata&, plan::PlanInput& input,
                     plan::SizeQuery&) const override {
    if (input.max_split_per_batch > 0) ++input.max_split_per_batch;
  }
};

// The planner knows no device with more compute units than an MI300X has.
class SlotsOfMi300x final : public Interposer {
  void on_plan_query(const DecodeMetadata&, plan::PlanInput& input,
                     plan::SizeQuery&) const override {
    const ComputeUnits known = product_compute_units(Arch::gfx942);
    if (input.key.compute_units.count() > known.count()) input.key.compute_units = known;
  }
};

class OneRowQuery final : public Interposer {
  void on_plan_query(const DecodeMetadata&, plan::PlanInput& input,
                     plan::SizeQuery& query) const override {
    input.key.max_qo_len = query.max_qo_len = 1;
  }
};

// The list of the first cut tile loses its last piece, as if its memory had been used again.
class ReusedReduceList final : public Interposer {
  void on_plan(const DecodeMetadata&, plan::Plan& plan) const override {
    for (std::int64_t i = 1; i < plan.reduce_indptr.size(); ++i)
      if (plan.reduce_indptr.at(i) > 0) {
        plan.reduce_indptr.set(i, plan.reduce_indptr.at(i) - 1);
        return;
      }
  }
};

// The last piece of a cut tile ends where the tail merge would have begun.
class ShortLastSplit final : public Interposer {
  void on_plan(const DecodeMetadata& md, plan::Plan& plan) const override {
    for (std::int64_t w = 0; w < plan.works(); ++w) {
      plan::WorkItem item = plan.work(w);
      const std::int64_t keys = item.kv_end - item.kv_begin;
      if (item.partial_row < 0 || item.kv_offset != 0 || keys > md.shape.granularity) continue;
      item.kv_end = item.kv_begin;
      plan.set_work(w, item);
    }
  }
};

// Planner v1.1 forgets the last work of its list, which only calls of v1.1 show.
class RareMistake final : public Interposer {
  void on_plan(const DecodeMetadata& md, plan::Plan& plan) const override {
    if (md.shape.planner != plan::PlannerVersion::v1_1 || plan.works() == 0) return;
    const auto kept = static_cast<std::int32_t>(plan.works() - 1);
    for (std::int64_t slot = 0; slot < plan.work_indptr.size(); ++slot)
      if (plan.work_indptr.at(slot) > kept) plan.work_indptr.set(slot, kept);
  }
};

// The last piece of a cut tile has one key, which only the tile's last row sees (BUG-012 in AITER's
// kernels). Every key is still covered once.
class OneKeyPiece final : public Interposer {
  void on_plan(const DecodeMetadata& md, plan::Plan& plan) const override {
    if (md.shape.page_size != 1) return;
    for (std::int64_t w = 1; w < plan.works(); ++w) {
      plan::WorkItem before = plan.work(w - 1);
      plan::WorkItem last = plan.work(w);
      const bool cut = last.partial_row >= 0 && before.batch == last.batch &&
                       before.q_begin == last.q_begin && before.kv_end == last.kv_begin;
      if (!cut || last.kv_offset != 0) continue;
      before.kv_end = last.kv_begin = last.kv_end - 1;
      before.kv_offset = 1;
      plan.set_work(w - 1, before);
      plan.set_work(w, last);
    }
  }
};

// A launch that forgets one of the six.
class FiveBuffers final : public Interposer {
  void on_plan(const DecodeMetadata&, plan::Plan& plan) const override {
    plan.reduce_indptr = plan::PlanBuffer("reduce_indptr", 0);
  }
};

// Each plan is right, and none is what AITER's kernel would get.
class WiderBlocks final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.make_plan = [](const plan::PlanInput& input, const plan::BufferSizes& sizes) {
      plan::PlanInput wider = input;
      wider.kv_granularity *= 2;
      return plan::make_plan(wider, sizes);
    };
  }
};

// The same for the host planner of prefill.
class WiderPrefillUnits final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.plan_ps_prefill = [](const plan::PsInput& input, const plan::BufferSizes& sizes) {
      plan::PsInput wider = input;
      wider.kvlen_granularity *= 2;
      return plan::plan_ps_prefill(wider, sizes);
    };
  }
};

constexpr Plant kPlannerPlants[] = {
    {"SEED-five-buffers", "P33", "One of the six plan buffers is not handed to the kernel.",
     "mla1:1q1s1", plant_of<FiveBuffers>},
    {"BUG-074", "P10",
     "The parallel planner gives a request without keys no work when it meets a full slot.",
     "mla1:1q1s16", plant_of<DroppedKeyless>},
    {"BUG-075", "P34", "The planner trims a tail beyond the beginning of the request.",
     "mla1:1q2s2", plant_of<UnclampedTail>},
    {"BUG-061", "P05", "Ragged query lengths are read before they are stored.", "mla1:1q1s1_1q2s2",
     plant_of<RowsOfFirst>},
    {"BUG-120", "P35", "A cap of 16 splits a request is a budget for the whole batch.",
     "mla1:1q1s272", plant_of<CappedSplits>},
    {"SEED-one-split-more", "P36", "Requests are cut once more than their cap says.",
     "mla1:1q1s400;split=1", plant_of<OneSplitMore>},
    {"SEED-rare-planner", "P41", "Planner v1.1 forgets its last work.", "mla1:1q1s1",
     plant_of<RareMistake>},
    {"SEED-wider-blocks", "P42", "The planner cuts requests in blocks of twice as many keys.",
     "mla1:1q1s1", plant_of<WiderBlocks>},
    {"SEED-wider-prefill-units", "P42", "The prefill planner counts units of twice as many keys.",
     "mla1:1q1s1;heads=1;kind=prefill", plant_of<WiderPrefillUnits>},
    {"SEED-one-key-piece", "P05", "The last piece of a request has fewer keys than rows.",
     "mla1:1q2s400;cu=4", plant_of<OneKeyPiece>},
    {"SEED-304-slots", "P35", "Slots after the 304th get nothing to do.", "mla1:1q1s1000",
     plant_of<SlotsOfMi300x>},
    {"BUG-092", "P07", "max_seqlen_q is hard-coded to 1.", "mla1:1q2s2", plant_of<OneRowQuery>},
    {"BUG-068", "P05", "The reduce reads a list whose memory has been used again.", "mla1:1q1s32",
     plant_of<ReusedReduceList>},
    {"BUG-012", "P08", "The last split of a request is dropped when it is short.", "mla1:1q1s32",
     plant_of<ShortLastSplit>},
};

}  // namespace

std::span<const Plant> planner_plants() {
  return kPlannerPlants;
}

}  // namespace mla::prop
