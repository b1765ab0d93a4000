#include "properties/step/decode/built_step.hpp"

#include <algorithm>
#include <utility>

#include "core/say.hpp"

namespace mla::prop {
namespace {

std::optional<std::string> differ(const char* what, const std::vector<std::int32_t>& used,
                                  const std::vector<std::int32_t>& fresh, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    if (used[i] != fresh[i])
      return say(what, "[", i, "] is ", used[i], ", a fresh build has ", fresh[i]);
  return std::nullopt;
}

bool same_ranges(const std::vector<RowRange>& a, const std::vector<RowRange>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](RowRange x, RowRange y) { return x.begin == y.begin && x.end == y.end; });
}

}  // namespace

BuiltStep built_step(DecodeMetadata metadata, const DecodeBuffers& buffers) {
  BuiltStep built;
  built.buffers = buffers;
  built.live_pages = static_cast<std::size_t>(std::max(0, metadata.kv_indptr.back()));
  built.persistent = metadata.has_persistent_metadata();
  built.kv_lens = std::move(metadata.kv_lens);
  built.keyless = std::move(metadata.keyless_rows);
  built.plan = std::move(metadata.plan);
  return built;
}

std::optional<std::string> difference(const BuiltStep& used, const BuiltStep& fresh) {
  const DecodeBuffers& u = used.buffers;
  const DecodeBuffers& f = fresh.buffers;
  if (auto why = differ("qo_indptr", u.qo_indptr, f.qo_indptr, f.qo_indptr.size())) return why;
  if (auto why = differ("kv_indptr", u.kv_indptr, f.kv_indptr, f.kv_indptr.size())) return why;
  if (used.kv_lens != fresh.kv_lens) return "the KV lengths differ";
  if (auto why = differ("last_page_len", u.last_page_len, f.last_page_len, fresh.kv_lens.size()))
    return why;
  if (auto why = differ("kv_indices", u.kv_indices, f.kv_indices, fresh.live_pages)) return why;
  if (!same_ranges(used.keyless, fresh.keyless)) return "the keyless rows differ";
  if (used.persistent != fresh.persistent) return "only one of them has a plan";
  if (used.plan && !(*used.plan == *fresh.plan)) return "the plan differs from a fresh one";
  return std::nullopt;
}

}  // namespace mla::prop
