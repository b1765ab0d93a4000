// Claims about captured steps: Q and live keys are finite or named, rows of a graph's padding may
// follow, and what is not replayed is refused by name.
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/say.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "properties/app/capture_case.hpp"
#include "properties/dump/check/tensors.hpp"
#include "properties/dump/read/dump.hpp"
#include "properties/dump/read/safetensors.hpp"
#include "properties/dump/replay/live_values.hpp"
#include "properties/dump/replay/step.hpp"
#include "tests/built_in_dims.hpp"
#include "tests/catch.hpp"

using namespace mla;
using namespace mla::dump;
using mla::test::contains;

namespace {

constexpr const char* kBf16 = "mla1:2q2s40_1q2s33;heads=16;cu=4;block=16;page=16";
constexpr const char* kFp8 = "mla1:2q1s20;heads=16;cu=4;dtype=fp8/fp8";

Bundle captured(const char* line) {
  const auto c = parse_case(line);
  REQUIRE(c.ok());
  auto bundle = app::capture_case(*c, *cpu::make_cpu_backend(), prop::Interposer::none());
  REQUIRE(bundle.ok());
  return std::move(*bundle);
}

// Writes `bits` to element `element` of a tensor.
void put(Bundle& bundle, const char* key, std::int64_t element, std::uint16_t bits) {
  io::RawArray& array = bundle.arrays.at(key);
  std::memcpy(&array.bytes[static_cast<std::size_t>(element * array.width)], &bits,
              static_cast<std::size_t>(array.width));
}

void set(Bundle& bundle, const char* key, const nlohmann::ordered_json& value) {
  nlohmann::ordered_json scalars = *bundle.scalars;
  scalars[key] = value;
  bundle.scalars = std::make_shared<const nlohmann::ordered_json>(std::move(scalars));
}

Result<std::unique_ptr<CapturedStep>> step_of(const Bundle& bundle) {
  const auto dump = read_dump(bundle);
  if (!dump) return dump.error();
  return captured_step(*dump);
}

// Element `element` of key `key` of request `request` in kv_cache.
std::int64_t in_cache(const Bundle& bundle, std::int64_t request, std::int64_t key,
                      std::int64_t element) {
  const std::int64_t page_size = bundle.scalars->at("page_size").get<std::int64_t>();
  const auto list = [&](const char* name) { return *io::integers_of(bundle.arrays.at(name)); };
  const std::int64_t first = list("seqlens_kv_indptr")[static_cast<std::size_t>(request)];
  const auto page = list("kv_indices")[static_cast<std::size_t>(first + key / page_size)];
  const auto pages = list("kv_cache_pages");
  const std::int64_t place = std::find(pages.begin(), pages.end(), page) - pages.begin();
  return (place * page_size + key % page_size) * kKeyDim + element;
}

ValueFindings findings(const Bundle& bundle) {
  const auto step = step_of(bundle);
  REQUIRE(step.ok());
  return check_live_values(**step);
}

using Flags = std::vector<bool>;

}  // namespace

TEST_CASE("captured values: a sound step has no finding", "[cli][replay]") {
  for (const char* line : {kBf16, kFp8}) {
    const ValueFindings found = findings(captured(line));
    CHECK(found.sentences.empty());
    CHECK(found.affected() == 0);
  }
}

TEST_CASE("captured values: a key is named, and reaches all rows of its request", "[cli][replay]") {
  Bundle bundle = captured(kBf16);
  put(bundle, "kv_cache", in_cache(bundle, 1, 5, 17), 0x7FC0);
  ValueFindings found = findings(bundle);
  CHECK(found.sentences == std::vector<std::string>{"key 5 of request 1 holds NaN at element 17"});
  CHECK(found.rows == Flags{false, false, true, true, false, false});
  bundle = captured(kBf16);
  put(bundle, "kv_cache", in_cache(bundle, 2, 32, 575), 0xFF80);
  found = findings(bundle);
  CHECK(found.sentences ==
        std::vector<std::string>{"key 32 of request 2 holds infinity at element 575"});
  CHECK(found.rows == Flags{false, false, false, false, true, true});
  put(bundle, "kv_cache", in_cache(bundle, 2, 31, 0), 0x7F80);
  found = findings(bundle);
  CHECK_THAT(found.sentences.at(0), contains("key 31 of request 2") && contains("2 keys in all"));
  CHECK(found.rows == Flags{false, false, false, false, true, true});
}

