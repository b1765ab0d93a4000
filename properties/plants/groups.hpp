// The plants, in groups by what they break. Private to properties/plants.
//
// Owns the list of groups and what several of them share. A plant has no state that outlives a
// build, and several threads may use one.
#pragma once

#include <memory>
#include <span>

#include "properties/plants/plant.hpp"

namespace mla::prop {

template <class Defect>
std::unique_ptr<Interposer> plant_of() {
  return std::make_unique<Defect>();
}

std::span<const Plant> index_list_plants();  // qo_indptr, kv_indptr, kv_indices, last_page_len
std::span<const Plant> reuse_plants();       // what an earlier step left
std::span<const Plant> offset_plants();      // arithmetic on page ids that is too narrow
std::span<const Plant> head_plants();        // padding and folding of heads
std::span<const Plant> dtype_plants();       // element types and scales
std::span<const Plant> planner_plants();     // what the planner is asked, and how it cuts
std::span<const Plant> size_plants();        // sizes and tiles
std::span<const Plant> row_plants();         // rows and keys as the kernel treats them
std::span<const Plant> result_plants();      // partial results, merge and LSE
std::span<const Plant> function_plants();    // classification, negotiation, expansion
std::span<const Plant> sequence_plants();    // between the steps of a sequence
std::span<const Plant> width_plants();       // latent, rope and value widths of a row
std::span<const Plant> fa_plants();          // the AITER FA backend
std::span<const Plant> prefill_plants();     // capability, plan, chunks and merges of a prefill

}  // namespace mla::prop
