// What may be changed about a bundle: damages, with what check() has to say of each, and legal
// changes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/case/case.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/dump/read/bundle.hpp"

namespace mla::test {

using List = std::vector<std::int32_t>;

// A bundle that a claim changes.
class Changed {
 public:
  Changed(const dump::Bundle& bundle, const Case& c, prop::Random& random)
      : bundle_(bundle), spec_(c), random_(random) {}
  [[nodiscard]] const dump::Bundle& bundle() const { return bundle_; }
  [[nodiscard]] const Case& spec() const { return spec_; }
  prop::Random& random() { return random_; }

  [[nodiscard]] List list(const char* name) const {
    const auto words = *io::integers_of(bundle_.arrays.at(name));
    return {words.begin(), words.end()};
  }
  void set(const char* name, const List& words) { bundle_.arrays[name] = io::raw_words(words); }
  io::RawArray& tensor(const char* name) { return bundle_.arrays.at(name); }
  [[nodiscard]] std::int64_t scalar(const char* name) const {
    return bundle_.scalars->at(name).get<std::int64_t>();
  }
  void set_scalar(const char* name, const nlohmann::ordered_json& value) {
    nlohmann::ordered_json scalars = *bundle_.scalars;
    scalars[name] = value;
    bundle_.scalars = std::make_shared<const nlohmann::ordered_json>(std::move(scalars));
  }
  [[nodiscard]] bool planned() const { return bundle_.arrays.contains("work_info"); }
  [[nodiscard]] std::int64_t works() const { return planned() ? list("work_indptr").back() : 0; }

  // A live entry of kv_indices: (entry, request, which of its pages); nothing without one.
  struct Page {
    std::int64_t entry, request, place;
  };
  std::optional<Page> any_page() {
    const List starts = list("seqlens_kv_indptr");
    if (starts.back() == 0) return std::nullopt;
    return page_at(random_.below(starts.back()));
  }
  [[nodiscard]] Page page_at(std::int64_t entry) const {
    const List starts = list("seqlens_kv_indptr");
    const auto end = std::upper_bound(starts.begin(), starts.end(), entry);
    return {entry, end - starts.begin() - 1, entry - *(end - 1)};
  }

 private:
  dump::Bundle bundle_;
  const Case& spec_;
  prop::Random& random_;
};

// What check() says of a damage: rule and part of its first finding, and how the diagnosis begins.
// Nothing: any.
struct Expected {
  std::string rule, what, culprit, diagnosis;
};
using MaybeExpected = std::optional<Expected>;  // nothing: the bundle has no such word

struct BundleDamage {
  const char* name;
  MaybeExpected (*apply)(Changed&);
};
std::span<const BundleDamage> bundle_damages();

// `apply` says whether the bundle has what it changes.
struct BundleFreedom {
  const char* name;
  bool (*apply)(Changed&);
};
std::span<const BundleFreedom> bundle_freedoms();

}  // namespace mla::test
