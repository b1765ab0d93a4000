#include "properties/app/capture_case.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "properties/app/planned_step.hpp"
#include "properties/generate/tensors.hpp"
#include "properties/step/subject.hpp"

namespace mla::app {
namespace {

io::RawArray bits(std::vector<std::int64_t> shape, std::int64_t width,
                  std::span<const std::byte> bytes) {
  return {io::ElementKind::bits, width, std::move(shape), {bytes.begin(), bytes.end()}};
}

// Why a kernel does not see the requests and heads of the case; empty if it does.
std::string not_as_it_is(const ResolvedShape& shape) {
  if (shape.route == Route::persistent_rows) return "every row becomes a request";
  if (shape.heads.kernel != shape.heads.model) return "its heads are padded";
  if (shape.leading_rows > 0) return "its requests are raised";
  return {};
}

// The dumped pages are those that the live part of kv_indices names.
void add_cache(const DecodeMetadata& md, const KvCache& cache, dump::Bundle& bundle) {
  const std::int64_t live = md.kv_indptr.back();
  std::vector<std::int32_t> pages(md.kv_indices.begin(), md.kv_indices.begin() + live);
  std::sort(pages.begin(), pages.end());
  pages.erase(std::unique(pages.begin(), pages.end()), pages.end());
  const std::int64_t page_size = md.shape.page_size;
  const auto page_bytes = static_cast<std::size_t>(page_size * cache.row_bytes());
  std::vector<std::byte> bytes(pages.size() * page_bytes);
  for (std::size_t i = 0; i < pages.size(); ++i) {
    const std::int64_t slot = pages[i] * page_size - cache.first_slot;
    std::memcpy(&bytes[i * page_bytes],
                &cache.bytes[static_cast<std::size_t>(slot * cache.row_bytes())], page_bytes);
  }
  bundle.arrays["kv_indices"] = io::raw_words(md.kv_indices);
  bundle.arrays["kv_cache_pages"] = io::raw_words(pages);
  bundle.arrays["kv_cache"] = bits({std::ssize(pages), page_size, cache.widths.key().count()},
                                   element_bytes(cache.dtype), bytes);
}

}  // namespace

Result<dump::Bundle> capture_case(const Case& c, const Backend& backend,
                                  const prop::Interposer& hooks) {
  const auto planned = plan_decode_step(c, plan::Fidelity::safe, hooks);
  if (!planned) return planned.error();
  const auto batch = make_batch(c);
  if (!batch) return batch.error();
  prop::Subject subject(c, backend, &hooks);
  const auto& md = subject.metadata();
  if (!md) return md.error();
  if (const std::string why = not_as_it_is(md->shape); !why.empty())
    return Error{ErrorCode::unsupported, "the case is not what its kernel sees: " + why};
  const auto& tensors = subject.tensors();
  if (!tensors) return tensors.error();
  const auto& result = subject.result();
  if (!result) return result.error();
  dump::Bundle bundle = dump::bundle_of(planned->document);
  nlohmann::ordered_json scalars = *bundle.scalars;
  scalars["softmax_scale"] = tensors->softmax_scale;
  scalars["q_scale"] = tensors->q_scale;
  scalars["kv_scale"] = tensors->kv_scale;
  scalars["num_pages"] = (tensors->cache.first_slot + tensors->cache.slots) / md->shape.page_size;
  scalars["prefix_caching"] = c.layout.kind == Layout::prefix;
  if (const std::int64_t splits = md->shape.kv_splits; md->shape.route == Route::split) {
    std::vector<std::int32_t> list;
    for (std::int64_t r = 0; r <= md->requests().count(); ++r)
      list.push_back(static_cast<std::int32_t>(r * splits));
    scalars["launch_num_kv_splits"] = splits;
    bundle.arrays["launch_num_kv_splits_indptr"] = io::raw_words(list);
  }
  const std::int64_t rows = md->rows().count();
  bundle.arrays["q"] =
      bits({rows, c.heads, c.widths().key().count()}, element_bytes(c.dtype.q), tensors->q);
  add_cache(*md, tensors->cache, bundle);
  bundle.arrays["out"] =
      bits({rows, c.heads, c.widths().value().count()}, 2, std::as_bytes(std::span(result->out)));
  const auto lse = std::as_bytes(std::span(result->lse));
  bundle.arrays["lse"] = {io::ElementKind::floating, 4, {rows, c.heads}, {lse.begin(), lse.end()}};
  bundle.scalars = std::make_shared<const nlohmann::ordered_json>(std::move(scalars));
  return bundle;
}

}  // namespace mla::app
