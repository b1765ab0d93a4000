// HostSeqLens: the KV lengths on the host, where a step paid for bringing them there.
//
// A step of decodes does not (P21), so no caller may take them for granted: there is no operator*,
// no value(), no index. Both answers to "are they here?" have to be written down to look inside.
// Source: vLLM #41942. Units: tokens.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace mla::fa {

class HostSeqLens {
 public:
  static HostSeqLens absent() { return HostSeqLens(std::nullopt); }
  static HostSeqLens copied(std::vector<std::int64_t> lengths) {
    return HostSeqLens(std::move(lengths));
  }

  // present(std::span<const std::int64_t>) or absent(), whichever is the case.
  template <class Present, class Absent>
  auto visit(Present present, Absent absent) const {
    return lengths_ ? present(std::span<const std::int64_t>(*lengths_)) : absent();
  }

 private:
  explicit HostSeqLens(std::optional<std::vector<std::int64_t>> lengths)
      : lengths_(std::move(lengths)) {}
  std::optional<std::vector<std::int64_t>> lengths_;
};

}  // namespace mla::fa
