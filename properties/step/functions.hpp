// Functions: the pure functions that claims check by themselves, as one replaceable value.
//
// A claim about a pure function takes it from here, so that a plant can put a broken one in its
// place (Interposer::on_functions). The defaults are the core's own.
#pragma once

#include "core/case/batch.hpp"
#include "core/engine/classify.hpp"
#include "core/engine/prefill/chunks.hpp"
#include "core/paging/block_size.hpp"
#include "core/paging/expand.hpp"
#include "core/plan/planner.hpp"
#include "core/plan/ps_prefill.hpp"
#include "core/plan/sizes.hpp"
#include "core/shape/split_count.hpp"
#include "properties/step/compare.hpp"
#include "properties/step/subject.hpp"

namespace mla::prop {

struct Functions {
  decltype(&mla::expand_pages) expand_pages = &mla::expand_pages;
  decltype(&mla::select_common_block_size) select_common_block_size =
      &mla::select_common_block_size;
  decltype(&mla::uniform_padded_qo_len) uniform_padded_qo_len = &mla::uniform_padded_qo_len;
  decltype(&mla::split_decodes_and_prefills) split_decodes_and_prefills =
      &mla::split_decodes_and_prefills;
  decltype(&mla::split_decodes_prefills_and_extends) split_decodes_prefills_and_extends =
      &mla::split_decodes_prefills_and_extends;
  decltype(&mla::reorder_threshold) reorder_threshold = &mla::reorder_threshold;
  decltype(&mla::decode_first_order) decode_first_order = &mla::decode_first_order;
  decltype(&prefill::pack_context) pack_context = &prefill::pack_context;
  decltype(&plan::query_sizes) query_sizes = &plan::query_sizes;
  decltype(&plan::query_ps_sizes) query_ps_sizes = &plan::query_ps_sizes;
  decltype(&plan::split_count) split_count = &plan::split_count;
  decltype(&plan::query_tiles) query_tiles = &plan::query_tiles;
  decltype(&plan::make_plan) make_plan = &plan::make_plan;
  decltype(&plan::plan_ps_prefill) plan_ps_prefill = &plan::plan_ps_prefill;
  decltype(&prop::compare_elements) compare_elements = &prop::compare_elements;
  decltype(&plan::choose_v12_kernel) choose_v12_kernel = &plan::choose_v12_kernel;
};

// The functions as the subject's interposer leaves them.
inline Functions functions_of(const Subject& subject) {
  Functions functions;
  subject.hooks().on_functions(functions);
  return functions;
}

}  // namespace mla::prop
