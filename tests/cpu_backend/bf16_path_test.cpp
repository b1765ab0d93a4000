// Claims about the data path whose products are made by vdpbf16ps, two at a time.
//
// Skipped on a machine that lacks the instruction or rounds it otherwise.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "core/numeric/bf16.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "cpu_backend/data_path/data_path.hpp"
#include "tests/catch.hpp"
#include "tests/skip.hpp"

using namespace mla;
using cpu::ElementKind;

namespace {

constexpr std::size_t kKey = 576;  // room for a row
constexpr std::size_t kValue = 512;

struct Attended {
  std::vector<float> out;
  std::vector<float> lse;
  bool operator==(const Attended& other) const {
    const auto same = [](float a, float b) {
      return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
             (std::isnan(a) && std::isnan(b));
    };
    return std::ranges::equal(out, other.out, same) && std::ranges::equal(lse, other.lse, same);
  }
};

// Rows and keys with random elements; each row sees a random number of keys.
struct Job {
  ElementKind q_kind;
  ElementKind kv_kind;
  std::vector<std::vector<std::byte>> q;
  std::vector<std::vector<std::byte>> keys;
  std::vector<std::int64_t> visible;
  std::int64_t key_dims = kKey;
  std::int64_t value_dims = kValue;
  float score_scale;  // weights stay far above 2^-126, so that no product with one is flushed

  Job(std::mt19937& random, std::size_t rows, std::size_t key_count, ElementKind of_q,
      ElementKind of_keys)
      : q_kind(of_q), kv_kind(of_keys), score_scale(of_keys == ElementKind::bf16 ? 0.1F : 1e-3F) {
    for (std::size_t r = 0; r < rows; ++r) {
      q.push_back(elements(random, q_kind));
      visible.push_back(static_cast<std::int64_t>(random() % (key_count + 1)));
    }
    for (std::size_t k = 0; k < key_count; ++k) keys.push_back(elements(random, kv_kind));
  }

  static std::vector<std::byte> elements(std::mt19937& random, ElementKind kind) {
    std::normal_distribution<float> normal;
    std::vector<std::byte> row(kind == ElementKind::bf16 ? 2 * kKey : kKey);
    for (std::size_t d = 0; d < kKey; ++d)
      if (kind == ElementKind::bf16)
        set_bf16(row, d, normal(random));
      else
        row[d] = static_cast<std::byte>(random() % 0x78);  // every finite code but the largest
    return row;
  }
  static void set_bf16(std::vector<std::byte>& row, std::size_t d, float value) {
    const std::uint16_t bits = bf16_from_float(value, Bf16Rounding::nearest_even);
    std::memcpy(&row[2 * d], &bits, sizeof bits);
  }

  [[nodiscard]] Attended attend(const cpu::DataPath& path) const {
    Attended result{std::vector<float>(q.size() * kValue), std::vector<float>(q.size())};
    std::vector<cpu::AttendRow> rows;
    for (std::size_t r = 0; r < q.size(); ++r)
      rows.push_back({q[r].data(), visible[r], &result.out[r * kValue], &result.lse[r]});
    std::vector<const std::byte*> at;
    for (const auto& key : keys) at.push_back(key.data());
    struct alignas(64) Line {
      std::byte bytes[64];
    };
    std::vector<Line> scratch(path.scratch_bytes() / sizeof(Line) + 1);
    const bool fp8 = q_kind != ElementKind::bf16 && kv_kind != ElementKind::bf16;
    path.attend({.rows = rows.data(),
                 .row_count = static_cast<std::int64_t>(rows.size()),
                 .keys = at.data(),
                 .key_count = static_cast<std::int64_t>(at.size()),
                 .key_dims = key_dims,
                 .value_dims = value_dims,
                 .q_kind = q_kind,
                 .kv_kind = kv_kind,
                 .p_kind = fp8 ? kv_kind : ElementKind::bf16,
                 .score_scale = score_scale,
                 .out_scale = 1},
                scratch.front().bytes);
    return result;
  }
};

bool lacks_it() {
  const std::vector<cpu::Isa> isas = cpu::available_isas();
  if (std::ranges::find(isas, cpu::Isa::avx512_bf16) != isas.end()) return false;
  test::skip("this machine has no vdpbf16ps that rounds one product after the other");
  return true;
}

constexpr std::pair<ElementKind, ElementKind> kKinds[] = {
    {ElementKind::bf16, ElementKind::bf16},         {ElementKind::bf16, ElementKind::e4m3fn},
    {ElementKind::bf16, ElementKind::e4m3fnuz},     {ElementKind::e4m3fn, ElementKind::e4m3fn},
    {ElementKind::e4m3fnuz, ElementKind::e4m3fnuz},
};

}  // namespace

