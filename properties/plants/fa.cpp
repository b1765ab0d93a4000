// Defects of the AITER FA backend: transfers, runs, lists, chunks, windows and routes.
#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "core/engine/fa/decode_call.hpp"
#include "properties/plants/groups.hpp"
#include "properties/step/fa/run.hpp"

namespace mla::prop {
namespace {

struct LengthsAlwaysCopied final : Interposer {
  void on_fa_build(const fa::StepInput& input, device::Stream& stream) const override {
    std::vector<std::int32_t> lengths(input.seq_lens.size());
    stream.copy_to_host("seq_lens", input.seq_lens, std::span(lengths));
  }
};

struct ScalarRead final : Interposer {
  void on_fa_build(const fa::StepInput& input, device::Stream& stream) const override {
    std::int32_t last = 0;
    stream.copy_to_host("num_actual_kv_tokens.item()",
                        input.query_start_loc.subview(input.query_start_loc.size() - 1, 1),
                        std::span(&last, 1));
  }
};

struct OneEntryShort final : Interposer {
  void on_fa_decode_call(const fa::Layer&, fa::DecodeCall& call) const override {
    call.cu_seqlens_q = call.cu_seqlens_q.subview(0, call.cu_seqlens_q.size() - 1);
  }
};

struct OneRowDecodes final : Interposer {
  void on_fa_decode_call(const fa::Layer&, fa::DecodeCall& call) const override {
    call.max_seqlen_q = 1;
  }
};

struct RouteWithoutWindow final : Interposer {
  void on_fa_decode_call(const fa::Layer& layer, fa::DecodeCall& call) const override {
    if (layer.head_dim >= fa::kPagedHeadStep && call.max_seqlen_q <= 1)
      call.route.kernel = fa::DecodeKernel::paged_attention_v1;
  }
};

struct RouteWithoutHead final : Interposer {
  void on_fa_decode_call(const fa::Layer& layer, fa::DecodeCall& call) const override {
    if (layer.window < 0 && call.max_seqlen_q <= 1)
      call.route.kernel = fa::DecodeKernel::paged_attention_v1;
  }
};

struct AlwaysMasked final : Interposer {
  void on_fa_metadata(fa::Metadata& md) const override { md.causal.assign(md.causal.size(), true); }
};

struct ChunksWithoutStart final : Interposer {
  void on_fa_parts(fa::StepParts& parts) const override {
    if (!parts.extend) return;
    auto& starts = parts.extend->chunks.chunk_starts;
    std::fill(starts.begin(), starts.end(), 0);
  }
};

// The boundary is marked at the last token of a request instead of the one after it.
struct OwnersOneEarly final : Interposer {
  void on_fa_parts(fa::StepParts& parts) const override {
    if (!parts.extend) return;
    auto& owners = parts.extend->chunks.token_to_batch;
    if (!owners.empty()) std::rotate(owners.begin(), owners.begin() + 1, owners.end());
  }
};

struct LastTokenNotGathered final : Interposer {
  void on_fa_parts(fa::StepParts& parts) const override {
    if (!parts.extend) return;
    for (std::int64_t& tokens : parts.extend->chunks.total_token_per_batch)
      tokens = std::max<std::int64_t>(tokens - 1, 0);
  }
};

// The window is counted from the last row, so the first rows of an extend lose keys.
struct WindowOfLastRow final : Interposer {
  void on_fa_parts(fa::StepParts& parts) const override {
    if (!parts.extend || !parts.extend->window) return;
    fa::WindowPlan& plan = *parts.extend->window;
    for (std::size_t b = 0; b < plan.seq_starts.size(); ++b) {
      const std::int32_t lost = std::min(2, plan.cu_seqlens[b + 1] - plan.cu_seqlens[b] - 1);
      plan.seq_starts[b] += lost;
      for (std::size_t later = b + 1; later < plan.cu_seqlens.size(); ++later)
        plan.cu_seqlens[later] -= lost;
    }
    plan.total_tokens = plan.cu_seqlens.back();
    plan.token_to_batch = fa::token_owners(plan.cu_seqlens, plan.total_tokens);
  }
};

// The runner sorts requests that are no decodes by their rows, so a continued prompt may come
// after a new one.
struct ShortestFirst final : Interposer {
  void on_fa_order(fa::OrderedBatch& ordered) const override {
    std::vector<std::size_t> order(ordered.origin.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(ordered.batch.requests[a].qo_len, a) <
             std::pair(ordered.batch.requests[b].qo_len, b);
    });
    const fa::OrderedBatch before = ordered;
    const auto columns = static_cast<std::size_t>(before.batch.columns);
    for (std::size_t i = 0; i < order.size(); ++i) {
      ordered.origin[i] = before.origin[order[i]];
      ordered.batch.requests[i] = before.batch.requests[order[i]];
      std::copy_n(&before.batch.block_table[order[i] * columns], columns,
                  &ordered.batch.block_table[i * columns]);
    }
  }
};

// Equal lengths are taken for a batch of decodes, whatever the threshold.
struct EqualMeansDecode final : Interposer {
  void on_fa_split(const fa::StepInput& input, ThreeWaySplit& split) const override {
    const auto& q = input.qo_lens;
    if (std::adjacent_find(q.begin(), q.end(), std::not_equal_to<>()) != q.end()) return;
    split = {.decodes = Requests(static_cast<std::int64_t>(q.size())),
             .decode_rows = input.num_actual_tokens};
  }
};

struct NarrowBlockIds final : Interposer {
  void on_fa_input(fa::StepInput& input, device::Stream& stream) const override {
    stream.launch("narrow block ids", [table = input.block_table](const auto& access) {
      for (std::int32_t& id : table.on(access)) id &= 0xFFFF;
    });
  }
};

constexpr Plant kFaPlants[] = {
    {"SEED-fa-seq-lens", "P21", "The FA builder copies seq_lens to the host in every step.",
     "mla1:2q1s20;heads=4;kvheads=2;dim=64;block=16;kind=fa;workspace=16",
     plant_of<LengthsAlwaysCopied>},
    {"SEED-fa-item", "P21", "The FA builder reads a token count that lies on the device.",
     "mla1:1q1s1;heads=1;dim=64;block=16;kind=fa;workspace=16", plant_of<ScalarRead>},
    {"BUG-050", "P04", "cu_seqlens_q of FA decodes has one entry for each request, not one more.",
     "mla1:2q2s20;heads=1;dim=64;block=16;kind=fa;workspace=16;draft=1", plant_of<OneEntryShort>},
    {"BUG-092-fa", "P12", "max_seqlen_q of FA decodes is 1, whatever a draft has.",
     "mla1:1q2s2;heads=1;dim=64;block=16;kind=fa;workspace=16;draft=1", plant_of<OneRowDecodes>},
    {"BUG-119", "P28", "The decode route of the FA backend does not look at the window.",
     "mla1:1q1s20;heads=1;dim=64;block=16;kind=fa;workspace=16;window=3",
     plant_of<RouteWithoutWindow>},
    {"BUG-093", "P28", "The decode route of the FA backend does not look at the head size.",
     "mla1:1q1s1;heads=1;dim=32;block=16;kind=fa;workspace=16", plant_of<RouteWithoutHead>},
    {"BUG-108-fa", "P29", "FA layers mask causally whatever their flag says.",
     "mla1:1q2s2;heads=1;dim=64;block=16;kind=fa;workspace=16;causal=0", plant_of<AlwaysMasked>},
    {"SEED-fa-chunk-starts", "P25", "Every chunk of an extend starts at its first key.",
     "mla1:1q2s22;heads=1;dim=64;block=16;kind=fa;workspace=16", plant_of<ChunksWithoutStart>},
    {"SEED-fa-token-owner", "P25", "The last context token of a request belongs to the next one.",
     "mla1:2q2s9;heads=1;dim=64;block=16;kind=fa;workspace=16", plant_of<OwnersOneEarly>},
    {"SEED-fa-stale-gather", "P03", "The last context token of every chunk is not gathered.",
     "mla1:1q2s9;heads=1;dim=64;block=16;kind=fa;workspace=16", plant_of<LastTokenNotGathered>},
    {"SEED-fa-window-rows", "P25", "The gathered window forgets the rows before the last one.",
     "mla1:1q4s30;heads=1;dim=64;block=16;kind=fa;workspace=16;window=5",
     plant_of<WindowOfLastRow>},
    {"SEED-fa-order", "P26", "Requests run by length, so a continued prompt follows a new one.",
     "mla1:1q3s9_1q2s2;heads=1;dim=64;block=16;kind=fa;workspace=16", plant_of<ShortestFirst>},
    {"BUG-017-fa", "P26", "Prefill chunks of equal length run as decodes.",
     "mla1:2q3s3;heads=1;dim=64;block=16;kind=fa;workspace=16", plant_of<EqualMeansDecode>},
    {"BUG-055-fa", "P18", "Block ids of the FA cache are cut to 16 bits.",
     "mla1:1q1s1;heads=1;dim=64;block=16;kind=fa;workspace=16;origin=65536",
     plant_of<NarrowBlockIds>},
};

}  // namespace

std::span<const Plant> fa_plants() {
  return kFaPlants;
}

}  // namespace mla::prop
