#include "cpu_backend/prefill/prefill_reference.hpp"

#include <algorithm>
#include <limits>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "cpu_backend/dense/attend_rows.hpp"
#include "cpu_backend/threads.hpp"

namespace mla::cpu {
namespace {

using prefill::kQkDim;
using prefill::kVDim;

// (row, head, key) products of a request from which on a team of threads is worth its barrier.
constexpr std::int64_t kPrefillTeamWork = 1 << 20;

class PrefillEvaluation {
 public:
  PrefillEvaluation(const PrefillReferenceInput& in, ReferenceResult& out) : in_(in), out_(out) {
    model_.dtype = {in.arithmetic, in.arithmetic};
    model_.fp8 = fp8_variant(in.arch);
    model_.output_unit = unit_roundoff(Bf16Rounding::nearest_even);
    if (in.arithmetic == Dtype::fp8)
      model_.output_unit = std::max(unit_roundoff(stage1_rounding(in.arch)),
                                    unit_roundoff(reduce_rounding(in.arch)));
    model_.dot_length = kQkDim;
  }

  // One head of one request, whose first row is row `first_row` of the batch.
  void run(std::int64_t request, std::int64_t first_row, std::int64_t head) {
    const auto r = static_cast<std::size_t>(request);
    const auto [q, n] = in_.batch.requests[r];
    const std::vector<std::int64_t> pairs = evaluated_pairs(request, first_row, head);
    if (pairs.empty()) return;
    model_.bf16_merges = in_.merges[r];
    Panels keys(kQkDim, n);
    Panels values(n, kVDim);
    largest_.assign(static_cast<std::size_t>(kVDim), 0);
    for (std::int64_t p = 0; p < n; ++p) load_key(request, first_row, head, p, keys, values);
    for (std::size_t first = 0; first < pairs.size(); first += kRowChunk) {
      const std::size_t count = std::min<std::size_t>(kRowChunk, pairs.size() - first);
      run_rows({first_row, std::span(pairs).subspan(first, count), q, n}, keys, values);
    }
  }

 private:
  struct Rows {
    std::int64_t first_row;               // of the request, in the batch
    std::span<const std::int64_t> pairs;  // all of one head
    std::int64_t qo_len;
    std::int64_t kv_len;
  };

  // The evaluated pairs of a head. The others are marked, if they see a key.
  [[nodiscard]] std::vector<std::int64_t> evaluated_pairs(std::int64_t request,
                                                          std::int64_t first_row,
                                                          std::int64_t head) const {
    const auto [q, n] = in_.batch.requests[static_cast<std::size_t>(request)];
    std::vector<std::int64_t> pairs;
    for (std::int64_t i = 0; i < q; ++i) {
      if (n == 0 || (in_.causal && n <= q - 1 - i)) continue;  // sees no key
      const std::int64_t pair = (first_row + i) * in_.tensors.heads + head;
      if (has_pair(in_.pairs, pair)) {
        pairs.push_back(pair);
        continue;
      }
      const auto at = static_cast<std::size_t>(pair);
      std::fill_n(&out_.out_bound[at * kVDim], kVDim, kNotEvaluated);
      out_.lse[at] = 0;
      out_.lse_bound[at] = kNotEvaluated;
    }
    return pairs;
  }

  [[nodiscard]] std::int64_t visible(const Rows& rows, std::int64_t pair) const {
    const std::int64_t row = pair / in_.tensors.heads - rows.first_row;
    return in_.causal ? rows.kv_len - rows.qo_len + row + 1 : rows.kv_len;
  }

  [[nodiscard]] double element(std::uint16_t bits) const {
    const float value = bf16_to_float(bits);
    if (in_.arithmetic == Dtype::bf16) return value;
    const Fp8Variant fp8 = fp8_variant(in_.arch);
    return fp8_to_float(fp8_from_float(value, fp8), fp8);
  }

