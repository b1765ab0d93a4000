// Claims about the dense reference: its values, and that nothing right leaves its bound while
// planted defects do.
#include "cpu_backend/decode/reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "tests/built_in_dims.hpp"
#include "tests/catch.hpp"
#include "tests/cpu_backend/harness.hpp"

using namespace mla;
using namespace mla::cpu::test;

namespace {

double element(const std::byte* row, std::int64_t d, Dtype dtype, Arch arch) {
  if (dtype == Dtype::fp8)
    return fp8_to_float(static_cast<std::uint8_t>(row[d]), fp8_variant(arch));
  std::uint16_t bits;
  std::memcpy(&bits, row + 2 * d, sizeof bits);
  return bf16_to_float(bits);
}

// Output and LSE of one (row, head), straight from the formula.
struct Naive {
  std::vector<double> out;
  double lse = 0;
};

Naive naive(const Step& step, std::int64_t request, std::int64_t i, std::int64_t head) {
  const Case& c = step.spec;
  const DecodeTensors& t = step.tensors;
  std::int64_t row = i;
  for (std::int64_t r = 0; r < request; ++r)
    row += step.batch.requests[static_cast<std::size_t>(r)].qo_len;
  const auto [q_len, n] = step.batch.requests[static_cast<std::size_t>(request)];
  const RowWidths w = c.widths();
  const std::byte* q = t.q.data() + (row * c.heads + head) * w.key_bytes(c.dtype.q);
  const auto key = [&](std::int64_t j) {
    return t.cache.bytes.data() +
           (step.batch.slot(request, j) - t.cache.first_slot) * t.cache.row_bytes();
  };
  Naive result{std::vector<double>(static_cast<std::size_t>(w.value().count())), 0};
  double sum = 0;
  for (std::int64_t j = 0; j < (c.causal ? n - q_len + 1 + i : n); ++j) {
    double s = 0;
    for (std::int64_t d = 0; d < w.key().count(); ++d)
      s += element(q, d, c.dtype.q, c.arch) * element(key(j), d, c.dtype.kv, c.arch);
    const double e = std::exp(s * t.softmax_scale * t.q_scale * t.kv_scale);
    sum += e;
    for (std::int64_t d = 0; d < w.value().count(); ++d)
      result.out[static_cast<std::size_t>(d)] += e * element(key(j), d, c.dtype.kv, c.arch);
  }
  for (double& x : result.out) x *= t.kv_scale / sum;
  result.lse = std::log(sum);
  return result;
}

// A random small step, with a softmax scale from flat to one-hot; null if the case is refused.
std::unique_ptr<Step> random_step(std::mt19937_64& random) {
  const auto pick = [&](auto... values) {
    const std::int64_t all[] = {values...};
    return all[random() % sizeof...(values)];
  };
  Case c;
  c.arch = pick(0, 1) == 0 ? Arch::gfx942 : Arch::gfx950;
  c.heads = pick(1, 6, 16, 32, 64, 128);
  const std::int64_t dtypes = pick(0, 1, 2);
  c.dtype = {dtypes == 2 ? Dtype::fp8 : Dtype::bf16, dtypes == 0 ? Dtype::bf16 : Dtype::fp8};
  const std::int64_t q = pick(1, 1, 2, 3, 4);
  for (std::int64_t r = pick(1, 2, 3); r > 0; --r)
    c.requests.push_back({q, q + static_cast<std::int64_t>(random() % 300)});
  c.compute_units = pick(1, 3, 8, 30);
  c.causal = pick(0, 1, 1) == 1;
  c.planner = pick(0, 0, 0, 1) == 1 ? PlannerChoice::none : PlannerChoice::automatic;
  c.data = {static_cast<Distribution>(random() % 5), random()};
  if (pick(0, 1) == 1) c.decode().q_scale = 0.37F, c.decode().kv_scale = 1.9F;
  auto step = try_step(c);
  if (step != nullptr) {
    const float factors[] = {0.01F, 1.0F, 1.0F, 5.0F, 60.0F};
    step->tensors.softmax_scale *= factors[random() % 5];
  }
  return step;
}

}  // namespace

