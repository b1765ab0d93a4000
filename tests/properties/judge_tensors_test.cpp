// Claims about the tensors of a case: where a key lies changes nothing, and nothing is left finite
// that no request owns.
#include <array>
#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "core/say.hpp"
#include "properties/generate/elements.hpp"
#include "properties/generate/tensors.hpp"
#include "tests/built_in_dims.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

struct Drawn {
  Case c;
  Batch batch;
  DecodeTensors tensors;
  explicit Drawn(const Case& of)
      : c(of), batch(*make_batch(of)), tensors(make_tensors(of, batch)) {}
  explicit Drawn(std::string_view line) : Drawn(case_of(line)) {}

  [[nodiscard]] std::vector<std::byte> key(std::int64_t request, std::int64_t position) const {
    const KvCache& cache = tensors.cache;
    const auto at = (batch.slot(request, position) - cache.first_slot) * cache.row_bytes();
    return {cache.bytes.begin() + at, cache.bytes.begin() + at + cache.row_bytes()};
  }
  // Element d of the cache row in `slot`, counted from the window's first slot.
  [[nodiscard]] float element(std::int64_t slot, std::int64_t d) const {
    const KvCache& cache = tensors.cache;
    const std::byte* row = &cache.bytes[static_cast<std::size_t>(slot * cache.row_bytes())];
    if (cache.dtype == Dtype::fp8)
      return fp8_to_float(static_cast<std::uint8_t>(row[d]), fp8_variant(c.arch));
    std::uint16_t bits = 0;
    std::memcpy(&bits, row + 2 * d, sizeof bits);
    return bf16_to_float(bits);
  }
};

}  // namespace

TEST_CASE("tensors: a key has the same bits wherever its block lies", "[judge][P18]") {
  const std::string base = "mla1:1q1s9_1q2s30;heads=16;block=4;data=normal.5;layout=";
  const Drawn plain(base + "contiguous");
  for (const char* layout : {"shuffled.3", "descending", "interleaved", "contiguous;origin=100"}) {
    const Drawn moved(base + layout);
    for (std::int64_t r = 0; r < 2; ++r)
      for (std::int64_t p = 0; p < plain.c.requests[static_cast<std::size_t>(r)].kv_len; ++p)
        CHECK(plain.key(r, p) == moved.key(r, p));
    CHECK(plain.tensors.q == moved.tensors.q);
  }
}

TEST_CASE("tensors: only keys of a shared prefix are the same for two requests", "[judge]") {
  const Drawn drawn("mla1:2q1s11;heads=16;block=4;layout=prefix.2");
  for (std::int64_t p = 0; p < 11; ++p) CHECK((drawn.key(0, p) == drawn.key(1, p)) == (p < 8));
}

TEST_CASE("tensors: slots that no request owns hold NaN, owned ones never do", "[judge]") {
  for (const char* fields :
       {"arch=gfx942;dtype=bf16/bf16", "arch=gfx942;dtype=fp8/fp8", "arch=gfx950;dtype=fp8/fp8",
        "arch=gfx950;dtype=bf16/fp8;data=large.1"}) {
    const Drawn drawn(std::string("mla1:1q1s9_1q1s0_1q2s30;block=4;") + fields);
    std::set<std::int64_t> owned;
    for (std::int64_t r = 0; r < 3; ++r)
      for (std::int64_t p = 0; p < drawn.batch.requests[static_cast<std::size_t>(r)].kv_len; ++p)
        owned.insert(drawn.batch.slot(r, p));
    CHECK(owned.size() == 39);
    for (std::int64_t slot = 0; slot < drawn.tensors.cache.slots; ++slot)
      for (const std::int64_t d : {0, 300, 575})
        CHECK(std::isnan(drawn.element(slot, d)) == !owned.contains(slot));
  }
}

TEST_CASE("tensors: a row of other widths is the first elements of one of 512 + 64", "[judge]") {
  for (const char* dtypes : {"bf16/bf16", "bf16/fp8", "fp8/fp8"})
    for (const char* widths : {"rope=0", "latent=448;value=512", "latent=7;rope=2"}) {
      INFO(dtypes << " " << widths);
      const std::string line = say("mla1:2q2s9;heads=3;scale=2/0.5;arch=gfx950;dtype=", dtypes);
      const Case wide = *parse_case(line);
      const Case narrow = *parse_case(line + ";" + widths);
      const DecodeTensors whole = make_tensors(wide, *make_batch(wide));
      const DecodeTensors cut = make_tensors(narrow, *make_batch(narrow));
      CHECK(cut.cache.widths == narrow.widths());
      const auto same = [&](const std::vector<std::byte>& a, const std::vector<std::byte>& b,
                            Dtype dtype) {
        const auto from = static_cast<std::size_t>(kBuiltIn.key_bytes(dtype));
        const auto to = static_cast<std::size_t>(narrow.widths().key_bytes(dtype));
        REQUIRE(a.size() / from == b.size() / to);
        REQUIRE(b.size() % to == 0);
        for (std::size_t row = 0; row < b.size() / to; ++row)
          if (!std::equal(&b[row * to], &b[row * to] + to, &a[row * from])) return false;
        return true;
      };
      CHECK(same(whole.q, cut.q, narrow.dtype.q));
      CHECK(same(whole.cache.bytes, cut.cache.bytes, narrow.dtype.kv));
    }
}