TEST_CASE("captured values: what follows a request's last key may hold anything", "[cli][replay]") {
  Bundle bundle = captured(kBf16);
  for (std::int64_t key = 40; key < 48; ++key)
    put(bundle, "kv_cache", in_cache(bundle, 0, key, 3), 0x7FC0);
  CHECK(findings(bundle).sentences.empty());
}

TEST_CASE("captured values: bad keys from somewhere in a last page to its end are told from others",
          "[cli][replay]") {
  CHECK_FALSE(findings(captured(kBf16)).at_ends);
  Bundle bundle = captured(kBf16);
  put(bundle, "kv_cache", in_cache(bundle, 0, 38, 3), 0x7FC0);
  CHECK_FALSE(findings(bundle).at_ends);
  put(bundle, "kv_cache", in_cache(bundle, 0, 39, 3), 0x7FC0);
  put(bundle, "kv_cache", in_cache(bundle, 2, 32, 575), 0xFF80);
  CHECK(findings(bundle).at_ends);
  Bundle with_query = bundle;
  put(with_query, "q", 0, 0x7FC1);
  CHECK_FALSE(findings(with_query).at_ends);
  put(bundle, "kv_cache", in_cache(bundle, 2, 31, 0), 0x7F80);
  CHECK_FALSE(findings(bundle).at_ends);
}

TEST_CASE("captured values: fp8 has a NaN of its own for each architecture", "[cli][replay]") {
  Bundle bundle = captured(kFp8);
  put(bundle, "kv_cache", in_cache(bundle, 1, 19, 0), 0x7F);  // 240 on gfx942
  CHECK(findings(bundle).sentences.empty());
  put(bundle, "kv_cache", in_cache(bundle, 1, 19, 0), 0x80);
  CHECK_THAT(findings(bundle).sentences.at(0), contains("key 19 of request 1 holds NaN"));
}

TEST_CASE("captured values: an element of Q is named with row and head", "[cli][replay]") {
  Bundle bundle = captured(kBf16);
  put(bundle, "q", (3 * 16 + 5) * kKeyDim + 7, 0x7FC1);
  const ValueFindings found = findings(bundle);
  CHECK(found.sentences ==
        std::vector<std::string>{"q of row 1 of request 1, head 5, holds NaN at element 7"});
  CHECK(found.rows == Flags{false, false, false, true, false, false});
}

TEST_CASE("captured tensors: rows of padding may follow, and nothing else", "[cli][replay]") {
  for (const char* key : {"q", "out", "lse"}) {
    Bundle bundle = captured(kBf16);
    io::RawArray& array = bundle.arrays.at(key);
    const std::vector<std::byte> before = array.bytes;
    const std::size_t row = array.bytes.size() / 6;
    array.bytes.resize(8 * row, std::byte{0xFF});
    array.shape[0] = 8;
    const auto step = step_of(bundle);
    REQUIRE(step.ok());
    if (std::string(key) == "q") CHECK((*step)->tensors.q == before);
    array.bytes.resize(7 * row + row / 2);
    array.shape = {std::ssize(array.bytes) / array.width};
    CHECK_FALSE(step_of(bundle).ok());
    array.bytes = before;
    array.bytes.insert(array.bytes.end(), before.begin(), before.end());
    array.shape = {6, 32, 576};  // twice the heads are not twice the rows
    CHECK_FALSE(step_of(bundle).ok());
    array.bytes.assign(before.begin(), before.begin() + static_cast<std::ptrdiff_t>(5 * row));
    array.shape = {5, 16, 576};
    CHECK_FALSE(step_of(bundle).ok());
  }
}

TEST_CASE("captured tensors: an array whose dimensions are in another order is refused",
          "[cli][replay]") {
  for (const char* key : {"q", "kv_cache", "out", "lse"}) {
    Bundle bundle = captured(kBf16);
    std::vector<std::int64_t>& shape = bundle.arrays.at(key).shape;
    REQUIRE(step_of(bundle).ok());
    std::rotate(shape.begin(), shape.begin() + 1, shape.end());
    const auto step = step_of(bundle);
    REQUIRE_FALSE(step.ok());
    CHECK(step.error().message.find("array '" + std::string(key) + "' has shape (") == 0);
  }
}

