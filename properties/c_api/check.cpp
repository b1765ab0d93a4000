// The plan check through the C interface.
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "core/io/raw_array.hpp"
#include "core/say.hpp"
#include "properties/app/draw_dump.hpp"
#include "properties/c_api/texts.hpp"
#include "properties/dump/check/check.hpp"
#include "properties/dump/read/dump.hpp"
#include "properties/show/document.hpp"

namespace mla::c_api {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t kMostArrays = 64;
constexpr std::int64_t kMostDims = 64;
constexpr std::int64_t kMostElementBytes = 16;

std::optional<Failure> read_array(const mla_array& given, io::RawArray& array) {
  const std::string name = say("array '", given.name, "'");
  if (given.kind < MLA_ARRAY_SIGNED || given.kind > MLA_ARRAY_BITS)
    return usage(say(name, " has kind ", given.kind, "; expected 0 to 3"));
  if (given.element_bytes < 1 || given.element_bytes > kMostElementBytes)
    return usage(say(name, " has elements of ", given.element_bytes, " bytes; expected 1 to ",
                     kMostElementBytes));
  if (given.dims < 0 || given.dims > kMostDims || (given.dims > 0 && given.shape == nullptr))
    return usage(say(name, " has ", given.dims, " dims",
                     given.shape == nullptr ? ", shape NULL" : "", "; expected 0 to ", kMostDims,
                     " and their extents"));
  array.kind = static_cast<io::ElementKind>(given.kind);
  array.width = given.element_bytes;
  array.shape.assign(given.shape, given.shape + given.dims);
  std::int64_t bytes = array.width;
  for (const std::int64_t n : array.shape) {
    if (n < 0 || (n > 0 && bytes > std::numeric_limits<std::int64_t>::max() / n))
      return usage(say(name, " has a dimension of ", n, ", which no memory holds"));
    bytes *= n;
  }
  if (bytes > 0 && given.data == nullptr) return usage(name + " has no data: it is NULL");
  const auto* data = static_cast<const std::byte*>(given.data);
  array.bytes.assign(data, data + bytes);
  return std::nullopt;
}

std::optional<Failure> read_arrays(const mla_array* arrays, std::int64_t count,
                                   std::map<std::string, io::RawArray>& to) {
  if (count < 0 || count > kMostArrays || (count > 0 && arrays == nullptr))
    return usage(say("there are ", count, arrays == nullptr ? " arrays at NULL" : " arrays",
                     "; expected 0 to ", kMostArrays));
  for (std::int64_t i = 0; i < count; ++i) {
    if (arrays[i].name == nullptr) return usage(say("array ", i, " has no name: it is NULL"));
    if (auto bad = read_array(arrays[i], to[arrays[i].name])) return bad;
  }
  return std::nullopt;
}

std::optional<Failure> check_bundle(const char* document, const mla_array* arrays,
                                    std::int64_t count, const char** out) {
  if (document == nullptr) return usage("the document is NULL");
  auto dumped = dump::parse_dump(document);
  if (!dumped) return failure_of(dumped.error());
  if (count != 0) {
    std::map<std::string, io::RawArray> tensors;
    if (auto bad = read_arrays(arrays, count, tensors)) return bad;
    dump::take_tensors(*dumped, std::move(tensors));
  }
  const auto found = dump::check(*dumped);
  if (!found) return failure_of(found.error());
  Json violations = Json::array();
  for (const dump::Finding& f : found->findings)
    violations.push_back({{"rule", f.rule}, {"what", f.what}, {"work", f.work}});
  const MaybeError refused = dump::why_refused(*found);
  const Json json = {{"name", found->name},
                     {"checked", found->not_checked.empty()},
                     {"reason", found->not_checked},
                     {"violations", violations},
                     {"notes", found->notes},
                     {"at_fault", found->culprit},
                     {"diagnosis", found->diagnosis},
                     {"refusal", refused ? refused->message : ""},
                     {"refusal_status", refused ? failure_of(*refused).status : MLA_OK},
                     {"bug", refused ? refused->bug : ""}};
  return answer(out, json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

std::optional<Failure> show_plan(const char* document, const char** out) {
  if (document == nullptr) return usage("the document is NULL");
  const auto dumped = dump::parse_dump(document);
  if (!dumped) return failure_of(dumped.error());
  const auto found = dump::check(*dumped);
  if (!found) return failure_of(found.error());
  const auto drawn = app::draw_dump(*dumped, *found);
  if (!drawn) return failure_of(drawn.error());
  return answer(out, show::plan_page(*drawn));
}

}  // namespace
}  // namespace mla::c_api

extern "C" int mla_check_plan(const char* document, const char** json) {
  return mla_check_bundle(document, nullptr, 0, json);
}

extern "C" int mla_show_plan(const char* document, const char** html) {
  return mla::c_api::at_border([&] { return mla::c_api::show_plan(document, html); });
}

extern "C" int mla_check_bundle(const char* document, const mla_array* arrays, int64_t count,
                                const char** json) {
  return mla::c_api::at_border(
      [&] { return mla::c_api::check_bundle(document, arrays, count, json); });
}
