#include "properties/step/property.hpp"

#include "core/say.hpp"

namespace mla::prop {

std::optional<std::string> never_applies(const Property& property, const Backend& backend,
                                         std::optional<Arch> arch) {
  if (property.only_on && arch && *arch != *property.only_on)
    return say(name(*arch), " has no ", property.only_what);
  if (!property.check.about_steps) return std::nullopt;
  std::string missing;
  for (const StepKind kind : kStepKinds) {
    if (!property.check.kinds[static_cast<std::size_t>(kind)]) continue;
    if (!backend.device(kind).empty()) return std::nullopt;
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