TEST_CASE("captured step: a tensor that the file calls by another encoding is refused by name",
          "[cli][replay]") {
  const auto with = [](const char* line, const char* key, std::string_view encoding) {
    Bundle bundle = captured(line);
    bundle.arrays.at(key).encoding = encoding;
    const auto step = step_of(bundle);
    return step ? "read" : step.error().message;
  };
  const std::string on950 = std::string(kFp8) + ";arch=gfx950";
  for (const char* key : {"q", "kv_cache"}) {
    const std::string array = std::string("array '") + key + "' holds ";
    const std::string bits = ", or its bits as unsigned integers";
    for (const char* other : {"F8_E4M3", "F8_E5M2", "BOOL"})
      CHECK(with(kFp8, key, other) == array + other + ": expected F8_E4M3FNUZ" + bits);
    for (const char* other : {"F8_E4M3FNUZ", "F8_E5M2", "BOOL"})
      CHECK(with(on950.c_str(), key, other) == array + other + ": expected F8_E4M3" + bits);
    CHECK(with(kFp8, key, "F8_E4M3FNUZ") == "read");
    CHECK(with(on950.c_str(), key, "F8_E4M3") == "read");
    CHECK(with(kBf16, key, "BF16") == "read");
    Bundle bundle = captured(kFp8);
    bundle.arrays.at(key).kind = io::ElementKind::unsigned_integer;  // as mla_capture.py writes it
    CHECK(step_of(bundle).ok());
    bundle.arrays.at(key).kind = io::ElementKind::signed_integer;
    CHECK(step_of(bundle).error().message == array + "I8: expected F8_E4M3FNUZ" + bits);
    CHECK(step_of(bundle).error().code == ErrorCode::usage);
  }
}

