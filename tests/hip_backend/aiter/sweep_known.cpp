// What is known to fail, by the ids of docs/findings/aiter.md. An entry holds for every case of its
// rows whose line has both words; each of those cases must fail, and with the words listed.
#include "tests/hip_backend/aiter/sweep.hpp"

namespace mla::hip::aiter::test {
namespace {

constexpr auto k942 = Arch::gfx942;
constexpr auto k950 = Arch::gfx950;

constexpr Known kKnown[] = {
    {k942, "a8w8_qh64_qseqlen4_gqaratio16_ps.co", "scale=0.5/0.75", "", "the reference",
     "AITER-01"},
    {k942, "a8w8_qh8_qseqlen1_gqaratio8_v1.co", "scale=0.5/0.75", "", "the reference", "AITER-01"},

    {k942, "subQ128_mqa128.co", "1q2s", "", "the reference", "AITER-02"},
    {k942, "subQ128_mqa128.co", "1q4s", "", "the reference", "AITER-02"},
    {k950, "subQ128_mqa128.co", "1q2s", "", "the reference", "AITER-02"},
    {k950, "subQ128_mqa128.co", "1q4s", "", "the reference", "AITER-02"},
    {k950, "a16w16_qh8_qseqlen2_gqaratio8.co", "", "", "the reference", "AITER-02"},

    // The final output, at address 0 and after it: which workgroup comes first is not fixed.
    {k942, "4W_32mx1", " splits=1", "", "s[88:91], 0 offen`, address 0x", "AITER-04"},
    {k942, "4W_32mx1", "1q2s", "", "is nan", "AITER-03"},
    {k942, "4W_32mx1", "1q4s", "", "is nan", "AITER-03"},

    {k942, "4W_64mx1", " splits=1", "", "s[88:91], 0 offen`, address 0x", "AITER-04"},
    {k942, "4W_64mx1", "1q1s", " splits=auto", "write of 16 bytes", "AITER-07"},
    {k942, "4W_64mx1", "1q2s", "", "the reference", "AITER-02"},
    {k942, "4W_64mx1", "1q4s", "", "the reference", "AITER-02"},
    {k950, "4W_64mx1", " splits=1", "", "s[88:91], 0 offen`, address 0x", "AITER-04"},
    {k950, "4W_64mx1", "1q1s", " splits=auto", "write of 16 bytes", "AITER-07"},
    {k950, "4W_64mx1", "1q2s", "", "the reference", "AITER-02"},
    {k950, "4W_64mx1", "1q4s", "", "the reference", "AITER-02"},

    {k950, "a8w8_qh64_qseqlen4_gqaratio16", " splits=1", "", "out-of-bounds", "AITER-05"},
    {k950, "a8w8_qh64_qseqlen4_gqaratio16", "", "", "is nan", "AITER-05"},

    {k942, "a16w16_qh8_qseqlen1_gqaratio8_v3.co", " splits=1", "", "write of 8 bytes", "AITER-06"},
    {k950, "a16w16_qh8_qseqlen1_gqaratio8_v3.co", " splits=1", "", "write of 8 bytes", "AITER-06"},

    {k942, "a8w8_qh16_qseqlen2_gqaratio16.co", "s600_", "", "is nan", "AITER-07"},
    {k950, "a8w8_qh16_qseqlen2_gqaratio16.co", "s600_", "", "is nan", "AITER-07"},
    {k942, "a8w8_qh64_qseqlen4_gqaratio16.co", "s600_", "", "is nan", "AITER-07"},
    {k950, "4W_16mx4_32nx1", " splits=auto", "", "is nan", "AITER-07"},

    {k950, "a16w16_qh8_qseqlen2_gqaratio8_causal.co", "", "", "past the end of q", "AITER-08"},
    {k950, "a8w8_qh32_qseqlen1_gqaratio32_lse_ps.co", "s40_", "", "lse row", "AITER-09"},
    {k942, "page64_ds32", " tail=nan", "", "is nan", "AITER-11"},
    {k942, "page64_ds32", "1q2s65;", "", "the reference", "AITER-14"},
    {k942, "page64_ds32", "1q3s65;", "", "the reference", "AITER-14"},
    {k942, "page64_ds32", "1q4s65;", "", "the reference", "AITER-14"},
    {k950, "a8w8_qh16_qseqlen4_gqaratio16_", "s300_", "", "the reference", "AITER-10"},
};

}  // namespace

const Known* known_of(Arch arch, const ManifestRow& row, const std::string& line) {
  for (const Known& known : kKnown)
    if (known.arch == arch && row.file.find(known.kernel) != std::string::npos &&
        line.find(known.where) != std::string::npos && line.find(known.with) != std::string::npos)
      return &known;
  return nullptr;
}

}  // namespace mla::hip::aiter::test