TEST_CASE("reference: equals attention written out as the formula", "[cpu][reference]") {
  for (const char* line :
       {"mla1:1q1s1;heads=3;arch=gfx942", "mla1:1q2s37_1q2s130;heads=5;arch=gfx950;causal=1",
        "mla1:2q3s41;heads=17;arch=gfx950;dtype=fp8/fp8;scale=0.5/3",
        "mla1:1q3s1025_1q2s2100;heads=16",  // keys of several blocks
        "mla1:1q4s19;heads=16;arch=gfx950;dtype=bf16/bf16;causal=0;block=16",
        "mla1:1q2s37_1q2s130;heads=5;rope=0", "mla1:2q3s41;heads=3;dtype=fp8/fp8;latent=256",
        "mla1:1q2s70;heads=16;latent=448;value=512", "mla1:1q2s70;heads=16;latent=448",
        "mla1:1q2s1025;heads=4;latent=1;rope=0", "mla1:1q1s9;heads=4;latent=11;rope=6;value=13"}) {
    const auto step = make_step(line);
    const cpu::ReferenceResult reference = step->reference();
    std::int64_t row = 0;
    for (std::size_t r = 0; r < step->batch.requests.size(); ++r)
      for (std::int64_t i = 0; i < step->batch.requests[r].qo_len; ++i, ++row)
        for (const std::int64_t head : {std::int64_t{0}, step->spec.heads - 1}) {
          INFO(line << ", row " << row << ", head " << head);
          const Naive exact = naive(*step, static_cast<std::int64_t>(r), i, head);
          const auto at = static_cast<std::size_t>(row * step->spec.heads + head);
          CHECK(reference.lse[at] == Approx(exact.lse).epsilon(1e-12));
          double worst = 0;
          for (std::size_t d = 0; d < exact.out.size(); ++d)
            worst =
                std::max(worst, std::fabs(reference.out[at * reference.dims() + d] - exact.out[d]));
          CHECK(worst < 1e-11);
        }
  }
}

TEST_CASE("reference: no random step of any data range leaves the bound", "[cpu][reference]") {
  std::mt19937_64 random(20240607);
  Closeness largest;
  double typical = 0;
  int ran = 0;
  for (int i = 0; i < 120; ++i) {
    const auto step = random_step(random);
    if (step == nullptr) continue;
    const Closeness c = closeness(run(*step), step->reference());
    INFO(format_case(step->spec) << " with softmax scale " << step->tensors.softmax_scale
                                 << ": out " << c.out << ", lse " << c.lse << " of the bound");
    REQUIRE(c.within());
    largest = {std::max(largest.out, c.out), std::max(largest.lse, c.lse)};
    typical += c.out;
    ++ran;
  }
  CHECK(ran > 60);
  WARN("largest error in " << ran << " random steps: out " << largest.out << ", lse " << largest.lse
                           << " of the bound; mean of the largest out " << typical / ran);
}

TEST_CASE("reference: a backend that rounds no probability stays within the bound",
          "[cpu][reference]") {
  for (const char* line :
       {"mla1:1q2s100;heads=16;arch=gfx942", "mla1:1q2s100;heads=16;arch=gfx950;dtype=fp8/fp8"}) {
    const auto step = make_step(line);
    const cpu::ReferenceResult reference = step->reference();
    DecodeResult exact;
    for (const double x : reference.out)
      exact.out.push_back(bf16_from_float(static_cast<float>(x), reduce_rounding(step->spec.arch)));
    for (const double x : reference.lse) exact.lse.push_back(static_cast<float>(x));
    CHECK(closeness(exact, reference).within());
  }
}

TEST_CASE("reference: rows that see no key have output 0, LSE -inf and bound 0",
          "[cpu][reference][P10]") {
  const auto step = make_step("mla1:1q1s5_1q1s0;heads=4;arch=gfx942;cu=2");
  const cpu::ReferenceResult reference = step->reference();
  CHECK(std::isinf(reference.lse[4]));
  CHECK(reference.lse[4] < 0);
  CHECK(reference.out[4 * kValueDim] == 0);
  CHECK(reference.out_bound[4 * kValueDim] == 0);
}

TEST_CASE("reference: survives NaN and infinite inputs", "[cpu][reference]") {
  for (const std::uint16_t bits : {std::uint16_t{0x7FC0}, std::uint16_t{0x7F80}}) {
    const auto step = make_step("mla1:1q2s30;heads=16;arch=gfx942;cu=2");
    std::memcpy(step->tensors.cache.bytes.data() +
                    (step->batch.slot(0, 3) - step->tensors.cache.first_slot) *
                        step->tensors.cache.row_bytes(),
                &bits, sizeof bits);
    CHECK(step->reference().out.size() == static_cast<std::size_t>(2 * 16 * kValueDim));
  }
}
