#include "properties/step/property.hpp"

#include "core/say.hpp"

namespace mla::prop {
namespace {

constexpr std::size_t index_of(StepKind kind) {
  return static_cast<std::size_t>(kind);
}

// Its claim about prefill steps is about what this architecture does not have.
bool lacks_fp8_prefill(const Property& property, std::optional<Arch> arch) {
  return property.prefill_steps == PrefillSteps::fp8 && arch && *arch != Arch::gfx950;
}

}  // namespace

StepKinds judged_kinds(const Property& property, const Backend& backend, std::optional<Arch> arch) {
  StepKinds judged = property.check.kinds;
  for (const StepKind kind : kStepKinds)
    if (backend.device(kind).empty()) judged[index_of(kind)] = false;
  if (lacks_fp8_prefill(property, arch)) judged[index_of(StepKind::prefill)] = false;
  return judged;
}

std::optional<std::string> never_applies(const Property& property, const Backend& backend,
                                         std::optional<Arch> arch) {
  if (!property.check.about_steps || judged_kinds(property, backend, arch) != StepKinds{})
    return std::nullopt;
  std::string missing;
  for (const StepKind kind : kStepKinds) {
    if (!property.check.kinds[index_of(kind)]) continue;
    if (!backend.device(kind).empty()) return say(name(*arch), " has no fp8 prefill");
    missing += (missing.empty() ? "" : " and no ") + step_name(kind);
  }
  return backend_name(backend) + " has no " + missing + " step";
}

std::string step_name(StepKind kind) {
  return kind == StepKind::fa ? "FA" : std::string(name(kind));
}

std::string lacks_step(const Backend& backend, StepKind kind) {
  return backend_name(backend) + " has no " + step_name(kind) + " step";
}

std::string backend_name(const Backend& backend) {
  return say("backend ", backend.name(), " on ", backend.device(StepKind::decode));
}

}  // namespace mla::prop
