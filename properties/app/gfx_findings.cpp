#include "properties/app/gfx_findings.hpp"

#include "core/say.hpp"
#include "core/text.hpp"
#include "hip_backend/gfx_emulator/check/wait_states.hpp"
#include "hip_backend/gfx_emulator/isa/format.hpp"
#include "hip_backend/gfx_emulator/object/lds_limit.hpp"
#include "hip_backend/gfx_emulator/report/profile.hpp"

namespace mla::app {
namespace {

using Json = nlohmann::ordered_json;

Json place_json(const gfx::CodeObject& object, std::uint32_t at) {
  return {{"place", object.place(at)}, {"pc", hex(at)}, {"instruction", gfx::text_at(object, at)}};
}

// The fields that every finding has.
Json common_json(const gfx::CodeObject& object, const char* problem, std::uint32_t at,
                 const std::optional<gfx::SourceLine>& source) {
  Json out = {{"problem", problem}};
  out.update(place_json(object, at));
  out["source"] = source ? Json(source->text()) : Json(nullptr);
  if (source && !source->inlined.empty()) out["inlined_from"] = source->inlined;
  return out;
}

std::string begin_of(const gfx::CodeObject& object, const char* problem, std::uint32_t at,
                     const std::optional<gfx::SourceLine>& source) {
  return say(problem, ": ", object.place(at), " `", gfx::text_at(object, at), "`",
             source ? " (" + source->full_text() + ")" : "", ": ");
}

GfxFinding finding_of(const gfx::CodeObject& object, const gfx::MissingWait& m) {
  constexpr const char* problem = "missing-wait";
  const auto source = object.source(m.use);
  Json json = common_json(object, problem, m.use, source);
  json["registers"] = m.registers;
  json["use"] = m.overwritten ? "overwritten" : "read";
  json["load"] = place_json(object, m.load);
  json["counter"] = m.counter;
  json["missing"] = m.wait;
  std::string line = say(begin_of(object, problem, m.use, source), m.registers,
                         m.overwritten ? " is overwritten" : " is read",
                         " while a load of it is outstanding on some path; the load is `",
                         gfx::text_at(object, m.load), "` at ", object.place(m.load), "; counter ",
                         m.counter, "; missing: ", m.wait);
  return {problem, object.place(m.use), std::move(line), source, std::move(json)};
}

GfxFinding finding_of(const gfx::CodeObject& object, const gfx::MissingStates& m) {
  constexpr const char* problem = "missing-wait-states";
  const auto source = object.source(m.use);
  const std::string nop = say("s_nop ", m.needed - m.found - 1);
  Json json = common_json(object, problem, m.use, source);
  json["what"] = m.what;
  json["producer"] = place_json(object, m.producer);
  json["needed"] = m.needed;
  json["found"] = m.found;
  json["missing"] = nop;
  std::string line =
      say(begin_of(object, problem, m.use, source), m.what, " ", m.found, " wait states after `",
          gfx::text_at(object, m.producer), "` at ", object.place(m.producer),
          " on some path; needed: ", m.needed, "; missing: ", nop);
  return {problem, object.place(m.use), std::move(line), source, std::move(json)};
}

GfxFinding too_much_lds(const gfx::Kernel& kernel, std::uint64_t limit) {
  constexpr const char* problem = "lds-above-limit";
  const std::uint64_t bytes = kernel.group_segment_size;
  return {problem,
          kernel.name,
          say(problem, ": ", kernel.name, " has ", bytes, " bytes of LDS, a workgroup has at most ",
              limit),
          std::nullopt,
          {{"problem", problem}, {"place", kernel.name}, {"bytes", bytes}, {"limit", limit}}};
}

}  // namespace

GfxFindings gfx_findings(const gfx::CodeObject& object, const gfx::Kernel& kernel) {
  GfxFindings out;
  out.report = gfx::check_waits(object, kernel);
  const std::uint64_t limit = gfx::lds_limit(object.arch());
  out.lds = kernel.group_segment_size > limit;
  if (out.lds) out.findings.push_back(too_much_lds(kernel, limit));
  for (const auto& m : out.report.missing) out.findings.push_back(finding_of(object, m));
  for (const auto& m : gfx::check_wait_states(object, kernel)) {
    out.findings.push_back(finding_of(object, m));
    ++out.states;
  }
  return out;
}

}  // namespace mla::app
