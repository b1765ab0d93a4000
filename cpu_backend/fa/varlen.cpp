#include "cpu_backend/fa/attend.hpp"
#include "cpu_backend/fa/kernels.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "cpu_backend/merge.hpp"
#include "cpu_backend/threads.hpp"

namespace mla::cpu {

using fa::VarlenCall;

namespace {

// One request of a call, checked.
struct Piece {
  std::int64_t first_row = 0;
  std::int64_t rows = 0;    // that are computed
  std::int64_t qo_len = 0;  // that it has
  std::int64_t first_key = 0;
  std::int64_t kv_len = 0;
};

class Checks {
 public:
  Checks(const VarlenCall& call, std::vector<Fault>& faults) : call_(call), faults_(faults) {}

  std::vector<Piece> pieces() {
    std::vector<Piece> out;
    if (call_.cu_seqlens_q.size() != call_.cu_seqlens_k.size() || call_.cu_seqlens_q.empty()) {
      fault("cu_seqlens_q has " + num(static_cast<std::int64_t>(call_.cu_seqlens_q.size())) +
            " entries and cu_seqlens_k " +
            num(static_cast<std::int64_t>(call_.cu_seqlens_k.size())));
      return out;
    }
    const auto rows = static_cast<std::int64_t>(call_.q.size()) / call_.shape.q_row();
    const auto keys = static_cast<std::int64_t>(call_.k.size()) / call_.shape.kv_row();
    for (std::size_t r = 0; r + 1 < call_.cu_seqlens_q.size(); ++r) {
      const std::string request = "request " + num(static_cast<std::int64_t>(r));
      Piece p{.first_row = call_.cu_seqlens_q[r], .first_key = call_.cu_seqlens_k[r]};
      p.qo_len = call_.cu_seqlens_q[r + 1] - p.first_row;
      p.kv_len = call_.cu_seqlens_k[r + 1] - p.first_key;
      if (!inside(request + " rows", p.first_row, p.qo_len, rows) ||
          !inside(request + " keys", p.first_key, p.kv_len, keys))
        continue;
      p.rows = std::min(p.qo_len, call_.max_seqlen_q);
      if (p.rows < p.qo_len)
        fault(request + " has " + num(p.qo_len) + " rows, max_seqlen_q is " +
              num(call_.max_seqlen_q));
      if (p.kv_len > call_.max_seqlen_k)
        fault(request + " has " + num(p.kv_len) + " keys, max_seqlen_k is " +
              num(call_.max_seqlen_k));
      if (p.rows > 0) out.push_back(p);
    }
    return out;
  }

 private:
  void fault(const std::string& what) { faults_.push_back({say(call_.what, ": ", what), -1, -1}); }
  bool inside(const std::string& what, std::int64_t first, std::int64_t count, std::int64_t size) {
    if (first >= 0 && count >= 0 && first + count <= size) return true;
    fault(what + " " + num(first) + " to " + num(first + count) + " of " + num(size));
    return false;
  }
  const VarlenCall& call_;
  std::vector<Fault>& faults_;
};

void attend_piece(const VarlenCall& call, const Piece& piece, std::int64_t kv_head, HeadKeys& keys,
                  RowAttention& attention) {
  const fa::TensorShape& s = call.shape;
  keys.clear();
  for (std::int64_t j = 0; j < piece.kv_len; ++j) {
    const std::int64_t at = (piece.first_key + j) * s.kv_row() + kv_head * s.head_dim;
    keys.add(call.k.data() + at, call.v.data() + at);
  }
  for (std::int64_t i = 0; i < piece.rows; ++i) {
    const KeyRange range = call.visibility.of_row(i, piece.qo_len, piece.kv_len);
    for (std::int64_t g = 0; g < s.group(); ++g) {
      const std::int64_t pair = (piece.first_row + i) * s.heads + kv_head * s.group() + g;
      const float lse = attention.run(call.q.data() + pair * s.head_dim, keys, range);
      for (std::int64_t d = 0; d < s.head_dim; ++d)
        call.out[static_cast<std::size_t>(pair * s.head_dim + d)] = bf16_from_float(
            attention.out()[static_cast<std::size_t>(d)], Bf16Rounding::nearest_even);
      if (!call.lse.empty()) call.lse[static_cast<std::size_t>(pair)] = lse;
    }
  }
}

}  // namespace

void varlen_attention(const fa::KernelContext& context, const VarlenCall& call) {
  count_launch(context, "varlen attention");
  const std::vector<Piece> pieces = Checks(call, context.faults).pieces();
  const auto count = static_cast<std::int64_t>(pieces.size());
#pragma omp parallel num_threads(team(context.threads))
  {
    HeadKeys keys(call.shape.head_dim);
    RowAttention attention(call.shape);
#pragma omp for collapse(2) schedule(dynamic, 1)
    for (std::int64_t p = 0; p < count; ++p)
      for (std::int64_t h = 0; h < call.shape.kv_heads; ++h)
        attend_piece(call, pieces[static_cast<std::size_t>(p)], h, keys, attention);
  }
}

void merge_states(const fa::KernelContext& context, const fa::MergeCall& call) {
  count_launch(context, "merge");
  const auto& [a, b, shape, out, lse] = call;
  const auto dim = static_cast<std::size_t>(shape.head_dim);
  std::array<std::vector<float>, 2> wide{std::vector<float>(dim), std::vector<float>(dim)};
  std::vector<float> merged(dim);
  for (std::size_t pair = 0; pair < a.lse.size(); ++pair) {
    for (std::size_t d = 0; d < dim; ++d) {
      wide[0][d] = bf16_to_float(a.out[pair * dim + d]);
      wide[1][d] = bf16_to_float(b.out[pair * dim + d]);
    }
    const std::array<const float*, 2> parts{wide[0].data(), wide[1].data()};
    const std::array<float, 2> logs{a.lse[pair], b.lse[pair]};
    const float total = merge_partials(MergeForm::running, parts, logs, merged);
    for (std::size_t d = 0; d < dim; ++d)
      out[pair * dim + d] = bf16_from_float(merged[d], Bf16Rounding::nearest_even);
    if (!lse.empty()) lse[pair] = total;
  }
}

}  // namespace mla::cpu
