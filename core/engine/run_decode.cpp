#include "core/engine/run_decode.hpp"

#include <algorithm>

#include "core/say.hpp"

namespace mla {
namespace {

// The live rows of an array with `width` elements in each launch row.
template <class T>
std::vector<T> live_rows(const DecodeMetadata& md, const std::vector<T>& launch,
                         std::size_t width) {
  const std::int64_t live = md.shape.uniform_qo_len - md.shape.leading_rows;
  std::vector<T> out;
  for (std::int64_t row = 0; row < md.requests().count() * live; ++row) {
    const auto from = static_cast<std::size_t>(md.shape.launch_row(row)) * width;
    if (from + width > launch.size()) break;  // the judge counts what a backend returns
    out.insert(out.end(), launch.begin() + static_cast<std::ptrdiff_t>(from),
               launch.begin() + static_cast<std::ptrdiff_t>(from + width));
  }
  return out;
}

// Q as the kernel gets it: [launch rows, model heads, key].
Result<std::vector<std::byte>> with_leading_rows(const DecodeMetadata& md,
                                                 const std::vector<std::byte>& q) {
  const std::int64_t row_bytes =
      md.shape.heads.model.count() * md.shape.widths.key_bytes(md.shape.dtype.q);
  const std::int64_t rows =
      md.requests().count() * (md.shape.uniform_qo_len - md.shape.leading_rows);
  if (std::ssize(q) != rows * row_bytes)
    return Error{ErrorCode::fault, say("q has ", q.size(), " bytes, not ", rows * row_bytes)};
  // What a builder wrote into qo_indptr is data: it may end before the rows that there are.
  if (rows > 0 && md.shape.launch_row(rows - 1) >= md.rows().count())
    return Error{ErrorCode::fault,
                 say("qo_indptr ends with ", md.rows().count(), " rows, and row ", rows - 1,
                     " of q is row ", md.shape.launch_row(rows - 1), " of the launch")};
  std::vector<std::byte> out(static_cast<std::size_t>(md.rows().count() * row_bytes));
  for (std::int64_t row = 0; row < rows; ++row)
    std::copy_n(q.begin() + row * row_bytes, row_bytes,
                out.begin() + md.shape.launch_row(row) * row_bytes);
  return out;
}

void cut_leading_rows(const DecodeMetadata& md, DecodeResult& result) {
  const auto heads = static_cast<std::size_t>(md.shape.heads.model.count());
  const auto value = static_cast<std::size_t>(md.shape.widths.value().count());
  result.out = live_rows(md, result.out, heads * value);
  result.lse = live_rows(md, result.lse, heads);
}

}  // namespace

Result<DecodeResult> run_decode(const Backend& backend, const DecodeLaunch& launch,
                                const ExecutionOptions& options, const DecodeHooks& hooks) {
  const DecodeMetadata& md = launch.metadata;
  const bool raised = md.shape.leading_rows > 0;
  DecodeTensors padded;
  if (raised) {
    auto q = with_leading_rows(md, launch.tensors.q);
    if (!q) return q.error();
    padded = launch.tensors;
    padded.q = std::move(*q);
  }
  Result<DecodeResult> result = backend.run({md, raised ? padded : launch.tensors}, options);
  if (!result) return result;
  hooks.on_result(options, md, *result);
  if (raised) cut_leading_rows(md, *result);
  return result;
}

}  // namespace mla
