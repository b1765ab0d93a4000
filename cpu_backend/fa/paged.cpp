#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "core/engine/fa/layer.hpp"
#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "core/units.hpp"
#include "cpu_backend/fa/attend.hpp"
#include "cpu_backend/fa/kernels.hpp"
#include "cpu_backend/merge.hpp"
#include "cpu_backend/threads.hpp"

namespace mla::cpu {

using fa::BlockRows;
using fa::CachePlane;
using fa::PagedCache;
using fa::PagedCall;

namespace {

constexpr std::int64_t kPartition = 256;  // keys

void add_fault(std::vector<Fault>& faults, std::string what) {
  faults.push_back({std::move(what), -1, -1});
}

// Where key j of a request lies; null if the table or the memory ends before it.
struct KeyPlace {
  const std::uint16_t* key = nullptr;
  const std::uint16_t* value = nullptr;
};

KeyPlace place_of(const PagedCache& cache, const BlockRows& rows, std::int64_t request,
                  std::int64_t j) {
  const std::int64_t column = j / cache.block_size;
  const std::int64_t at = request * rows.columns + column;
  if (j < 0 || column >= rows.columns || at >= static_cast<std::int64_t>(rows.table.size()))
    return {};
  const std::int64_t block = rows.table[static_cast<std::size_t>(at)];
  return {cache.token(CachePlane::keys, block, j % cache.block_size),
          cache.token(CachePlane::values, block, j % cache.block_size)};
}

// One request of a decode with its rows and the places of its keys.
struct Decode {
  std::int64_t first_row = 0;
  std::int64_t qo_len = 0;
  std::vector<KeyPlace> keys;
};

std::vector<Decode> decodes_of(const char* kernel, const PagedCall& call,
                               std::vector<Fault>& faults) {
  std::vector<Decode> out;
  const auto requests = static_cast<std::int64_t>(call.seq_lens.size());
  const auto rows = static_cast<std::int64_t>(call.q.size()) / call.shape.q_row();
  if (static_cast<std::int64_t>(call.cu_seqlens_q.size()) != requests + 1)
    add_fault(faults, say(kernel, ": cu_seqlens_q has ",
                          num(static_cast<std::int64_t>(call.cu_seqlens_q.size())), " entries for ",
                          num(requests), " requests"));
  for (std::int64_t r = 0; r < requests; ++r) {
    const auto i = static_cast<std::size_t>(r);
    if (i + 1 >= call.cu_seqlens_q.size()) break;
    const std::string where = say(kernel, ": request ", r);
    Decode d{.first_row = call.cu_seqlens_q[i], .qo_len = 0, .keys = {}};
    d.qo_len = call.cu_seqlens_q[i + 1] - d.first_row;
    const std::int64_t n = call.seq_lens[i];
    if (d.first_row < 0 || d.qo_len < 0 || d.first_row + d.qo_len > rows) {
      add_fault(faults, where + " rows " + num(d.first_row) + " to " + num(d.first_row + d.qo_len) +
                            " of " + num(rows));
      continue;
    }
    if (n < 0 || (n > 0 && n < d.qo_len))
      add_fault(faults, where + " has " + num(n) + " keys for " + num(d.qo_len) + " rows");
    for (std::int64_t j = 0; j < n; ++j) d.keys.push_back(place_of(call.cache, call.blocks, r, j));
    const auto stray = std::find_if(d.keys.begin(), d.keys.end(),
                                    [](const KeyPlace& p) { return p.key == nullptr; });
    if (stray != d.keys.end()) {
      add_fault(faults, where + " key " + num(stray - d.keys.begin()) + " is not backed");
      continue;
    }
    if (d.qo_len > 0) out.push_back(std::move(d));
  }
  return out;
}

void load(const Decode& decode, std::int64_t offset, HeadKeys& keys) {
  keys.clear();
  for (const KeyPlace& p : decode.keys) keys.add(p.key + offset, p.value + offset);
}

void store(const PagedCall& call, std::int64_t pair, std::span<const float> out) {
  for (std::size_t d = 0; d < out.size(); ++d)
    call.out[static_cast<std::size_t>(pair * call.shape.head_dim) + d] =
        bf16_from_float(out[d], Bf16Rounding::nearest_even);
}

// Calls work(decode, kv head, keys, attention) for all of them, on a team of threads.
template <class F>
void for_each_head(const PagedCall& call, int threads, const std::vector<Decode>& decodes, F work) {
  const auto count = static_cast<std::int64_t>(decodes.size());
#pragma omp parallel num_threads(threads)
  {
    HeadKeys keys(call.shape.head_dim);
    RowAttention attention(call.shape);
#pragma omp for collapse(2) schedule(dynamic, 1)
    for (std::int64_t i = 0; i < count; ++i)
      for (std::int64_t h = 0; h < call.shape.kv_heads; ++h) {
        load(decodes[static_cast<std::size_t>(i)], h * call.shape.head_dim, keys);
        work(decodes[static_cast<std::size_t>(i)], h, keys, attention);
      }
  }
}

// Partial outputs of one (row, head), rounded as the kernel stores them, and their merge.
std::vector<float> merge_partitions(const std::uint16_t* q, const HeadKeys& keys,
                                    RowAttention& attention) {
  std::vector<std::vector<float>> parts;
  std::vector<float> logs;
  for (std::int64_t first = 0; first < keys.count(); first += kPartition) {
    logs.push_back(attention.run(q, keys, {first, std::min(first + kPartition, keys.count())}));
    parts.emplace_back(attention.out().begin(), attention.out().end());
    for (float& value : parts.back())
      value = bf16_to_float(bf16_from_float(value, Bf16Rounding::nearest_even));
  }
  std::vector<const float*> rows;
  for (const auto& part : parts) rows.push_back(part.data());
  std::vector<float> merged(attention.out().size(), 0.0F);
  merge_partials(MergeForm::weighted, rows, logs, merged);
  return merged;
}

}  // namespace

void update_cache(const fa::KernelContext& context, const fa::CacheUpdate& update) {
  count_launch(context, "cache update");
  const PagedCache& cache = update.cache;
  for (std::size_t row = 0; row < update.slot_mapping.size(); ++row) {
    const std::int64_t slot = update.slot_mapping[row];
    if (slot == -1) continue;
    const std::int64_t block = slot / cache.block_size;
    std::uint16_t* key = cache.token(CachePlane::keys, block, slot % cache.block_size);
    std::uint16_t* value = cache.token(CachePlane::values, block, slot % cache.block_size);
    if (slot < 0 || key == nullptr) {
      add_fault(context.faults, "cache update: slot " + num(slot) + " of row " +
                                    num(static_cast<std::int64_t>(row)) + " is not backed");
      continue;
    }
    const std::int64_t from = static_cast<std::int64_t>(row) * cache.kv_row;
    std::copy_n(update.k.data() + from, cache.kv_row, key);
    std::copy_n(update.v.data() + from, cache.kv_row, value);
  }
}

void gather_cache(const fa::KernelContext& context, const fa::GatherCall& call) {
  count_launch(context, "gather");
  std::vector<Fault>& faults = context.faults;
  const std::int64_t row = call.cache.kv_row;
  const auto plane = static_cast<std::int64_t>(call.workspace.size() / 2);
  const auto owners = static_cast<std::int64_t>(call.token_to_batch.size());
  const auto requests = static_cast<std::int64_t>(call.seq_starts.size());
  std::int64_t total = call.total_tokens;
  if (total * row > plane || total > owners) {
    add_fault(faults, "gather: " + num(total) + " tokens, the workspace holds " + num(plane / row) +
                          " and token_to_batch names " + num(owners));
    total = std::min(plane / row, owners);
  }
  for (std::int64_t t = 0; t < total; ++t) {
    const std::int64_t b = call.token_to_batch[static_cast<std::size_t>(t)];
    if (b < 0 || b >= requests || b >= static_cast<std::int64_t>(call.cu_seq_lens.size())) {
      add_fault(faults, "gather: token " + num(t) + " belongs to request " + num(b) + " of " +
                            num(requests));
      continue;
    }
    const auto i = static_cast<std::size_t>(b);
    const std::int64_t j = t - call.cu_seq_lens[i] + call.seq_starts[i];
    const KeyPlace from = place_of(call.cache, call.blocks, b, j);
    if (from.key == nullptr) {
      add_fault(faults, "gather: token " + num(t) + " is key " + num(j) + " of request " + num(b) +
                            ", which is not backed");
      continue;
    }
    std::copy_n(from.key, row, call.workspace.data() + t * row);
    std::copy_n(from.value, row, call.workspace.data() + plane + t * row);
  }
}

void paged_attention_v1(const fa::KernelContext& context, const PagedCall& call) {
  count_launch(context, fa::name(fa::DecodeKernel::paged_attention_v1));
  const fa::TensorShape& s = call.shape;
  const auto written =
      static_cast<std::size_t>(s.head_dim / fa::kPagedHeadStep * fa::kPagedHeadStep);
  for_each_head(call, team(context.threads), decodes_of("paged_attention_v1", call, context.faults),
                [&](const Decode& d, std::int64_t h, const HeadKeys& keys, RowAttention& rows) {
                  if (d.qo_len != 1) return;
                  for (std::int64_t g = 0; g < s.group(); ++g) {
                    const std::int64_t pair = d.first_row * s.heads + h * s.group() + g;
                    const std::vector<float> out =
                        merge_partitions(call.q.data() + pair * s.head_dim, keys, rows);
                    store(call, pair, std::span(out).first(written));
                  }
                });
}

void unified_attention(const fa::KernelContext& context, const PagedCall& call) {
  count_launch(context, fa::name(fa::DecodeKernel::unified_attention));
  const fa::TensorShape& s = call.shape;
  const fa::Visibility visibility{.causal = true, .window = call.window};
  for_each_head(call, team(context.threads), decodes_of("unified_attention", call, context.faults),
                [&](const Decode& d, std::int64_t h, const HeadKeys& keys, RowAttention& rows) {
                  for (std::int64_t i = 0; i < std::min(d.qo_len, call.max_seqlen_q); ++i)
                    for (std::int64_t g = 0; g < s.group(); ++g) {
                      const std::int64_t pair = (d.first_row + i) * s.heads + h * s.group() + g;
                      rows.run(call.q.data() + pair * s.head_dim, keys,
                               visibility.of_row(i, d.qo_len, keys.count()));
                      store(call, pair, rows.out());
                    }
                });
}

}  // namespace mla::cpu
