// Sizes of buffers and counts of tiles.
#include "properties/plants/groups.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

class OneTileEach final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.query_sizes = [](const plan::SizeQuery& query) {
      auto sizes = plan::query_sizes(query);
      if (sizes.ok()) sizes->work_items = query.batch.count() + query.compute_units.count() - 1;
      return sizes;
    };
  }
};

class SizedForOneRow final : public Interposer {
  void on_plan_query(const DecodeMetadata&, plan::PlanInput&,
                     plan::SizeQuery& query) const override {
    query.max_qo_len = 1;
  }
};

class BatchAboveCapacity final : public Interposer {
  void on_plan_query(const DecodeMetadata&, plan::PlanInput&,
                     plan::SizeQuery& query) const override {
    query.batch = Requests(query.batch.count() / 2);
  }
};

// An entry for every block of 16 tokens, where the list has one for every page.
class SizedInBlocks final : public Interposer {
  void on_buffers(DecodeBuffers& buffers) const override {
    buffers.kv_indices.resize((buffers.kv_indices.size() + 15) / 16);
  }
};

// A list is made longer where it is too short: no longer where a captured launch reads it.
class GrowingList final : public Interposer {
  void on_buffers(DecodeBuffers& buffers) const override { buffers.kv_indices.push_back(-1); }
};

class TilesTimesUnits final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.query_sizes = [](const plan::SizeQuery& query) {
      auto sizes = plan::query_sizes(query);
      if (sizes.ok())
        sizes->reduce_partial_map = sizes->reduce_final_rows * query.compute_units.count();
      return sizes;
    };
  }
};

class EverythingNative final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.query_tiles = [](const plan::SizeQuery& query) {
      return ceil_div(query.heads.count() * query.max_qo_len, 128);
    };
  }
};

class AlwaysParallel final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.choose_v12_kernel = [](const plan::PlanInput&, const PlanShape&) {
      return plan::V12Kernel::parallel;
    };
  }
};

// The reducer's list gets a piece for every wave that could have written one.
class ListOverrun final : public Interposer {
  void on_plan(const DecodeMetadata& md, plan::Plan& plan) const override {
    const std::int64_t pieces = md.shape.plan.slots.count() + 1;
    for (std::int64_t i = 1; i < plan.reduce_indptr.size(); ++i)
      plan.reduce_indptr.set(i, static_cast<std::int32_t>(pieces));
  }
};

// Sizes that hold every plan, and a split that gives right results: neither is AITER's.
class RoomForOneMore final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.query_sizes = [](const plan::SizeQuery& query) {
      auto sizes = plan::query_sizes(query);
      if (sizes.ok()) ++sizes->reduce_partial_map;
      return sizes;
    };
  }
};

class PrefillRoomForOneMore final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.query_ps_sizes = [](const plan::PsSizeQuery& query) {
      auto sizes = plan::query_ps_sizes(query);
      if (sizes.ok()) ++sizes->work_items;
      return sizes;
    };
  }
};

class NeverSplit final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.split_count = [](const plan::SplitQuery&) { return Result<std::int64_t>(1); };
  }
};

constexpr Plant kSizesPlants[] = {
    {"BUG-015", "P06", "work_info_set is sized without the tiles of a request.",
     "mla1:1q2s2;heads=128;cu=1;dtype=fp8/fp8", plant_of<OneTileEach>},
    {"BUG-006", "P06", "The buffers are sized for one row, the step has several.",
     "mla1:1q2s2;heads=128;dtype=fp8/fp8", plant_of<SizedForOneRow>},
    {"BUG-079", "P06", "A step has more requests than the buffers were sized for.", "mla1:1q1s1",
     plant_of<BatchAboveCapacity>},
    {"BUG-041", "P06", "kv_indices is sized in blocks where it lists pages.", "mla1:1q1s2",
     plant_of<SizedInBlocks>},
    {"SEED-growing-list", "P40", "A list that is too short for a step is made longer.",
     "mla1:1q1s1", plant_of<GrowingList>},
    {"BUG-063", "P23", "Every tile is given the split budget of the whole device.", "mla1:1q1s1",
     plant_of<TilesTimesUnits>},
    {"BUG-014", "P07", "Shapes whose heads are folded are sized as if they were not.",
     "mla1:1q1s1;heads=128", plant_of<EverythingNative>},
    {"BUG-060", "P32", "The planner runs out of scratch memory for large batches.", "mla1:1q1s1",
     plant_of<AlwaysParallel>},
    {"BUG-062", "P32", "The reducer's list gets more entries than it has room for.", "mla1:1q1s1",
     plant_of<ListOverrun>},
    {"SEED-partial-more", "P42", "The size query asks for one partial row more than AITER's.",
     "mla1:1q1s1", plant_of<RoomForOneMore>},
    {"SEED-prefill-work-more", "P42", "The prefill size query asks for one work more than AITER's.",
     "mla1:1q1s1;heads=1;kind=prefill", plant_of<PrefillRoomForOneMore>},
    {"SEED-never-split", "P42", "A request on the split route is never split.", "mla1:1q1s1",
     plant_of<NeverSplit>},
};

}  // namespace

std::span<const Plant> size_plants() {
  return kSizesPlants;
}

}  // namespace mla::prop
