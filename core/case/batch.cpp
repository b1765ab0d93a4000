#include "core/case/batch.hpp"

#include <algorithm>
#include <numeric>
#include <random>
#include <string>

#include "core/say.hpp"

namespace mla {
namespace {

std::int64_t blocks_of(const RequestSpec& request, std::int64_t block_size) {
  return ceil_div(request.kv_len, block_size);
}

// Physical ids of all blocks in the order in which requests own them, by layout.
std::vector<std::int32_t> place_blocks(const LayoutSpec& layout,
                                       const std::vector<std::int64_t>& counts) {
  const std::int64_t total = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  std::vector<std::int32_t> ids(static_cast<std::size_t>(total));
  std::iota(ids.begin(), ids.end(), 0);
  if (layout.kind == Layout::shuffled) {
    std::mt19937_64 random(layout.parameter);
    for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[random() % i]);
  }
  if (layout.kind == Layout::descending) {
    auto begin = ids.begin();
    for (const std::int64_t n : counts) std::reverse(begin, begin + n), begin += n;
  }
  if (layout.kind == Layout::interleaved) {
    std::vector<std::int64_t> first(counts.size(), 0);
    std::partial_sum(counts.begin(), counts.end() - 1, first.begin() + 1);
    std::int32_t next = 0;
    const std::int64_t longest = *std::max_element(counts.begin(), counts.end());
    for (std::int64_t j = 0; j < longest; ++j)
      for (std::size_t r = 0; r < counts.size(); ++r)
        if (j < counts[r]) ids[static_cast<std::size_t>(first[r] + j)] = next++;
  }
  return ids;
}

}  // namespace

Rows Batch::rows() const {
  std::int64_t sum = 0;
  for (const RequestSpec& r : requests) sum += r.qo_len;
  return Rows(sum);
}

std::int64_t Batch::slot(std::int64_t request, std::int64_t position) const {
  return std::int64_t{table().at(request, position / block_size)} * block_size +
         position % block_size;
}

std::int64_t uniform_padded_qo_len(const std::vector<std::int64_t>& qo_lens,
                                   std::int64_t max_qo_len, std::int64_t num_tokens) {
  const auto count = static_cast<std::int64_t>(qo_lens.size());
  const std::int64_t sum = std::accumulate(qo_lens.begin(), qo_lens.end(), std::int64_t{0});
  if (count == 0 || num_tokens <= sum || num_tokens % count != 0) return 0;
  const std::int64_t u = num_tokens / count;
  const auto first_zero = std::find(qo_lens.begin(), qo_lens.end(), 0);
  if (u <= 1 || first_zero == qo_lens.end()) return 0;
  const bool zeros_trail =
      std::all_of(first_zero, qo_lens.end(), [](std::int64_t q) { return q == 0; });
  const bool equal =
      std::all_of(qo_lens.begin(), first_zero, [u](std::int64_t q) { return q == u; });
  const bool longest_fits = first_zero == qo_lens.begin() || max_qo_len == u;
  return zeros_trail && equal && longest_fits ? u : 0;
}

// The requests of the step with their padding. An engine that pads to a captured size either makes
// the batch uniform (every padding request gets u rows and u keys, so that each row sees a key), or
// leaves one row without keys to each padding request of a one-row batch, or none.
std::vector<RequestSpec> padded_requests(const Case& c) {
  std::vector<RequestSpec> requests = c.requests;
  if (c.pad_requests == 0) return requests;
  std::vector<std::int64_t> qo_lens;
  for (const RequestSpec& r : requests) qo_lens.push_back(r.qo_len);
  const std::int64_t longest = *std::max_element(qo_lens.begin(), qo_lens.end());
  qo_lens.resize(qo_lens.size() + static_cast<std::size_t>(c.pad_requests), 0);
  const std::int64_t u =
      uniform_padded_qo_len(qo_lens, longest, longest * static_cast<std::int64_t>(qo_lens.size()));
  const bool single_rows =
      std::all_of(requests.begin(), requests.end(), [](auto& r) { return r.qo_len == 1; });
  RequestSpec pad{0, 0};
  if (u > 0) pad = {u, u};
  if (single_rows) pad = {1, 0};
  requests.resize(qo_lens.size(), pad);
  return requests;
}

Result<Batch> make_batch(const Case& c) {
  if (c.requests.empty()) return Error{ErrorCode::usage, "a case needs at least one request"};
  Batch batch;
  batch.requests = padded_requests(c);
  batch.live = Requests(static_cast<std::int64_t>(c.requests.size()));
  batch.block_size = c.block_size;
  batch.first_block = c.origin_block;

  std::int64_t shared = c.layout.kind == Layout::prefix
                            ? static_cast<std::int64_t>(std::min<std::uint64_t>(
                                  c.layout.parameter, std::uint64_t{1} << 31))
                            : 0;
  std::int64_t longest = 0;
  for (const RequestSpec& r : batch.requests)
    longest = std::max(longest, blocks_of(r, c.block_size));
  shared = std::min(shared, longest);
  std::vector<std::int64_t> own;  // blocks of each request after the shared ones
  for (const RequestSpec& r : batch.requests)
    own.push_back(std::max<std::int64_t>(0, blocks_of(r, c.block_size) - shared));
  const std::vector<std::int32_t> ids = place_blocks(c.layout, own);

  // One block more than the requests own: the readable null block of padding rows.
  batch.cache_blocks = shared + static_cast<std::int64_t>(ids.size()) + 1;
  const std::int64_t last_id = batch.first_block + batch.cache_blocks;
  if ((last_id + 1) * c.block_size / c.page_size > (std::int64_t{1} << 31))
    return Error{ErrorCode::unsupported,
                 say("block ids up to ", last_id, " of ", c.block_size,
                     " tokens do not fit int32 page indices of ", c.page_size, " tokens")};
  batch.columns = std::max<std::int64_t>(longest, 1);
  // Entries after a request's blocks name the null block, as newer engine runners leave them.
  const auto null_block = static_cast<std::int32_t>(last_id - 1);
  batch.block_table.assign(batch.requests.size() * static_cast<std::size_t>(batch.columns),
                           null_block);
  std::size_t next = 0;
  for (std::size_t r = 0; r < batch.requests.size(); ++r) {
    const std::int64_t count = blocks_of(batch.requests[r], c.block_size);
    std::int32_t* row = &batch.block_table[r * static_cast<std::size_t>(batch.columns)];
    for (std::int64_t j = 0; j < count; ++j) {
      const std::int64_t id = j < shared ? j : shared + ids[next++];
      row[j] = static_cast<std::int32_t>(batch.first_block + id);
    }
  }
  return batch;
}

}  // namespace mla
