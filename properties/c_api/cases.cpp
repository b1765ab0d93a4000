// Cases through the C interface: lines in, lines and JSON out.
#include <string>

#include "core/say.hpp"
#include "properties/app/memory.hpp"
#include "properties/app/planned_step.hpp"
#include "properties/c_api/options.hpp"
#include "properties/c_api/texts.hpp"
#include "properties/generate/arbitrary_case.hpp"
#include "properties/generate/shrink.hpp"

namespace mla::c_api {
namespace {

using MaybeFailure = std::optional<Failure>;

MaybeFailure canonical(const char* line, const char** out) {
  const auto c = case_of(line);
  if (!c) return failure_of(c.error());
  return answer(out, format_case(*c));
}

MaybeFailure draw(std::uint64_t seed, std::int64_t number, std::int64_t production,
                  const char** out) {
  if (auto bad = check_fields({{"number", number, 0, std::int64_t{1} << 62}})) return bad;
  if (auto bad = check_flags({{"production", production}})) return bad;
  return answer(out, format_case(prop::nth_case(seed, number, production != 0)));
}

MaybeFailure simpler(const char* line, const char** out) {
  const auto c = case_of(line);
  if (!c) return failure_of(c.error());
  std::string lines;
  for (const Case& one : prop::simpler_cases(*c)) lines += format_case(one) + "\n";
  return answer(out, std::move(lines));
}

MaybeFailure plan_case(const char* line, std::int64_t as_aiter, const char** out) {
  if (auto bad = check_flags({{"as_aiter", as_aiter}})) return bad;
  const auto c = case_of(line);
  if (!c) return failure_of(c.error());
  if (!c->later_steps.empty())
    return usage(say("the case is a sequence of ", c->later_steps.size() + 1,
                     " steps; expected a single step"));
  if (const MaybeError bad = app::check_list_memory(*c)) return failure_of(*bad);
  const auto fidelity = as_aiter != 0 ? plan::Fidelity::as_aiter : plan::Fidelity::safe;
  const auto step = app::plan_step_of(*c, fidelity);
  if (!step) return failure_of(step.error());
  return answer(out, step->document);
}

}  // namespace

Result<Case> case_of(const char* line) {
  if (line == nullptr) return Error{ErrorCode::usage, "the case is NULL"};
  return parse_case(line);
}

std::optional<Failure> answer(const char** out, std::string text) {
  if (out == nullptr) return usage("there is no place for the answer: it is NULL");
  *out = keep_text(std::move(text));
  return std::nullopt;
}

}  // namespace mla::c_api

extern "C" {

int mla_case_canonical(const char* line, const char** canonical) {
  return mla::c_api::at_border([&] { return mla::c_api::canonical(line, canonical); });
}
int mla_case_draw(uint64_t seed, int64_t number, int64_t production, const char** line) {
  return mla::c_api::at_border([&] { return mla::c_api::draw(seed, number, production, line); });
}
int mla_case_simpler(const char* line, const char** lines) {
  return mla::c_api::at_border([&] { return mla::c_api::simpler(line, lines); });
}
int mla_case_plan(const char* line, int64_t as_aiter, const char** json) {
  return mla::c_api::at_border([&] { return mla::c_api::plan_case(line, as_aiter, json); });
}
}