TEST_CASE("tensors: a narrow one-hot row has one element, too", "[judge]") {
  const Case c = *parse_case("mla1:1q1s40;heads=2;latent=7;rope=2;data=onehot.3");
  const DecodeTensors t = make_tensors(c, *make_batch(c));
  for (std::size_t row = 0; row < t.q.size() / 18; ++row) {
    int ones = 0;
    for (std::size_t d = 0; d < 9; ++d) ones += t.q[row * 18 + 2 * d + 1] != std::byte{0} ? 1 : 0;
    CHECK(ones == 1);
  }
}

TEST_CASE("tensors: the softmax scale is that of 128 + rope, or of a row that is all value",
          "[judge]") {
  const auto scale = [](const char* widths) {
    const Case c = *parse_case(std::string("mla1:1q1s1;heads=1;") + widths);
    return make_tensors(c, *make_batch(c)).softmax_scale;
  };
  CHECK(scale("latent=512") == kSoftmaxScale);
  CHECK(scale("latent=256") == Approx(1 / std::sqrt(192.0)));
  CHECK(scale("rope=0") == Approx(1 / std::sqrt(128.0)));
  CHECK(scale("latent=448") == Approx(1 / std::sqrt(192.0)));
  CHECK(scale("latent=448;value=512") == Approx(1 / std::sqrt(512.0)));
}

TEST_CASE("elements: `normal` has mean 0 and deviation 1, and scores are neither flat nor one-hot",
          "[judge]") {
  std::array<float, 576> q{};
  std::array<float, 576> k{};
  double sum = 0;
  double squares = 0;
  double score_squares = 0;
  constexpr int kRows = 2000;
  for (int i = 0; i < kRows; ++i) {
    element_row({Distribution::normal, 3}, {TensorId::query, 0, i, 1}, q);
    element_row({Distribution::normal, 3}, {TensorId::key, 0, i, 0}, k);
    double dot = 0;
    for (std::size_t d = 0; d < q.size(); ++d) {
      sum += q[d];
      squares += static_cast<double>(q[d]) * q[d];
      dot += static_cast<double>(q[d]) * k[d];
    }
    score_squares += std::pow(dot * kSoftmaxScale, 2);
  }
  CHECK(std::fabs(sum / (kRows * 576)) < 0.005);
  CHECK(std::fabs(squares / (kRows * 576) - 1) < 0.01);
  CHECK(std::sqrt(score_squares / kRows) > 1.5);
  CHECK(std::sqrt(score_squares / kRows) < 2.0);
}

namespace {

const std::vector<RowFormat> kFormats = {
    {Dtype::bf16, Fp8Variant::e4m3fn, 1.0F},
    {Dtype::fp8, Fp8Variant::e4m3fn, 1.0F},
    {Dtype::fp8, Fp8Variant::e4m3fn, 0.37F},
    {Dtype::fp8, Fp8Variant::e4m3fnuz, 0.37F},
};
const std::vector<Distribution> kDistributions = {Distribution::normal, Distribution::spiky,
                                                  Distribution::large, Distribution::constant,
                                                  Distribution::onehot};

std::vector<std::byte> encoded(const RowFunctions& by, const DataSpec& data, const RowId& id,
                               const RowFormat& format) {
  std::vector<std::byte> out(static_cast<std::size_t>(kKeyDim * element_bytes(format.dtype)));
  by.encode(data, id, format, out.data());
  return out;
}

}  // namespace

TEST_CASE("elements: every instruction set draws and encodes the same bits", "[judge]") {
  const RowFunctions& portable = row_functions().back();
  REQUIRE(std::string(portable.name) == "portable");
  for (const RowFunctions& by : row_functions())
    for (const Distribution kind : kDistributions)
      for (std::int64_t i = 0; i < 20; ++i) {
        INFO(by.name << ", " << name(kind) << ", row " << i);
        const DataSpec data{kind, 5};
        const RowId id{i % 2 == 0 ? TensorId::key : TensorId::query, i % 3, i, i / 7};
        std::array<float, 576> got{};
        std::array<float, 576> want{};
        by.fill(data, id, got);
        portable.fill(data, id, want);
        CHECK(got == want);
        for (const RowFormat& format : kFormats)
          CHECK(encoded(by, data, id, format) == encoded(portable, data, id, format));
      }
}

