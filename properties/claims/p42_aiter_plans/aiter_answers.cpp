#include "properties/claims/p42_aiter_plans/aiter_answers.hpp"

#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "core/io/checksum.hpp"
#include "core/io/embed.hpp"
#include "properties/dump/read/parts.hpp"
#include "properties/files/parse_json.hpp"

// The files of fixtures/golden that CMakeLists.txt names.
MLA_EMBED(mla_aiter_random, MLA_GOLDEN "/random.json")
MLA_EMBED(mla_aiter_kernels, MLA_GOLDEN "/v12_h16_q1.json")
MLA_EMBED(mla_aiter_prefill, MLA_GOLDEN "/ps_prefill.json")
MLA_EMBED(mla_aiter_sizes, MLA_GOLDEN "/sizes.json")
MLA_EMBED(mla_aiter_splits, MLA_GOLDEN "/splits.json")

namespace mla::prop {
namespace {

using nlohmann::json;

[[noreturn]] void damaged(const std::string& why) {
  std::fprintf(stderr, "mla-testbed: AITER's answers in this build are damaged: %s\n", why.c_str());
  std::abort();
}

// Every element of `list` of a document, as `read` makes it.
template <class Read>
auto read_all(const std::byte* begin, const std::byte* end, const char* list, Read read) {
  const auto document = files::parse_json(
      {reinterpret_cast<const char*>(begin), static_cast<std::size_t>(end - begin)});
  if (!document) damaged(document.error().message);
  std::vector<decltype(read(*document))> out;
  for (const json& object : document->at(list)) out.push_back(read(object));
  return out;
}

AiterCall read_call(const json& object) {
  auto call = dump::read_planner_call(object);
  if (!call) damaged(call.error().message);
  AiterCall out{.name = object.at("name").get<std::string>(), .call = std::move(*call)};
  out.call.input.fidelity = plan::Fidelity::as_aiter;
  if (object.contains("serial")) out.call.input.kernel = plan::V12Kernel::serial;
  for (std::size_t i = 0; i < out.sums.size(); ++i)
    out.sums[i] = std::strtoull(object.at("sums").at(i).get<std::string>().c_str(), nullptr, 16);
  return out;
}

dump::FoundPlan read_answer(const json& object, const char* answer) {
  json found = object;
  found["expected"] = object.at(answer);
  auto plan = dump::read_plan(found);
  if (!plan) damaged(plan.error().message);
  return std::move(*plan);
}

// Nothing where both kernels answer alike.
std::optional<AiterKernelCall> read_kernels(const json& object) {
  if (!object.contains("expected_serial")) return std::nullopt;
  auto call = dump::read_planner_call(object);
  if (!call) damaged(call.error().message);
  AiterKernelCall out{.name = object.at("name").get<std::string>(),
                      .call = std::move(*call),
                      .parallel = read_answer(object, "expected"),
                      .serial = read_answer(object, "expected_serial")};
  out.call.input.fidelity = plan::Fidelity::as_aiter;
  return out;
}

AiterPrefillCall read_prefill(const json& object) {
  auto call = dump::read_planned_prefill_call(object);
  if (!call) damaged(call.error().message);
  auto found = dump::read_plan(object, 0);
  if (!found) damaged(found.error().message);
  return {.name = object.at("name").get<std::string>(),
          .planned = {std::move(*call), std::move(*found)}};
}

Dtype dtype_of(const json& name) {
  const auto dtype = dtype_from_name(name.get<std::string>());
  if (!dtype) damaged("there is no dtype " + name.dump());
  return *dtype;
}

Arch arch_of(const json& name) {
  const auto arch = arch_from_name(name.get<std::string>());
  if (!arch) damaged("there is no architecture " + name.dump());
  return *arch;
}

// The five sizes of a row, from column `first` on.
plan::BufferSizes sizes_of(const json& row, std::size_t first) {
  return {.work_indptr = row.at(first),
          .work_items = row.at(first + 1),
          .reduce_indptr = row.at(first + 2),
          .reduce_final_rows = row.at(first + 3),
          .reduce_partial_map = row.at(first + 4)};
}

AiterRow<plan::SizeQuery, plan::BufferSizes> read_sizes(const json& row) {
  return {.query = {.arch = arch_of(row.at(0)),
                    .compute_units = ComputeUnits(row.at(1).get<std::int64_t>()),
                    .batch = Requests(row.at(2).get<std::int64_t>()),
                    .max_qo_len = row.at(3),
                    .heads = Heads(row.at(4).get<std::int64_t>()),
                    .dtype = {dtype_of(row.at(5)), dtype_of(row.at(6))},
                    .sparse = row.at(7) != 0,
                    .fast_mode = row.at(8) != 0,
                    .num_kv_splits = row.at(9),
                    .intra_batch_mode = row.at(10) != 0,
                    .max_split_per_batch = row.at(11)},
          .answer = sizes_of(row, 12)};
}

AiterRow<plan::PsSizeQuery, plan::BufferSizes> read_prefill_sizes(const json& row) {
  return {.query = {.compute_units = ComputeUnits(row.at(1).get<std::int64_t>()),
                    .batch = Requests(row.at(2).get<std::int64_t>()),
                    .kv_heads = Heads(row.at(3).get<std::int64_t>()),
                    .max_qo_len = row.at(4),
                    .qlen_granularity = row.at(5)},
          .answer = sizes_of(row, 6)};
}

AiterRow<plan::SplitQuery, std::int64_t> read_splits(const json& row) {
  const Dtype q = row.at(5) == 1 ? Dtype::fp8 : Dtype::bf16;
  return {.query = {.compute_units = ComputeUnits(row.at(0).get<std::int64_t>()),
                    .batch = Requests(row.at(1).get<std::int64_t>()),
                    .total_kv = Tokens(row.at(2).get<std::int64_t>()),
                    .heads = Heads(row.at(3).get<std::int64_t>()),
                    .max_qo_len = row.at(4),
                    .dtype = {q, q}},
          .answer = row.at(6)};
}

std::uint64_t sum_of(const plan::PlanBuffer& list) {
  const auto used = list.data().first(static_cast<std::size_t>(list.used()));
  return io::fnv1a64(std::as_bytes(used));
}

}  // namespace

const std::vector<AiterCall>& aiter_calls() {
  static const auto calls =
      read_all(mla_aiter_random_begin, mla_aiter_random_end, "cases", read_call);
  return calls;
}

std::optional<std::string_view> other_list(const AiterCall& aiter, const plan::Plan& p) {
  const auto lists = p.all();
  for (std::size_t i = 0; i < lists.size(); ++i)
    if (sum_of(*lists[i]) != aiter.sums[i]) return lists[i]->name();
  return std::nullopt;
}

const std::vector<AiterKernelCall>& aiter_kernel_calls() {
  static const auto calls = [] {
    std::vector<AiterKernelCall> differing;
    for (auto& call :
         read_all(mla_aiter_kernels_begin, mla_aiter_kernels_end, "cases", read_kernels))
      if (call) differing.push_back(std::move(*call));
    return differing;
  }();
  return calls;
}

const std::vector<AiterPrefillCall>& aiter_prefill_calls() {
  static const auto calls =
      read_all(mla_aiter_prefill_begin, mla_aiter_prefill_end, "cases", read_prefill);
  return calls;
}

const std::vector<AiterRow<plan::SizeQuery, plan::BufferSizes>>& aiter_sizes() {
  static const auto rows = read_all(mla_aiter_sizes_begin, mla_aiter_sizes_end, "mla", read_sizes);
  return rows;
}

const std::vector<AiterRow<plan::PsSizeQuery, plan::BufferSizes>>& aiter_prefill_sizes() {
  static const auto rows =
      read_all(mla_aiter_sizes_begin, mla_aiter_sizes_end, "ps", read_prefill_sizes);
  return rows;
}

const std::vector<AiterRow<plan::SplitQuery, std::int64_t>>& aiter_splits() {
  static const auto rows =
      read_all(mla_aiter_splits_begin, mla_aiter_splits_end, "rows", read_splits);
  return rows;
}

}  // namespace mla::prop
