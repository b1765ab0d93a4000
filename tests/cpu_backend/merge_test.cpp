// Claims about merging partial rows.
#include "cpu_backend/merge.hpp"

#include <cmath>
#include <limits>
#include <numeric>

#include "tests/built_in_dims.hpp"
#include "tests/catch.hpp"

using namespace mla;
using cpu::MergeForm;

namespace {

constexpr float kLseWithoutKeys = -std::numeric_limits<float>::infinity();
constexpr std::size_t kDims = static_cast<std::size_t>(kValueDim);

struct Merged {
  std::vector<float> out;
  float lse;
};

// Partial k has the LSE lse[k] and the value k + 1 in every dimension.
Merged merge(MergeForm form, const std::vector<float>& lse, float unwritten = 0) {
  std::vector<std::vector<float>> rows;
  std::vector<const float*> pointers;
  for (std::size_t k = 0; k < lse.size(); ++k)
    rows.emplace_back(kDims, lse[k] == kLseWithoutKeys ? unwritten : static_cast<float>(k + 1));
  for (const auto& row : rows) pointers.push_back(row.data());
  Merged merged{std::vector<float>(kDims), 0};
  merged.lse = cpu::merge_partials(form, pointers, lse, merged.out);
  return merged;
}

const MergeForm kForms[] = {MergeForm::running, MergeForm::weighted};

}  // namespace

TEST_CASE("merge: both forms give the mean weighted by e^lse, and its natural logarithm",
          "[cpu][P24]") {
  const std::vector<float> lse = {1.5F, -3.0F, 2.25F, 0.0F, 2.0F};
  double sum = 0;
  double mean = 0;
  for (std::size_t k = 0; k < lse.size(); ++k) {
    sum += std::exp(static_cast<double>(lse[k]));
    mean += std::exp(static_cast<double>(lse[k])) * static_cast<double>(k + 1);
  }
  for (const MergeForm form : kForms) {
    const Merged m = merge(form, lse);
    CHECK(m.lse == Approx(std::log(sum)).epsilon(1e-6));
    CHECK(m.out[0] == Approx(mean / sum).epsilon(1e-6));
    CHECK(m.out[511] == m.out[0]);
  }
}

TEST_CASE("merge: a partial without keys changes nothing, wherever it stands", "[cpu][P09]") {
  for (const MergeForm form : kForms) {
    CHECK(merge(form, {kLseWithoutKeys, kLseWithoutKeys, 0.5F}).out[0] == 3.0F);
    CHECK(merge(form, {kLseWithoutKeys, 0.5F, kLseWithoutKeys, kLseWithoutKeys}).out[0] == 2.0F);
    CHECK(merge(form, {kLseWithoutKeys, kLseWithoutKeys, 0.5F}).lse == 0.5F);
  }
}

TEST_CASE("merge: without any key the output is 0 and the LSE -inf", "[cpu][P09]") {
  for (const MergeForm form : kForms) {
    const Merged m =
        merge(form, {kLseWithoutKeys, kLseWithoutKeys, kLseWithoutKeys, kLseWithoutKeys});
    CHECK(m.lse == kLseWithoutKeys);
    CHECK(m.out == std::vector<float>(kDims, 0.0F));
  }
}

TEST_CASE("merge: a NaN LSE makes the row NaN and is never hidden", "[cpu][P09]") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const MergeForm form : kForms)
    for (const auto& lse : {std::vector<float>{nan, 1.0F, 2.0F, 3.0F},
                            {1.0F, nan},
                            {kLseWithoutKeys, nan},
                            {nan, nan, nan}}) {
      const Merged m = merge(form, lse);
      CHECK(std::isnan(m.lse));
      CHECK(std::isnan(m.out[7]));
    }
}

TEST_CASE("merge: LSE far apart neither overflow nor lose the larger one", "[cpu][P09]") {
  for (const MergeForm form : kForms) {
    const Merged m = merge(form, {-3000.0F, 3000.0F, 100.0F});
    CHECK(m.lse == 3000.0F);
    CHECK(m.out[0] == 2.0F);
  }
}
