// What an AITER installation offers, row by row of its manifests.
#include "hip_backend/aiter/installation.hpp"
#include "properties/app/support.hpp"

namespace mla::app {
namespace {

using hip::aiter::Installation;
using hip::aiter::ManifestRow;

SupportRow row_of(Installation& installation, Arch arch, const ManifestRow& row) {
  const auto yes_no = [](bool value) { return std::string(value ? "yes" : "no"); };
  const hip::aiter::RowKey& k = row.key;
  SupportRow out{{{"arch", std::string(name(arch))},
                  {"q", std::string(hip::aiter::name(k.q))},
                  {"kv", std::string(hip::aiter::name(k.kv))},
                  {"heads", std::to_string(k.heads)},
                  {"rows", k.qo_len == 0 ? "any" : std::to_string(k.qo_len)},
                  {"plan", yes_no(k.persistent)},
                  {"causal", yes_no(k.causal)},
                  {"lse", yes_no(k.lse)},
                  {"cprr", yes_no(k.cprr)}},
                 true,
                 k.prefill ? "prefill" : "decode",
                 row.file};
  if (const auto code = installation.code(arch, row.file); !code) {
    out.ok = false;
    out.reason += " (" + code.error().message + ")";
  }
  return out;
}

}  // namespace

Result<std::vector<SupportRow>> aiter_support(const std::string& directory,
                                              const std::string& arch) {
  const auto installation = Installation::open(directory);
  if (!installation) return installation.error();
  std::vector<SupportRow> rows;
  for (const Arch a : {Arch::gfx942, Arch::gfx950}) {
    const auto* manifest = (*installation)->manifest(a);
    if (manifest == nullptr || (!arch.empty() && arch != name(a))) continue;
    for (const ManifestRow& row : *manifest) rows.push_back(row_of(**installation, a, row));
  }
  if (rows.empty()) return Error{ErrorCode::fault, directory + " has no manifest for " + arch};
  return rows;
}

}  // namespace mla::app
