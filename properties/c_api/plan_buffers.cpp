#include "properties/c_api/plan_buffers.hpp"

#include <cstdint>
#include <string>

#include "core/say.hpp"
#include "properties/c_api/tensors.hpp"

namespace mla::c_api {
namespace {

std::optional<Failure> write(const plan::PlanBuffer& from, const aiter_tensor_t& to) {
  const std::span<std::int32_t> out = elements<std::int32_t>(to);
  const std::int64_t used = from.used();
  const std::span<const std::int32_t> data = from.data();
  for (std::int64_t i = 0; i < used; ++i)
    if (from.written(i)) out[static_cast<std::size_t>(i)] = data[static_cast<std::size_t>(i)];
  if (from.overruns().empty()) return std::nullopt;
  return Failure{
      MLA_OVERRUN,
      say(from.name(), ": the planner writes element ", from.overruns().rbegin()->first, " of ",
          from.size(), " (", from.overruns().size(), " writes past the end were left out)"),
      "BUG-015", ""};
}

}  // namespace

std::optional<Failure> check_buffers(const mla_plan_buffers* b, MetaData meta_data) {
  if (b == nullptr) return usage("buffers is NULL");
  if (meta_data == MetaData::written || b->work_meta_data != nullptr)
    if (auto bad = check_tensor(
            b->work_meta_data, {.name = "work_meta_data", .dtypes = {MLA_DTYPE_U64}, .shape = {2}}))
      return bad;
  const Wanted int32s[] = {
      {.name = "work_indptr", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}},
      {.name = "work_info_set", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny, plan::kWorkItemWords}},
      {.name = "reduce_indptr", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}},
      {.name = "reduce_final_map", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny, 2}},
      {.name = "reduce_partial_map", .dtypes = {MLA_DTYPE_I32}, .shape = {kAny}}};
  const aiter_tensor_t* tensors[] = {b->work_indptr, b->work_info_set, b->reduce_indptr,
                                     b->reduce_final_map, b->reduce_partial_map};
  for (std::size_t i = 0; i < std::size(int32s); ++i)
    if (auto bad = check_tensor(tensors[i], int32s[i])) return bad;
  return std::nullopt;
}

plan::BufferSizes sizes_of(const mla_plan_buffers& b) {
  return {.work_meta_data = 2,
          .work_indptr = static_cast<std::int64_t>(b.work_indptr->numel),
          .work_items = b.work_info_set->shape[0],
          .reduce_indptr = static_cast<std::int64_t>(b.reduce_indptr->numel),
          .reduce_final_rows = b.reduce_final_map->shape[0],
          .reduce_partial_map = static_cast<std::int64_t>(b.reduce_partial_map->numel)};
}

std::optional<Failure> write_buffers(const plan::Plan& plan, const mla_plan_buffers& b,
                                     MetaData meta_data) {
  if (meta_data == MetaData::written) {
    const auto words = elements<std::uint64_t>(*b.work_meta_data);
    words[0] = reinterpret_cast<std::uintptr_t>(b.work_indptr->ptr);
    words[1] = reinterpret_cast<std::uintptr_t>(b.work_info_set->ptr);
  }
  std::optional<Failure> first;
  const auto take = [&](std::optional<Failure> failed) {
    if (failed && !first) first = std::move(failed);
  };
  take(write(plan.work_indptr, *b.work_indptr));
  take(write(plan.work_info, *b.work_info_set));
  take(write(plan.reduce_indptr, *b.reduce_indptr));
  take(write(plan.reduce_final_map, *b.reduce_final_map));
  take(write(plan.reduce_partial_map, *b.reduce_partial_map));
  return first;
}

plan::PlanView view_of(const mla_plan_buffers& b) {
  return {std::span<const std::uint64_t, 2>(static_cast<std::uint64_t*>(b.work_meta_data->ptr), 2),
          {.work_indptr = elements<const std::int32_t>(*b.work_indptr),
           .work_info = elements<const std::int32_t>(*b.work_info_set),
           .reduce_indptr = elements<const std::int32_t>(*b.reduce_indptr),
           .reduce_final_map = elements<const std::int32_t>(*b.reduce_final_map),
           .reduce_partial_map = elements<const std::int32_t>(*b.reduce_partial_map)}};
}

}  // namespace mla::c_api
