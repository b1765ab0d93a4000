// The list of all properties, by id. docs/reference/properties.md repeats it for readers; a test
// compares.
#include <algorithm>
#include <array>

#include "properties/claims/claims.hpp"
#include "properties/claims/support/canary.hpp"

namespace mla::prop {

std::span<const Property> all_properties() {
  static const std::array kAll{
      kP01, kP02, kP03, kP04, kP05, kP06, kP07, kP08, kP09, kP10, kP11, kP12, kP13, kP14, kP15,
      kP16, kP17, kP18, kP19, kP20, kP21, kP22, kP23, kP24, kP25, kP26, kP27, kP28, kP29, kP30,
      kP31, kP32, kP33, kP34, kP35, kP36, kP37, kP38, kP39, kP40, kP41, kP42, kP43, kP44, kP45};
  return kAll;
}

const Property* find_property(std::string_view id) {
  if (id == canary().id) return &canary();
  const auto all = all_properties();
  const auto found =
      std::find_if(all.begin(), all.end(), [id](const Property& p) { return p.id == id; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace mla::prop
