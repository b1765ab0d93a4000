// Classification, block-size negotiation and page expansion, each as a broken pure function.
#include <algorithm>
#include <set>

#include "properties/plants/groups.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

class UniformByDivision final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.split_decodes_and_prefills = [](const SplitInput& input) {
      DecodeSplit split = split_decodes_and_prefills(input);
      split.uniform = split.decodes.count() > 0 && split.decode_rows.count() > 0 &&
                      split.decode_rows.count() % split.decodes.count() == 0;
      return split;
    };
  }
};

class RowsForRequests final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.split_decodes_and_prefills = [](const SplitInput& input) {
      DecodeSplit split = split_decodes_and_prefills(input);
      split.decodes = Requests(split.decode_rows.count());
      return split;
    };
  }
};

class PaddedRowsCount final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.uniform_padded_qo_len = [](const std::vector<std::int64_t>& q, std::int64_t,
                                         std::int64_t rows) {
      const auto count = static_cast<std::int64_t>(q.size());
      return rows % count == 0 && rows / count > 1 ? rows / count : 0;
    };
  }
};

class ShortPrefillIsDecode final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.decode_first_order = [](std::span<const StepRequest> requests,
                                      std::int64_t threshold) {
      std::vector<StepRequest> cached(requests.begin(), requests.end());
      for (StepRequest& r : cached) r.computed = std::max<std::int64_t>(r.computed, 1);
      return decode_first_order(cached, threshold);
    };
  }
};

class ExactSizesOnly final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.select_common_block_size = [](std::int64_t manager,
                                            const std::vector<SupportedSizes>& backends) {
      std::vector<SupportedSizes> exact(backends.size());
      for (std::size_t b = 0; b < backends.size(); ++b)
        std::copy_if(
            backends[b].begin(), backends[b].end(), std::back_inserter(exact[b]),
            [](const SupportedSize& e) { return std::holds_alternative<std::int64_t>(e); });
      return select_common_block_size(manager, exact);
    };
  }
};

// What one backend advertises is taken for what all address.
class ManagerSizeWins final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.select_common_block_size = [](std::int64_t manager,
                                            const std::vector<SupportedSizes>& backends) {
      if (std::any_of(backends.begin(), backends.end(),
                      [&](const SupportedSizes& b) { return supports_size(b, manager); }))
        return Result<std::int64_t>(manager);
      return select_common_block_size(manager, backends);
    };
  }
};

// The largest exact size that divides the manager's, whether all take it or not.
class LargestCandidate final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.select_common_block_size = [](std::int64_t manager,
                                            const std::vector<SupportedSizes>& backends) {
      auto chosen = select_common_block_size(manager, backends);
      if (chosen.ok() && *chosen == manager) return chosen;
      std::int64_t largest = 0;
      for (const SupportedSizes& backend : backends)
        for (const SupportedSize& entry : backend)
          if (const auto* size = std::get_if<std::int64_t>(&entry);
              size != nullptr && *size > 0 && manager % *size == 0)
            largest = std::max(largest, *size);
      return largest > 0 ? Result<std::int64_t>(largest) : chosen;
    };
  }
};

class UnitColumnStride final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.expand_pages = [](const ExpandInput& input, const ExpandGrid& grid,
                                std::span<std::int32_t> out) {
      std::vector<std::int32_t> right(out.size());
      if (const MaybeError refused = expand_pages(input, grid, right)) return refused;
      ExpandInput assumed = input;
      assumed.table.column_stride = 1;
      for (std::size_t r = 0; r < input.table_rows.size(); ++r)
        for (std::int32_t at = input.kv_indptr[r]; at < input.kv_indptr[r + 1]; ++at) {
          const std::int64_t page = at - input.kv_indptr[r];
          const std::int64_t block =
              assumed.table.at(input.table_rows[r], page / input.pages_per_block);
          out[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(
              block * input.pages_per_block + page % input.pages_per_block);
        }
      return MaybeError{};
    };
  }
};

class BlocksForPages final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.expand_pages = [](const ExpandInput& input, const ExpandGrid& grid,
                                std::span<std::int32_t> out) {
      const std::vector<std::int32_t> before(out.begin(), out.end());
      if (const MaybeError refused = expand_pages(input, grid, out)) return refused;
      for (std::size_t r = 0; r < input.table_rows.size(); ++r) {
        const std::int64_t begin = input.kv_indptr[r];
        const std::int64_t blocks = ceil_div(input.kv_indptr[r + 1] - begin, input.pages_per_block);
        for (std::int64_t at = begin + blocks; at < input.kv_indptr[r + 1]; ++at)
          out[static_cast<std::size_t>(at)] = before[static_cast<std::size_t>(at)];
      }
      return MaybeError{};
    };
  }
};