TEST_CASE("elements: an encoded row is the drawn row, each element divided and rounded",
          "[judge]") {
  for (const Distribution kind : kDistributions)
    for (const RowFormat& format : kFormats) {
      std::array<float, 576> drawn{};
      element_row({kind, 2}, {TensorId::key, 1, 3, 0}, drawn);
      const auto bytes =
          encoded(row_functions().front(), {kind, 2}, {TensorId::key, 1, 3, 0}, format);
      for (std::size_t d = 0; d < drawn.size(); ++d) {
        if (format.dtype == Dtype::fp8) {
          CHECK(bytes[d] == std::byte{fp8_from_float(drawn[d] / format.scale, format.variant)});
          continue;
        }
        std::uint16_t bits = 0;
        std::memcpy(&bits, &bytes[2 * d], sizeof bits);
        CHECK(bits == bf16_from_float(drawn[d], Bf16Rounding::nearest_even));
      }
    }
}

TEST_CASE("elements: their bits are those of every earlier version and machine", "[judge]") {
  std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a
  for (const Distribution kind : kDistributions)
    for (const RowFormat& format : kFormats)
      for (std::int64_t i = 0; i < 10; ++i)
        for (const std::byte b :
             encoded(row_functions().front(), {kind, 42}, {TensorId::key, i % 3, i, 0}, format))
          hash = (hash ^ static_cast<std::uint64_t>(b)) * 0x100000001B3U;
  CHECK(hash == 0xF34D9C7C3D5FC555U);
}

TEST_CASE("elements: another seed, tensor, request, row or head is another row", "[judge]") {
  std::set<std::array<float, 576>> rows;
  for (const RowId id : {RowId{TensorId::query, 0, 0, 0}, RowId{TensorId::key, 0, 0, 0},
                         RowId{TensorId::query, 1, 0, 0}, RowId{TensorId::query, 0, 1, 0},
                         RowId{TensorId::query, 0, 0, 1}, RowId{TensorId::key, -1, 0, 0}})
    for (const std::uint64_t seed : {0, 1}) {
      std::array<float, 576> row{};
      element_row({Distribution::normal, seed}, id, row);
      rows.insert(row);
    }
  CHECK(rows.size() == 12);
}

TEST_CASE("elements: each distribution looks like its description", "[judge]") {
  const auto row = [](Distribution kind) {
    std::array<float, 576> values{};
    element_row({kind, 9}, {TensorId::key, 0, 4, 0}, values);
    return values;
  };
  int nonzero = 0;
  for (const float v : row(Distribution::onehot)) nonzero += v != 0 ? 1 : 0;
  CHECK(nonzero == 1);
  const auto constant = row(Distribution::constant);
  CHECK(std::set<float>(constant.begin(), constant.end()).size() == 1);
  int spikes = 0;
  for (const float v : row(Distribution::spiky)) spikes += std::fabs(v) > 1 ? 1 : 0;
  CHECK(spikes > 2);
  CHECK(spikes < 30);
  int large = 0;
  for (const float v : row(Distribution::large)) large += std::fabs(v) > 3.5F ? 1 : 0;
  CHECK(large > 50);
}

TEST_CASE("tensors: nothing saturates at scale 1, and a small scale is counted", "[judge][P16]") {
  for (const char* data : {"normal", "spiky", "large", "constant", "onehot"})
    for (const char* arch : {"gfx942", "gfx950"}) {
      Case c = case_of("mla1:2q2s50;dtype=fp8/fp8;arch=" + std::string(arch) +
                       ";data=" + std::string(data) + ".1");
      CHECK(saturated_elements(c, *make_batch(c)) == 0);
      c.decode().kv_scale = 0x1p-20F;
      CHECK(saturated_elements(c, *make_batch(c)) > 0);
    }
}

TEST_CASE("tensors: twice the scale halves the stored fp8 values, and bf16 knows no scale",
          "[judge][P16]") {
  Case c = case_of("mla1:1q1s20;dtype=bf16/fp8;arch=gfx950;data=large.2;scale=1/1");
  const Drawn once(c);
  c.decode().kv_scale = 2;
  c.decode().q_scale = 2;
  const Drawn twice(c);
  CHECK(twice.tensors.kv_scale == 2);
  CHECK(twice.tensors.q_scale == 1);
  CHECK(once.tensors.q == twice.tensors.q);
  int halved = 0;
  for (std::int64_t d = 0; d < 576; ++d) {
    if (std::fabs(once.element(0, d)) < 0.25F) continue;  // subnormals lose bits
    CHECK(once.element(0, d) == 2 * twice.element(0, d));
    ++halved;
  }
  CHECK(halved > 300);
}
