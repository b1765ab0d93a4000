#include "core/shape/kernel_table.hpp"

#include <algorithm>
#include <string>

namespace mla {
namespace {

constexpr DtypePair kBf16{Dtype::bf16, Dtype::bf16};
constexpr DtypePair kMixed{Dtype::bf16, Dtype::fp8};
constexpr DtypePair kFp8{Dtype::fp8, Dtype::fp8};
constexpr auto k942 = Arch::gfx942;
constexpr auto k950 = Arch::gfx950;

// label, arch, dtype, heads, rows from, rows to, lse, non-causal, masks
constexpr KernelEntry kPersistent[] = {
    {"a16w16 subQ16_mqa16", k942, kBf16, 8, 2, 2, false, false, true},
    {"a16w16 qh16_m16x4", k942, kBf16, 16, 1, 4, false, false, true},
    {"a16w16 qh16_m16x4 folded", k942, kBf16, 32, 1, 4, false, false, true},
    {"a16w16 qh16_m16x4 folded", k942, kBf16, 48, 1, 4, false, false, true},
    {"a16w16 qh16_m16x4 folded", k942, kBf16, 64, 1, 4, false, false, true},
    {"a16w16 qh16_m16x4 folded", k942, kBf16, 80, 1, 4, false, false, true},
    {"a16w16 qh16_m16x4 folded", k942, kBf16, 96, 1, 4, false, false, true},
    {"a16w16 qh16_m16x4 folded", k942, kBf16, 112, 1, 4, false, false, true},
    {"a16w16 qh16_m16x4 folded", k942, kBf16, 128, 1, 4, false, false, true},

    {"a8w8 qh16_qseqlen1", k942, kFp8, 16, 1, 1, false, false, true},
    {"a8w8 qh16_qseqlen2", k942, kFp8, 16, 2, 2, false, false, true},
    {"a8w8 qh64_qseqlen4", k942, kFp8, 16, 3, 4, false, false, true},
    {"a8w8 qh16_qseqlen1 folded", k942, kFp8, 32, 1, 1, false, false, true},
    {"a8w8 qh16_qseqlen2 folded", k942, kFp8, 32, 2, 2, false, false, true},
    {"a8w8 qh64_qseqlen4 folded", k942, kFp8, 32, 3, 4, false, false, true},
    {"a8w8 qh16_qseqlen1 folded", k942, kFp8, 48, 1, 1, false, false, true},
    {"a8w8 qh16_qseqlen2 folded", k942, kFp8, 48, 2, 2, false, false, true},
    {"a8w8 qh64_qseqlen4 folded", k942, kFp8, 48, 3, 4, false, false, true},
    {"a8w8 qh64_qseqlen1_v3", k942, kFp8, 64, 1, 1, true, false, true},
    {"a8w8 qh16_qseqlen2 folded", k942, kFp8, 64, 2, 2, false, false, true},
    {"a8w8 qh64_qseqlen4 folded", k942, kFp8, 64, 3, 4, false, false, true},
    {"a8w8 qh16_qseqlen1 folded", k942, kFp8, 80, 1, 1, false, false, true},
    {"a8w8 qh16_qseqlen2 folded", k942, kFp8, 80, 2, 2, false, false, true},
    {"a8w8 qh64_qseqlen4 folded", k942, kFp8, 80, 3, 4, false, false, true},
    {"a8w8 qh16_qseqlen1 folded", k942, kFp8, 96, 1, 1, false, false, true},
    {"a8w8 qh16_qseqlen2 folded", k942, kFp8, 96, 2, 2, false, false, true},
    {"a8w8 qh64_qseqlen4 folded", k942, kFp8, 96, 3, 4, false, false, true},
    {"a8w8 qh16_qseqlen1 folded", k942, kFp8, 112, 1, 1, false, false, true},
    {"a8w8 qh16_qseqlen2 folded", k942, kFp8, 112, 2, 2, false, false, true},
    {"a8w8 qh64_qseqlen4 folded", k942, kFp8, 112, 3, 4, false, false, true},
    {"a8w8 qh128_m32x4", k942, kFp8, 128, 1, kAnyQoLen, false, false, false},

    {"a16w8 qh16_m16x4", k942, kMixed, 16, 1, 4, false, false, true},
    {"a16w8 qh16_m16x4 folded", k942, kMixed, 32, 1, 4, false, false, true},
    {"a16w8 qh16_m16x4 folded", k942, kMixed, 48, 1, 4, false, false, true},
    {"a16w8 qh16_m16x4 folded", k942, kMixed, 64, 1, 4, false, false, true},
    {"a16w8 qh16_m16x4 folded", k942, kMixed, 80, 1, 4, false, false, true},
    {"a16w8 qh16_m16x4 folded", k942, kMixed, 96, 1, 4, false, false, true},
    {"a16w8 qh16_m16x4 folded", k942, kMixed, 112, 1, 4, false, false, true},
    {"a16w8 qh16_m16x4 folded", k942, kMixed, 128, 1, 4, false, false, true},
    {"a16w8 qh16_m16x4", k950, kMixed, 16, 1, 4, false, false, true},
    {"a16w8 qh16_m16x4 folded", k950, kMixed, 32, 1, 4, false, false, true},
    {"a16w8 qh16_m16x4 folded", k950, kMixed, 48, 1, 4, false, false, true},
    {"a16w8 qh16_m16x4 folded", k950, kMixed, 64, 1, 4, false, false, true},
    {"a16w8 qh16_m16x4 folded", k950, kMixed, 80, 1, 4, false, false, true},
    {"a16w8 qh16_m16x4 folded", k950, kMixed, 96, 1, 4, false, false, true},
    {"a16w8 qh16_m16x4 folded", k950, kMixed, 112, 1, 4, false, false, true},
    {"a16w8 qh16_m16x4 folded", k950, kMixed, 128, 1, 4, false, false, true},

    {"a16w16 qh64_qseqlen1_v3", k950, kBf16, 8, 8, 8, true, true, true},
    {"a16w16 qh64_qseqlen1_v3", k950, kBf16, 16, 1, 7, true, true, true},
    {"a16w16 qh32_qseqlen4", k950, kBf16, 16, 8, kAnyQoLen, true, true, true},
    {"a16w16 qh64_qseqlen1_v3", k950, kBf16, 24, 1, 1, true, true, true},  // several rows are wrong
    {"a16w16 qh64_qseqlen1_v3", k950, kBf16, 32, 1, 3, true, true, true},
    {"a16w16 qh32_qseqlen4", k950, kBf16, 32, 4, kAnyQoLen, true, true, true},
    {"a16w16 qh64_qseqlen1_v3", k950, kBf16, 48, 1, kAnyQoLen, true, true, true},
    {"a16w16 qh64_qseqlen1_v3", k950, kBf16, 64, 1, 1, true, true, true},
    {"a16w16 qh32_qseqlen4", k950, kBf16, 64, 2, kAnyQoLen, true, true, true},
    {"a16w16 qh32_qseqlen4", k950, kBf16, 80, 1, kAnyQoLen, true, true, true},
    {"a16w16 qh32_qseqlen4", k950, kBf16, 96, 1, kAnyQoLen, true, true, true},
    {"a16w16 qh32_qseqlen4", k950, kBf16, 112, 1, kAnyQoLen, true, true, true},
    {"a16w16 qh32_qseqlen4", k950, kBf16, 128, 1, kAnyQoLen, true, true, true},

    {"a8w8 qh32_qseqlen4_gqaratio8", k950, kFp8, 8, 4, 4, true, true, true},
    {"a8w8 qh16_qseqlen1", k950, kFp8, 16, 1, 1, true, true, true},
    {"a8w8 qh16_qseqlen2", k950, kFp8, 16, 2, 2, false, false, true},
    {"a8w8 qh16_qseqlen4_v3", k950, kFp8, 16, 3, 4, true, true, true},
    {"a8w8 qh32_qseqlen4", k950, kFp8, 16, 5, kAnyQoLen, true, true, true},
    {"a8w8 qh16_qseqlen1 folded", k950, kFp8, 48, 1, 1, true, true, true},
    {"a8w8 qh16_qseqlen2 folded", k950, kFp8, 48, 2, 2, false, false, true},
    {"a8w8 qh16_qseqlen4_v3 folded", k950, kFp8, 48, 3, 4, true, true, true},
    {"a8w8 qh32_qseqlen4 folded", k950, kFp8, 48, 5, kAnyQoLen, true, true, true},
    {"a8w8 qh16_qseqlen1 folded", k950, kFp8, 80, 1, 1, true, true, true},
    {"a8w8 qh16_qseqlen2 folded", k950, kFp8, 80, 2, 2, false, false, true},
    {"a8w8 qh16_qseqlen4_v3 folded", k950, kFp8, 80, 3, 4, true, true, true},
    {"a8w8 qh32_qseqlen4 folded", k950, kFp8, 80, 5, kAnyQoLen, true, true, true},
    {"a8w8 qh16_qseqlen1 folded", k950, kFp8, 96, 1, 1, true, true, true},
    {"a8w8 qh16_qseqlen2 folded", k950, kFp8, 96, 2, 2, false, false, true},
    {"a8w8 qh16_qseqlen4_v3 folded", k950, kFp8, 96, 3, 4, true, true, true},
    {"a8w8 qh32_qseqlen4 folded", k950, kFp8, 96, 5, kAnyQoLen, true, true, true},
    {"a8w8 qh16_qseqlen1 folded", k950, kFp8, 112, 1, 1, true, true, true},
    {"a8w8 qh16_qseqlen2 folded", k950, kFp8, 112, 2, 2, false, false, true},
    {"a8w8 qh16_qseqlen4_v3 folded", k950, kFp8, 112, 3, 4, true, true, true},
    {"a8w8 qh32_qseqlen4 folded", k950, kFp8, 112, 5, kAnyQoLen, true, true, true},
    {"a8w8 qh32_qseqlen1", k950, kFp8, 32, 1, 1, true, true, true},
    {"a8w8 qh16_qseqlen4_v3", k950, kFp8, 32, 2, 3, true, true, true},
    {"a8w8 qh32_qseqlen4", k950, kFp8, 32, 4, kAnyQoLen, true, true, true},
    {"a8w8 qh16_qseqlen4_v3", k950, kFp8, 64, 1, 1, true, true, true},
    {"a8w8 qh32_qseqlen4", k950, kFp8, 64, 2, kAnyQoLen, true, true, true},
    {"a8w8 qh32_qseqlen4", k950, kFp8, 128, 1, kAnyQoLen, true, true, true},
};

// The rows that AITER's dispatch takes. With 16 heads fewer rows run on the kernel for 4, and bf16
// with any more on that for 8.
constexpr KernelEntry kSplit[] = {
    {"a16w16 gqa8 q1", k942, kBf16, 8, 1, 1, false, false, true},
    {"a16w16 gqa16 q1", k942, kBf16, 16, 1, 1, false, false, true},
    {"a16w16 gqa16 q4", k942, kBf16, 16, 2, 4, false, false, true},
    {"a16w16 gqa16 q8", k942, kBf16, 16, 5, kAnyQoLen, false, false, true},
    {"a16w16 gqa32", k942, kBf16, 32, 1, kAnyQoLen, false, false, true},
    {"a16w16 gqa128", k942, kBf16, 128, 1, kAnyQoLen, false, false, true},
    {"a8w8 gqa8 q1", k942, kFp8, 8, 1, 1, false, false, true},
    {"a8w8 gqa16 q1", k942, kFp8, 16, 1, 1, false, false, true},
    {"a8w8 gqa16 q2", k942, kFp8, 16, 2, 2, false, false, true},
    {"a8w8 gqa16 q4", k942, kFp8, 16, 3, 4, false, false, true},
    {"a8w8 gqa128", k942, kFp8, 128, 1, kAnyQoLen, false, false, true},
    {"a16w16 gqa8 q1", k950, kBf16, 8, 1, 1, false, false, true},
    {"a16w16 gqa8 q2", k950, kBf16, 8, 2, 2, false, false, true},
    {"a16w16 gqa16 q1", k950, kBf16, 16, 1, 1, false, false, true},
    {"a16w16 gqa16 q4", k950, kBf16, 16, 2, 4, false, false, true},
    {"a16w16 gqa16 q8", k950, kBf16, 16, 5, kAnyQoLen, false, false, true},
    {"a16w16 gqa32", k950, kBf16, 32, 1, kAnyQoLen, false, false, true},
    {"a16w16 gqa64 q1", k950, kBf16, 64, 1, 1, false, false, true},  // several rows fault
    {"a16w16 gqa128", k950, kBf16, 128, 1, kAnyQoLen, false, false, true},
    {"a8w8 gqa8 q1", k950, kFp8, 8, 1, 1, false, false, true},
    {"a8w8 gqa16 q1", k950, kFp8, 16, 1, 1, false, false, true},
    {"a8w8 gqa16 q2", k950, kFp8, 16, 2, 2, false, false, true},
    {"a8w8 gqa16 q4", k950, kFp8, 16, 3, 4, false, true, true},
    {"a8w8 gqa128", k950, kFp8, 128, 1, kAnyQoLen, false, true, true},
};

std::optional<KernelEntry> find(std::span<const KernelEntry> table, Arch arch, DtypePair dtype,
                                std::int64_t heads, std::int64_t qo_len) {
  for (const KernelEntry& k : table)
    if (k.arch == arch && k.dtype == dtype && k.heads == heads && k.min_qo_len <= qo_len &&
        qo_len <= k.max_qo_len)
      return k;
  return std::nullopt;
}

}  // namespace

std::optional<KernelEntry> find_persistent_kernel(Arch arch, DtypePair dtype, std::int64_t heads,
                                                  std::int64_t qo_len) {
  return find(kPersistent, arch, dtype, heads, qo_len);
}

std::optional<KernelEntry> find_split_kernel(Arch arch, DtypePair dtype, std::int64_t heads,
                                             std::int64_t qo_len) {
  return find(kSplit, arch, dtype, heads, qo_len);
}

bool takes_ranks(const KernelEntry& kernel) {
  constexpr std::string_view kBuilds[] = {"a8w8 qh16_qseqlen4_v3", "a8w8 qh32_qseqlen4",
                                          "a16w16 qh32_qseqlen4", "a16w16 qh64_qseqlen1_v3"};
  return kernel.arch == Arch::gfx950 && std::ranges::any_of(kBuilds, [&](std::string_view build) {
           return kernel.label == build || kernel.label == std::string(build) + " folded";
         });
}

std::span<const KernelEntry> persistent_kernels() {
  return kPersistent;
}
std::span<const KernelEntry> split_kernels() {
  return kSplit;
}

}  // namespace mla
