#include "cpu_backend/merge.hpp"

#include <algorithm>
#include <cmath>

namespace mla::cpu {
namespace {

// e^(lse - maximum), and 0 for a partial without keys even when the maximum is -inf as well.
float weight(float lse, float maximum) {
  return lse == kNoKey ? 0.0F : std::exp(lse - maximum);
}

// acc = acc * keep + add * part
void blend(std::span<float> acc, float keep, const float* part, float add) {
  for (std::size_t d = 0; d < acc.size(); ++d) acc[d] = acc[d] * keep + part[d] * add;
}

float merge_running(std::span<const float* const> out, std::span<const float> lse,
                    std::span<float> merged) {
  std::copy_n(out[0], merged.size(), merged.begin());
  float maximum = lse[0];
  float sum = lse[0] == kNoKey ? 0.0F : 1.0F;
  for (std::size_t k = 1; k < lse.size(); ++k) {
    const float next = std::fmax(maximum, lse[k]);
    const float keep = weight(maximum, next);
    const float add = weight(lse[k], next);
    blend(merged, keep, out[k], add);
    sum = sum * keep + add;
    maximum = next;
  }
  for (float& value : merged) value /= sum;
  return std::log(sum) + maximum;
}

float merge_weighted(std::span<const float* const> out, std::span<const float> lse,
                     std::span<float> merged) {
  float maximum = kNoKey;
  for (const float l : lse) maximum = std::fmax(maximum, l);
  float sum = 0;
  for (const float l : lse) sum += weight(l, maximum);
  const float total = std::log(sum) + maximum;
  std::fill(merged.begin(), merged.end(), 0.0F);
  for (std::size_t k = 0; k < lse.size(); ++k) blend(merged, 1.0F, out[k], weight(lse[k], total));
  return total;
}

}  // namespace

float merge_partials(MergeForm form, std::span<const float* const> out, std::span<const float> lse,
                     std::span<float> merged) {
  if (std::all_of(lse.begin(), lse.end(), [](float l) { return l == kNoKey; })) {
    std::fill(merged.begin(), merged.end(), 0.0F);
    return kNoKey;
  }
  return form == MergeForm::running ? merge_running(out, lse, merged)
                                    : merge_weighted(out, lse, merged);
}

void run_merge(const MergeList& list, Bf16Rounding rounding, int threads, KernelBuffers& buffers) {
  const auto rows = static_cast<std::int64_t>(list.rows.size());
  const std::int64_t heads = buffers.heads;
  const std::int64_t dims = buffers.value.count();
#pragma omp parallel num_threads(threads)
  {
    std::vector<float> merged(static_cast<std::size_t>(dims));
    std::vector<const float*> out;
    std::vector<float> lse;
#pragma omp for collapse(2) schedule(static)
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t head = 0; head < heads; ++head) {
        const MergeRow& row = list.rows[static_cast<std::size_t>(i)];
        out.clear();
        lse.clear();
        for (std::int64_t k = row.first; k < row.first + row.count; ++k) {
          const std::int64_t at = list.partials[static_cast<std::size_t>(k)] * heads + head;
          out.push_back(buffers.partial_out.data() + at * dims);
          lse.push_back(buffers.partial_lse.data()[at]);
        }
        const std::int64_t to = row.row * heads + head;
        buffers.lse.data()[to] = merge_partials(row.form, out, lse, merged);
        for (std::int64_t d = 0; d < dims; ++d)
          buffers.out.data()[to * dims + d] =
              bf16_from_float(merged[static_cast<std::size_t>(d)], rounding);
      }
    }
  }
}

}  // namespace mla::cpu
