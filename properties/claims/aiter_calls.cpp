#include "properties/claims/aiter_calls.hpp"

#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>

#include "core/io/checksum.hpp"
#include "core/io/embed.hpp"
#include "properties/capture/parse_json.hpp"

MLA_EMBED(mla_aiter_calls, MLA_AITER_CALLS)  // fixtures/golden/random.json (CMakeLists.txt)

namespace mla::prop {
namespace {

[[noreturn]] void damaged(const std::string& why) {
  std::fprintf(stderr, "mla-testbed: the AITER calls of this build are damaged: %s\n", why.c_str());
  std::abort();
}

AiterCall read_call(const nlohmann::json& object) {
  auto call = cli::read_planner_call(object);
  if (!call) damaged(call.error().message);
  AiterCall out{.name = object.at("name").get<std::string>(), .call = std::move(*call)};
  out.call.input.fidelity = plan::Fidelity::as_aiter;
  if (object.contains("serial")) out.call.input.kernel = plan::V12Kernel::serial;
  for (std::size_t i = 0; i < out.sums.size(); ++i)
    out.sums[i] = std::strtoull(object.at("sums").at(i).get<std::string>().c_str(), nullptr, 16);
  return out;
}

std::vector<AiterCall> read_all() {
  const std::string_view text(
      reinterpret_cast<const char*>(mla_aiter_calls_begin),
      static_cast<std::size_t>(mla_aiter_calls_end - mla_aiter_calls_begin));
  const auto document = cli::parse_json(text);
  if (!document) damaged(document.error().message);
  std::vector<AiterCall> calls;
  for (const nlohmann::json& object : document->at("cases")) calls.push_back(read_call(object));
  return calls;
}

std::uint64_t sum_of(const plan::PlanBuffer& list) {
  const auto used = list.data().first(static_cast<std::size_t>(list.used()));
  return io::fnv1a64(std::as_bytes(used));
}

}  // namespace

const std::vector<AiterCall>& aiter_calls() {
  static const std::vector<AiterCall> calls = read_all();
  return calls;
}

std::optional<std::string_view> other_list(const AiterCall& aiter, const plan::Plan& p) {
  const std::array lists{&p.work_indptr, &p.work_info, &p.reduce_indptr, &p.reduce_final_map,
                         &p.reduce_partial_map};
  for (std::size_t i = 0; i < lists.size(); ++i)
    if (sum_of(*lists[i]) != aiter.sums[i]) return lists[i]->name();
  return std::nullopt;
}

}  // namespace mla::prop
