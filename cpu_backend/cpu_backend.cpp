#include "cpu_backend/cpu_backend.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "core/engine/launch.hpp"
#include "core/say.hpp"
#include "cpu_backend/decode/executor.hpp"
#include "cpu_backend/fa/kernels.hpp"
#include "cpu_backend/prefill/kernels.hpp"

namespace mla::cpu {
namespace {

const DataPath* path_of(Isa isa) {
  switch (isa) {
    case Isa::avx512_bf16:
      return avx512_bf16_path();
    case Isa::avx512:
      return avx512_path();
    case Isa::avx2:
      return avx2_path();
    case Isa::portable:
      break;
  }
  return &portable_path();
}

bool machine_has(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::avx512_bf16) {
    static const bool has = machine_has(Isa::avx512) && __builtin_cpu_supports("avx512bf16") != 0 &&
                            bf16_products_round_one_by_one();
    return has;
  }
  if (isa == Isa::avx512)
    return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
           __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0;
  if (isa == Isa::avx2)
    return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#endif
  return isa == Isa::portable;
}

// Whether vdpbf16ps, two products, takes no longer than one multiply-add: on AMD, where Zen 4 was
// the first to have it. On Intel (Emerald Rapids) it takes longer than two
// (docs/findings/measurements.md).
bool has_fast_bf16_products() {
#if defined(__x86_64__)
  return __builtin_cpu_is("amd") != 0;
#else
  return false;
#endif
}

class CpuBackend final : public Backend {
 public:
  CpuBackend(const DataPath& path, bool has_fa)
      : path_(path), prefill_(cpu::prefill_kernels(path)) {
    if (has_fa) fa_ = cpu::fa_kernels();
  }
  [[nodiscard]] std::string_view name() const override { return "cpu"; }
  [[nodiscard]] std::string_view device(StepKind kind) const override {
    if (kind != StepKind::fa) return path_.label;
    return fa_ ? kHost : "";
  }
  [[nodiscard]] Support supports(const ResolvedShape& shape) const override {
    return common_support(shape);
  }
  [[nodiscard]] Result<DecodeResult> run(const DecodeLaunch& launch,
                                         const ExecutionOptions& options) const override {
    return execute(path_, launch, options);
  }
  [[nodiscard]] std::string timing(std::uint64_t seed) const override {
    return say("slots and pieces in an order drawn from ", seed);
  }
  [[nodiscard]] const prefill::Kernels* prefill_kernels() const override { return &prefill_; }
  [[nodiscard]] const fa::Kernels* fa_kernels() const override { return fa_ ? &*fa_ : nullptr; }

 private:
  const DataPath& path_;
  const prefill::Kernels prefill_;
  std::optional<fa::Kernels> fa_;
};

}  // namespace

std::string_view name(Isa isa) {
  const DataPath* path = path_of(isa);
  if (path != nullptr) return path->label;
  if (isa == Isa::avx512_bf16) return "avx512-bf16";
  return isa == Isa::avx512 ? "avx512" : "avx2";
}

std::vector<Isa> available_isas() {
  std::vector<Isa> best_first = {Isa::avx512_bf16, Isa::avx512, Isa::avx2, Isa::portable};
  if (!has_fast_bf16_products()) std::swap(best_first[0], best_first[1]);
  std::erase_if(best_first, [](Isa isa) { return path_of(isa) == nullptr || !machine_has(isa); });
  return best_first;
}

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options) {
  const std::vector<Isa> isas = available_isas();
  if (std::find(isas.begin(), isas.end(), options.isa) == isas.end()) return nullptr;
  return std::make_unique<CpuBackend>(*path_of(options.isa), options.isa == Isa::portable);
}

const DataPath& best_path() {
  return *path_of(available_isas().front());
}

std::unique_ptr<Backend> make_cpu_backend() {
  return std::make_unique<CpuBackend>(best_path(), true);
}

}  // namespace mla::cpu
