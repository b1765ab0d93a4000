// ForwardingBackend: a backend that hands every call to another one; a subclass overrides the calls
// that it changes. The other backend outlives it.
#pragma once

#include <cstdint>
#include <string>

#include "core/engine/backend.hpp"
#include "core/lifetime.hpp"

namespace mla::prop {

class ForwardingBackend : public Backend {
 public:
  explicit ForwardingBackend(const Backend& inner MLA_LIFETIME_BOUND) : inner_(inner) {}
  [[nodiscard]] std::string_view name() const override { return inner_.name(); }
  [[nodiscard]] std::string_view device(StepKind kind) const override {
    return inner_.device(kind);
  }
  [[nodiscard]] Support supports(const ResolvedShape& shape) const override {
    return inner_.supports(shape);
  }
  [[nodiscard]] Result<DecodeResult> run(const DecodeLaunch& launch,
                                         const ExecutionOptions& options) const override {
    return inner_.run(launch, options);
  }
  [[nodiscard]] std::string timing(std::uint64_t seed) const override {
    return inner_.timing(seed);
  }
  [[nodiscard]] const prefill::Kernels* prefill_kernels() const override {
    return inner_.prefill_kernels();
  }
  [[nodiscard]] const fa::Kernels* fa_kernels() const override { return inner_.fa_kernels(); }
  [[nodiscard]] const plan::StepPlanner* planner() const override { return inner_.planner(); }
  [[nodiscard]] const Backend& inner() const { return inner_; }

 private:
  const Backend& inner_;
};

}  // namespace mla::prop
