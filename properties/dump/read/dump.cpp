#include "properties/dump/read/dump.hpp"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/say.hpp"
#include "properties/dump/read/formats.hpp"
#include "properties/dump/read/parts.hpp"
#include "properties/files/json_fields.hpp"
#include "properties/files/parse_json.hpp"

namespace mla::dump {
namespace {

using files::Fields;
using nlohmann::json;

bool is_prefill(const json& object) {
  return object.value("format", json()) == "mla-testbed prefill 1" ||
         object.contains("pages_kv_indptr") || object.contains("context_lens");
}

Result<PrefillDump> read_prefill(const json& object) {
  if (!has_plan(object)) return PrefillDump{};
  auto call = read_planned_prefill_call(object);
  if (!call) return call.error();
  // This planner writes every element of its buffers, zeros after the plan.
  auto found = read_plan(object, 0);
  if (!found) return found.error();
  return PrefillDump{PrefillPlan{std::move(*call), std::move(*found)}};
}

// Of the cache's rows, as the fields of a case; a dump without them is of 512 + 64.
RowWidths read_widths(Fields& fields) {
  const std::int64_t latent = fields.number_or("latent", kBuiltIn.latent().count());
  const std::int64_t rope = fields.number_or("rope", kBuiltIn.rope().count());
  const RowWidths widths(LatentDims(latent), RopeDims(rope),
                         ValueDims(fields.number_or("value", latent)));
  if (const std::string why = impossible(widths); !why.empty())
    fields.reject("latent", "is such that " + why);
  return widths;
}

Result<Cache> read_cache(const json& object) {
  constexpr const char* kPages = "num_pages";
  Fields fields(object);
  Cache cache;
  cache.pages = fields.if_given(kPages, &Fields::number);
  if (cache.pages.value_or(0) < 0)
    fields.reject(kPages, say("is ", *cache.pages, ": it must not be negative"));
  cache.widths = read_widths(fields);
  cache.prefix_caching = fields.if_given("prefix_caching", &Fields::truth);
  cache.kv_indices = fields.if_given("kv_indices", &Fields::words);
  if (!fields.error().empty()) return Error{ErrorCode::usage, fields.error()};
  cache.of_engine = !object.contains("decisions");
  return cache;
}

Scale read_scale(const json& object, const std::string& key, float absent) {
  Scale scale{.value = absent, .text = {}, .shape = {}};
  if (const auto shape = object.find(key + "_shape"); shape != object.end())
    scale.shape = files::shown(*shape);
  const auto given = object.find(key);
  if (given == object.end()) return scale;
  scale.text = files::shown(*given);
  const float value = given->is_number() ? given->get<float>() : NAN;
  scale.value = std::isfinite(value) ? value : NAN;
  return scale;
}

std::vector<std::pair<std::string, std::string>> read_decisions(const json& object) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto decisions = object.find("decisions");
  if (decisions == object.end() || !decisions->is_object()) return out;
  for (const char* key : {"route", "route_reason", "kernel"})
    if (const auto found = decisions->find(key); found != decisions->end() && found->is_string())
      out.emplace_back(key, found->get<std::string>());
  return out;
}

Result<DecodeDump> read_decode(const json& object) {
  auto call = read_planner_call(object);
  if (!call) return call.error();
  auto cache = read_cache(object);
  if (!cache) return cache.error();
  auto schedule = read_schedule(object);
  if (!schedule) return schedule.error();
  DecodeDump dump;
  dump.planned = {.call = std::move(*call),
                  .cache = std::move(*cache),
                  .plan = {},
                  .kv_scale = read_scale(object, "kv_scale", 1),
                  .schedule = std::move(*schedule)};
  if (has_plan(object)) dump.planned.plan = read_plan(object);
  if (has_launch(object)) dump.launch = read_launch(object, dump.planned.plan);
  dump.softmax_scale = read_scale(object, "softmax_scale", 0);
  dump.q_scale = read_scale(object, "q_scale", 1);
  dump.decisions = read_decisions(object);
  return dump;
}

// Bytes of a row if it is packed. Elements alone are 576 at most, so that no other row is as wide.
std::int64_t packed_row(const io::RawArray& cache) {
  if (cache.width != 1 || cache.shape.size() < 2) return 0;
  const std::int64_t last = cache.shape.back();
  return packed_name(last).empty() ? 0 : last;
}

// What the dumped tensors say of the cache: which pages they hold, or all.
void read_cache_tensors(DecodeDump& dump) {
  Cache& cache = dump.planned.cache;
  const auto found = dump.tensors.find("kv_cache");
  if (found == dump.tensors.end()) return;
  cache.packed_row = packed_row(found->second);
  const auto pages = dump.tensors.find("kv_cache_pages");
  if (pages != dump.tensors.end()) {
    if (auto ids = io::integers_of(pages->second)) cache.dumped = std::move(*ids);
    return;
  }
  const plan::PlanInput& in = dump.planned.call.input;
  const std::int64_t page =
      in.page_size *
      (cache.packed_row > 0 ? cache.packed_row : cache.widths.key().count() * found->second.width);
  if (!cache.pages && page > 0) cache.pages = std::ssize(found->second.bytes) / page;
}

template <class Step>
Result<Dump> named(std::string name, Result<Step> step) {
  if (!step) return step.error();
  return Dump{std::move(name), std::move(*step)};
}

}  // namespace

Result<Dump> read_dump(const json& object, std::size_t place) {
  const auto given = object.find("name");
  std::string name =
      given != object.end() && given->is_string() ? given->get<std::string>() : say("plan ", place);
  if (const MaybeError bad = check_plan_format(object)) return *bad;
  if (is_prefill(object)) return named(std::move(name), read_prefill(object));
  if (object.value("format", json()) == json(kFaFormat)) return Dump{std::move(name), FaDump{}};
  return named(std::move(name), read_decode(object));
}

Result<Dump> parse_dump(std::string_view document) {
  const auto parsed = files::parse_json(document);
  if (!parsed) return Error{ErrorCode::usage, "the document " + parsed.error().message};
  if (!parsed->is_object()) return Error{ErrorCode::usage, "the document is no JSON object"};
  return read_dump(*parsed, 0);
}

void take_tensors(Dump& dump, std::map<std::string, io::RawArray> arrays) {
  auto* step = std::get_if<DecodeDump>(&dump.step);
  if (step == nullptr) return;
  step->tensors = std::move(arrays);
  read_cache_tensors(*step);
}

Result<Dump> read_dump(Bundle bundle) {
  const auto object = document_of(bundle);
  if (!object) return object.error();
  auto dump = read_dump(*object, 0);
  if (!dump) return dump;
  take_tensors(*dump, std::move(bundle.arrays));
  return dump;
}

}  // namespace mla::dump
