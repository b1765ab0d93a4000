// The kernels that AITER ships, as data, and the look-up that an engine's router has to agree with.
//
// Source: mla_asm.csv of the snapshot as resolved by asm_mla.cu (aiter.md 4,
// vllm_metadata.md 1.10). A shape without a kernel gives no entry.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/arch.hpp"

namespace mla {

struct KernelEntry {
  std::string_view label;  // the kernel, or its packing
  Arch arch;
  DtypePair dtype;
  std::int64_t heads;       // query heads before folding
  std::int64_t min_qo_len;  // rows
  std::int64_t max_qo_len;  // rows; kAnyQoLen: no limit
  bool lse;                 // a build exists that returns the final LSE
  bool non_causal;          // a build without mask exists for several rows (one row never needs it)
  bool masks;               // the kernel masks by itself; otherwise only kv_end limits a row

  bool operator==(const KernelEntry&) const = default;
};
inline constexpr std::int64_t kAnyQoLen = 1 << 20;

// The persistent kernel for `heads` kernel heads and `qo_len` rows, or nothing.
std::optional<KernelEntry> find_persistent_kernel(Arch arch, DtypePair dtype, std::int64_t heads,
                                                  std::int64_t qo_len);

// The non-persistent kernel for the same, or nothing.
std::optional<KernelEntry> find_split_kernel(Arch arch, DtypePair dtype, std::int64_t heads,
                                             std::int64_t qo_len);

// Whether a build exists for keys that are dealt out to ranks one by one (cprr in mla_asm.csv),
// which a launch with g_kv_indptr asks for.
bool takes_ranks(const KernelEntry& kernel);

std::span<const KernelEntry> persistent_kernels();
std::span<const KernelEntry> split_kernels();

}  // namespace mla