TEST_CASE("avx512-bf16: random rows have the bits of avx512", "[cpu]") {
  if (lacks_it()) return;
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    const auto [q, kv] = kKinds[static_cast<std::size_t>(i) % std::size(kKinds)];
    const Job job(random, 1 + random() % 128, 1 + random() % 200, q, kv);
    INFO("job " << i << ": " << job.q.size() << " rows, " << job.keys.size() << " keys");
    CHECK((job.attend(*cpu::avx512_bf16_path()) == job.attend(*cpu::avx512_path())));
  }
}

TEST_CASE("avx512-bf16: random rows of every key width have the bits of avx512", "[cpu]") {
  if (lacks_it()) return;
  std::mt19937 random(5);
  for (std::int64_t dims = 1; dims <= static_cast<std::int64_t>(kKey); ++dims) {
    const auto [q, kv] = kKinds[static_cast<std::size_t>(dims) % std::size(kKinds)];
    Job job(random, 1 + random() % 40, 1 + random() % 70, q, kv);
    job.key_dims = dims;
    job.value_dims = 1 + static_cast<std::int64_t>(random()) % std::min<std::int64_t>(dims, kValue);
    INFO(dims << " elements, " << job.value_dims << " of them the value");
    CHECK((job.attend(*cpu::avx512_bf16_path()) == job.attend(*cpu::avx512_path())));
  }
}

TEST_CASE("avx512-bf16: a subnormal number in Q or in any key counts as it does for avx512",
          "[cpu]") {
  if (lacks_it()) return;
  std::mt19937 random(2);
  for (const bool in_key : {false, true}) {
    for (const std::size_t where : {0U, 3U, 99U}) {
      for (const float sign : {1.0F, -1.0F}) {
        Job job(random, 100, 100, ElementKind::bf16, ElementKind::bf16);
        job.visible.assign(100, 100);
        job.score_scale = 1;
        // 2^-127 times 2^126 is half of what the row's other products sum up to at most.
        auto& small = in_key ? job.keys[where] : job.q[where];
        auto& large = in_key ? job.q[where] : job.keys[where];
        Job::set_bf16(small, 575, sign * 0x1p-127F);
        Job::set_bf16(large, 575, 0x1p126F);
        CHECK((job.attend(*cpu::avx512_bf16_path()) == job.attend(*cpu::avx512_path())));
      }
    }
  }
}

TEST_CASE("avx512-bf16: sums flushed below 2^-126 stay within the term of the bound", "[cpu]") {
  if (lacks_it()) return;
  std::mt19937 random(3);
  Job job(random, 1, 64, ElementKind::bf16, ElementKind::bf16);
  job.visible = {64};
  job.score_scale = 0x1p110F;
  for (std::size_t d = 0; d < kKey; ++d) {
    Job::set_bf16(job.q[0], d, 0x1p-70F);
    for (auto& key : job.keys) Job::set_bf16(key, d, 0x1p-60F);
  }
  const Attended flushed = job.attend(*cpu::avx512_bf16_path());
  const Attended kept = job.attend(*cpu::avx512_path());
  CHECK(std::fabs(flushed.lse[0] - kept.lse[0]) <= 2 * kKey * 0x1p-126F * job.score_scale);
  CHECK(flushed.lse[0] == std::log(64.0F));
}

TEST_CASE("avx512-bf16: NaN and infinity reach the rows that see them, and no other", "[cpu]") {
  if (lacks_it()) return;
  std::mt19937 random(4);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (std::size_t key = 0; key < 70; ++key) {
      Job job(random, 40, 70, ElementKind::bf16, ElementKind::bf16);
      const Attended before = job.attend(*cpu::avx512_bf16_path());
      Job::set_bf16(job.keys[key], 5, bad);
      const Attended after = job.attend(*cpu::avx512_bf16_path());
      CHECK((after == job.attend(*cpu::avx512_path())));
      for (std::size_t r = 0; r < job.q.size(); ++r) {
        INFO("key " << key << ", row " << r << " sees " << job.visible[r]);
        const bool sees = job.visible[r] > static_cast<std::int64_t>(key);
        const bool same = std::equal(&before.out[r * kValue], &before.out[r * kValue] + kValue,
                                     &after.out[r * kValue]);
        CHECK(same != sees);
      }
    }
  }
}