// The last chunk of a request is written whole.
class UnmaskedChunk final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.expand_pages = [](const ExpandInput& input, const ExpandGrid& grid,
                                std::span<std::int32_t> out) {
      if (const MaybeError refused = expand_pages(input, grid, out)) return refused;
      const std::int64_t end = input.kv_indptr.back();
      const std::int64_t pages = end - input.kv_indptr[input.kv_indptr.size() - 2];
      const auto size = static_cast<std::int64_t>(out.size());
      for (std::int64_t at = end; at < end - pages + round_up(pages, grid.chunk) && at < size; ++at)
        out[static_cast<std::size_t>(at)] = 0;
      return MaybeError{};
    };
  }
};

// The planner takes lists and lengths as they come, as AITER's does.
class TrustingPlanner final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.make_plan = [](const plan::PlanInput& input, const plan::BufferSizes& sizes) {
      plan::PlanInput trusted = input;
      trusted.fidelity = plan::Fidelity::as_aiter;
      return plan::make_plan(trusted, sizes);
    };
  }
};

// Not told of the longest request, the planner leaves pieces that some of their rows do not see.
class UnmergedTails final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.make_plan = [](const plan::PlanInput& input, const plan::BufferSizes& sizes) {
      plan::PlanInput trusted = input;
      if (input.key.max_qo_len < 1) trusted.fidelity = plan::Fidelity::as_aiter;
      return plan::make_plan(trusted, sizes);
    };
  }
};

// Every rank reads the whole piece where it has only its share.
class WholePieceOnEachRank final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.pack_context = [](const prefill::ContextQuery& query) {
      auto packed = prefill::pack_context(query);
      if (!packed) return packed;
      for (prefill::ContextChunk& chunk : packed->chunks)
        chunk.padded_local_lens.assign(chunk.seq_lens.begin(), chunk.seq_lens.end());
      return packed;
    };
  }
};

// Parallel drafting brings two rows for each draft token.
class OneRowPerDraft final : public Interposer {
  void on_functions(Functions& functions) const override {
    functions.reorder_threshold = [](const ThresholdQuery& query) {
      ThresholdQuery serial = query;
      serial.parallel_drafting = false;
      return reorder_threshold(serial);
    };
  }
};

constexpr Plant kFunctionsPlants[] = {
    {"BUG-016", "P26", "A batch counts as uniform when its rows divide evenly.", "mla1:1q1s1",
     plant_of<UniformByDivision>},
    {"BUG-017", "P26", "A short first prefill counts as a decode.", "mla1:1q1s1",
     plant_of<ShortPrefillIsDecode>},
    {"BUG-019", "P26", "Padded rows instead of the scheduled ones decide about uniformity.",
     "mla1:1q1s1", plant_of<PaddedRowsCount>},
    {"BUG-020", "P26", "Decode rows are used where decode requests are needed.", "mla1:1q1s1",
     plant_of<RowsForRequests>},
    {"SEED-parallel-draft", "P26", "The threshold of decodes counts one row for a parallel draft.",
     "mla1:1q1s1", plant_of<OneRowPerDraft>},
    {"BUG-039", "P27", "A backend that takes any multiple advertises one size.", "mla1:1q1s1",
     plant_of<ExactSizesOnly>},
    {"BUG-115", "P27", "The manager's size is taken although not every backend addresses it.",
     "mla1:1q1s1", plant_of<ManagerSizeWins>},
    {"BUG-094", "P27", "A size is chosen that draft and target do not share.", "mla1:1q1s1",
     plant_of<LargestCandidate>},
    {"SEED-column-stride", "P01", "The block table's columns are taken for adjacent.", "mla1:1q1s1",
     plant_of<UnitColumnStride>},
    {"BUG-044", "P01", "The loop over pages ends at the number of blocks.", "mla1:1q1s1",
     plant_of<BlocksForPages>},
    {"BUG-040", "P01", "A chunk of the expansion that is not full is written whole.", "mla1:1q1s1",
     plant_of<UnmaskedChunk>},
    {"SEED-whole-piece", "P25", "Each rank of a shared context gathers the piece of all ranks.",
     "mla1:1q1s40;heads=1;kind=prefill", plant_of<WholePieceOnEachRank>},
    {"SEED-trusting-planner", "P40", "The planner does not look at the lists that it is given.",
     "mla1:1q1s1", plant_of<TrustingPlanner>},
    {"SEED-unmerged-tails", "P41",
     "Not told of the longest request, planner v1.2 leaves short tails.",
     "mla1:1q2s33;heads=128;cu=19;dtype=fp8/fp8", plant_of<UnmergedTails>},
};

}  // namespace

std::span<const Plant> function_plants() {
  return kFunctionsPlants;
}

}  // namespace mla::prop