  void load_key(std::int64_t request, std::int64_t first_row, std::int64_t head,
                std::int64_t position, Panels& keys, Panels& values) {
    const auto [q, n] = in_.batch.requests[static_cast<std::size_t>(request)];
    const prefill::PrefillTensors& t = in_.tensors;
    const std::uint16_t* key = nullptr;
    const std::uint16_t* value = nullptr;
    if (position < n - q) {
      const std::int64_t slot = in_.batch.slot(request, position) - t.cache.first_slot;
      key = t.cache.bits.data() + (slot * t.heads + head) * (kQkDim + kVDim);
      value = key + kQkDim;
    } else {
      const std::int64_t pair = (first_row + position - (n - q)) * t.heads + head;
      key = t.k.data() + pair * kQkDim;
      value = t.v.data() + pair * kVDim;
    }
    for (std::int64_t d = 0; d < kQkDim; ++d) keys.at(d, position) = element(key[d]);
    for (std::int64_t d = 0; d < kVDim; ++d) {
      const double v = element(value[d]);
      values.at(position, d) = v;
      double& largest = largest_[static_cast<std::size_t>(d)];
      largest = std::max(largest, std::fabs(v));
    }
  }

  void run_rows(const Rows& rows, const Panels& keys, const Panels& values) {
    Matrix q = padded_rows(std::ssize(rows.pairs), kQkDim);
    std::vector<VisibleKeys> seen;
    for (std::size_t i = 0; i < rows.pairs.size(); ++i) {
      const std::uint16_t* row = &in_.tensors.q[static_cast<std::size_t>(rows.pairs[i] * kQkDim)];
      std::transform(row, row + kQkDim, &q(i, 0),
                     [&](std::uint16_t bits) { return element(bits); });
      seen.push_back({0, visible(rows, rows.pairs[i])});
    }
    std::vector<ErrorModel> models(rows.pairs.size(), model_);
    const AttendedRows attended =
        attend_rows(q, keys, values, in_.tensors.softmax_scale, seen, models);
    for (std::size_t i = 0; i < rows.pairs.size(); ++i)
      store(static_cast<std::size_t>(rows.pairs[i]), models[i], attended, i);
  }

  void store(std::size_t at, const ErrorModel& model, const AttendedRows& rows, std::size_t i) {
    out_.lse[at] = rows.weights[i].lse;
    out_.lse_bound[at] = rows.weights[i].lse_bound;
    for (std::size_t d = 0; d < kVDim; ++d) {
      const BoundedValue e =
          output(model, rows.weights[i], rows.sums.value(i, d), rows.sums.error(i, d), largest_[d]);
      out_.out[at * kVDim + d] = e.value;
      out_.out_bound[at * kVDim + d] = e.bound;
    }
  }

  const PrefillReferenceInput& in_;
  ReferenceResult& out_;
  ErrorModel model_;
  std::vector<double> largest_;  // [kVDim] over the keys of the request and head
};

}  // namespace

ReferenceResult prefill_reference(const PrefillReferenceInput& in) {
  const auto pairs = static_cast<std::size_t>(in.batch.rows().count() * in.tensors.heads);
  ReferenceResult out;
  out.out.assign(pairs * kVDim, 0);
  out.out_bound.assign(pairs * kVDim, 0);
  out.lse.assign(pairs, -std::numeric_limits<double>::infinity());
  out.lse_bound.assign(pairs, 0);
  std::int64_t first_row = 0;
  for (std::size_t r = 0; r < in.batch.requests.size(); ++r) {
    const auto [q, n] = in.batch.requests[r];
    const std::int64_t heads = in.tensors.heads;
    [[maybe_unused]] const int threads = heads * q * n >= kPrefillTeamWork ? team(0) : 1;
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (std::int64_t head = 0; head < heads; ++head)
      PrefillEvaluation(in, out).run(static_cast<std::int64_t>(r), first_row, head);
    first_row += q;
  }
  return out;
}

}  // namespace mla::cpu