TEST_CASE("safetensors: an array keeps the name of its encoding, an integer or float has none",
          "[cli][replay]") {
  for (const char* type : {"BOOL", "F8_E4M3", "F8_E4M3FNUZ", "F8_E5M2", "U8", "I8"}) {
    const std::string header =
        std::string(R"({"q": {"dtype": ")") + type + R"(", "shape": [1], "data_offsets": [0, 1]}})";
    std::string file(8, '\0');
    file[0] = static_cast<char>(header.size());
    file += header + "x";
    const auto read = read_safetensors(std::as_bytes(std::span(file)));
    REQUIRE(read.ok());
    const bool integer = std::string_view(type).size() == 2;
    CHECK(read->arrays.at("q").encoding == (integer ? "" : type));
  }
}

TEST_CASE(
    "captured step: of many requests and one long one, no block table is made before the "
    "tensors are there and its size is looked at",
    "[cli][replay]") {
  constexpr std::int32_t kRequests = 65536;
  constexpr std::int32_t kPages = 1 << 20;
  Bundle bundle = captured(kBf16);
  const auto put_words = [&bundle](const char* key, const std::vector<std::int32_t>& words) {
    bundle.arrays[key] = io::raw_words(words);
  };
  std::vector<std::int32_t> rows(kRequests + 1, 6);
  std::copy_n(std::vector<std::int32_t>{0, 2, 4}.begin(), 3, rows.begin());
  std::vector<std::int32_t> pages(kRequests + 1, kPages);
  pages[0] = 0;
  const auto dumped = *io::integers_of(bundle.arrays.at("kv_cache_pages"));
  put_words("seqlens_qo_indptr", rows);
  put_words("seqlens_kv_indptr", pages);
  put_words("kv_last_page_lens", std::vector<std::int32_t>(kRequests, 1));
  put_words("kv_indices",
            std::vector<std::int32_t>(kPages, static_cast<std::int32_t>(dumped.front())));
  const auto error = [&bundle] { return step_of(bundle).error(); };
  CHECK(error().message ==
        "a block table of 65536 requests and up to 1048576 pages has 68719476736 entries: "
        "expected at most 268435456");
  CHECK(error().code == ErrorCode::usage);
  bundle.arrays.erase("q");
  CHECK_THAT(error().message, contains("array 'q' is missing"));
}

TEST_CASE("captured step: what is executed is the call of the kernel, not that of the planner",
          "[cli][replay]") {
  Bundle bundle = captured(kFp8);
  set(bundle, "num_heads_per_head_k", 128);
  for (const char* key : {"dtype_q", "dtype_kv"}) set(bundle, key, "bf16");
  CHECK_THAT(step_of(bundle).error().message, contains("array 'q' has elements of"));
  set(bundle, "launch_num_heads", 16);
  for (const char* key : {"launch_dtype_q", "launch_dtype_kv"}) set(bundle, key, "fp8");
  const auto step = step_of(bundle);
  REQUIRE(step.ok());
  CHECK((*step)->spec.heads == 16);
  CHECK(findings(bundle).sentences.empty());
}

// The bundle with a cache of packed rows in place of its own, as many as its pages have.
Bundle packed(std::int64_t row_bytes) {
  Bundle bundle = captured(kBf16);
  const auto pages = std::ssize(*io::integers_of(bundle.arrays.at("kv_cache_pages")));
  const auto bytes = static_cast<std::size_t>(pages * 16 * row_bytes);
  bundle.arrays["kv_cache"] = {.kind = io::ElementKind::unsigned_integer,
                               .width = 1,
                               .shape = {pages, 16, row_bytes},
                               .bytes = std::vector<std::byte>(bytes)};
  return bundle;
}

TEST_CASE("captured step: packed rows are refused with their width, and check says so",
          "[cli][replay]") {
  const auto [row, name] = GENERATE(std::pair(656, "fp8_ds_mla"), std::pair(584, "DeepSeek-V4"));
  Bundle bundle = packed(row);
  const auto step = step_of(bundle);
  REQUIRE_FALSE(step.ok());
  CHECK(step.error().code == ErrorCode::unsupported);
  CHECK(step.error().message ==
        say("a step over packed rows of ", row, " bytes (", name, ") is not replayed"));
  const auto pages = std::ssize(*io::integers_of(bundle.arrays.at("kv_cache_pages")));
  bundle.arrays.erase("kv_cache_pages");  // all pages of the cache
  nlohmann::ordered_json scalars = *bundle.scalars;
  scalars.erase("num_pages");
  bundle.scalars = std::make_shared<const nlohmann::ordered_json>(std::move(scalars));
  const auto dump = read_dump(bundle);
  REQUIRE(dump.ok());
  const auto& decode = std::get<DecodeDump>(dump->step);
  CHECK(decode.planned.cache.pages == pages);
  const ListFindings found = check_tensors(decode);
  CHECK(found.violations.empty());
  REQUIRE(found.notes.size() == 1);
  CHECK(found.notes[0] == say("kv_cache has packed rows of ", row, " bytes (", name,
                              "): lists and plan are judged, and the rows are not read"));
}

TEST_CASE("captured step: rows of bytes that are no packed ones are refused by their size",
          "[cli][replay]") {
  const auto step = step_of(packed(600));
  REQUIRE_FALSE(step.ok());
  CHECK(step.error().message == "array 'kv_cache' has elements of 8 bits, not of 16");
}

TEST_CASE("captured step: prefill, context parallelism and several KV heads are refused by name",
          "[cli][replay]") {
  const auto refused = [](const Bundle& bundle) {
    const auto step = step_of(bundle);
    REQUIRE_FALSE(step.ok());
    CHECK(step.error().code == ErrorCode::unsupported);
    return step.error().message;
  };
  Bundle bundle = captured(kBf16);
  set(bundle, "is_cp_round_robin", true);
  CHECK(refused(bundle) ==
        "a step of context parallelism (is_cp_round_robin is true) is not replayed");
  bundle = captured(kBf16);
  set(bundle, "num_heads_k", 2);
  set(bundle, "num_heads_per_head_k", 8);
  CHECK(refused(bundle) == "a step of several KV heads (num_heads_k is 2) is not replayed");
  bundle = captured(kBf16);
  set(bundle, "kv_scale_shape", {33, 1});
  CHECK(refused(bundle) ==
        "a step whose kv_scale is no single number (its shape is [33,1]) is not replayed");
  bundle = captured(kBf16);
  set(bundle, "launch_cp_world_size", 2);
  CHECK(refused(bundle) ==
        "a step of context parallelism (is_cp_round_robin is true) is not replayed");
  const auto prefill = captured_step({.name = "prefill", .step = PrefillDump{}});
  REQUIRE_FALSE(prefill.ok());
  CHECK(prefill.error().code == ErrorCode::unsupported);
  CHECK(prefill.error().message == "a prefill step is not replayed, only decode steps are");
}
