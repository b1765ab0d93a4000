#include "properties/judge/tags.hpp"

#include <algorithm>
#include <array>

#include "properties/generate/cost.hpp"

namespace mla::prop {
namespace {

bool any_request(const Case& c, bool (*holds)(const Case&, const RequestSpec&)) {
  const auto one = [&](const RequestSpec& r) { return holds(c, r); };
  return std::any_of(c.requests.begin(), c.requests.end(), one);
}

bool odd_query(const Case& c) {
  return any_request(c, [](const Case&, const RequestSpec& r) {
    return r.qo_len != 0 && r.qo_len != 1 && r.qo_len != 2 && r.qo_len != 4;
  });
}

bool without_keys(const Case& c) {
  return any_request(c, [](const Case&, const RequestSpec& r) { return r.kv_len == 0; });
}

bool is_decode(const Case& c) {
  return c.kind() == StepKind::decode;
}

bool beside_a_bound(const Case& c) {
  return any_request(c, [](const Case& spec, const RequestSpec& r) {
    const std::int64_t work = is_decode(spec) ? spec.decode().granularity * spec.page_size : 16;
    for (const std::int64_t step : {spec.block_size, work})
      if (step > 2 && r.kv_len >= step - 1 && (r.kv_len + 1) % step <= 2 && r.kv_len % step != 0)
        return true;
    return false;
  });
}

std::int64_t requests_with_keys(const Case& c, std::int64_t keys) {
  return std::count_if(c.requests.begin(), c.requests.end(),
                       [keys](const RequestSpec& r) { return r.qo_len > 0 && r.kv_len >= keys; });
}

std::int64_t requests_of(const Case& c) {
  return std::ssize(c.requests) + c.pad_requests;
}

// Keys that a compute unit gets on average: at least as many are in the works of longer requests.
std::int64_t keys_of_a_slot(const Case& c) {
  std::int64_t keys = 0;
  for (const RequestSpec& r : c.requests) keys += r.kv_len;
  return keys / c.compute_units;
}

bool wide_works(const Case& c) {
  return is_decode(c) && keys_of_a_slot(c) >= 257 &&
         any_request(c, [](const Case& spec, const RequestSpec& r) {
           return r.qo_len * spec.heads >= 64 && r.kv_len >= 257;
         });
}

// The first row ends before a tile of 64 keys does, the last one after it, and no slot is so full
// that the request is cut.
bool rows_end_in_two_tiles(const Case& c) {
  constexpr std::int64_t kTile = 64;
  return is_decode(c) && c.causal && any_request(c, [](const Case& spec, const RequestSpec& r) {
           const std::int64_t first = r.kv_len - r.qo_len + 1;
           return r.qo_len >= 3 && first > 0 && first / kTile != (r.kv_len - 1) / kTile &&
                  r.kv_len <= keys_of_a_slot(spec);
         });
}

bool many_rows_of_all_heads(const Case& c) {
  return is_decode(c) && any_request(c, [](const Case& spec, const RequestSpec& r) {
           return spec.heads == kMaxHeads && r.qo_len >= 2 && r.qo_len <= 4 && r.kv_len >= 128;
         });
}

bool beside_the_gate(const Case& c) {
  return is_decode(c) && c.arch == Arch::gfx950 && requests_of(c) >= 31 && requests_of(c) <= 33;
}

bool raised_elsewhere(const Case& c) {
  return is_decode(c) && c.decode().kernel_rows != 0 && c.decode().kernel_rows != 4 &&
         c.decode().kernel_rows != 8;
}

// The device kernels rescale what they summed up from the second tile of 32 keys on.
bool tiles_of_prefill(const Case& c) {
  return c.kind() == StepKind::prefill &&
         any_request(c, [](const Case&, const RequestSpec& r) { return r.kv_len > 64; });
}

bool unusual_window(const Case& c) {
  return c.kind() == StepKind::fa && c.fa().window > 0 && c.fa().window != 15 &&
         c.fa().window != 127;
}

constexpr StepKinds kEvery{true, true, true};
constexpr StepKinds kDecode{true, false, false};
constexpr StepKinds kPrefill{false, true, false};
constexpr StepKinds kFa{false, false, true};
constexpr StepKinds kNotPrefill{true, false, true};

constexpr std::array kTags = {
    Tag{"a query length other than 1, 2 and 4", odd_query, kEvery},
    Tag{"a request without keys", without_keys, kNotPrefill},
    Tag{"blocks of several tokens", [](const Case& c) { return c.block_size > 1; }, kEvery},
    Tag{"fewer than 16 heads", [](const Case& c) { return c.heads < 16; }, kEvery},
    Tag{"a length one beside a block or granule", beside_a_bound, kEvery},
    Tag{"padding requests", [](const Case& c) { return c.pad_requests > 0; }, kDecode},
    Tag{"a prefill step", [](const Case& c) { return c.kind() == StepKind::prefill; }, kPrefill},
    Tag{"an FA step", [](const Case& c) { return c.kind() == StepKind::fa; }, kFa},
    Tag{"a prefill of more keys than two tiles have", tiles_of_prefill, kPrefill},
    Tag{"several steps", [](const Case& c) { return !c.later_steps.empty(); }, kEvery, 10, true},
    Tag{"works of 64 packed rows and 257 keys", wide_works, kDecode, 200, true},
    Tag{"a request in one work, whose rows end in two tiles", rows_end_in_two_tiles, kDecode, 500,
        true},
    Tag{"128 heads, 2 to 4 rows and 128 keys", many_rows_of_all_heads, kDecode, 200, true},
    Tag{"17 requests of 200 keys, and works as long",
        [](const Case& c) {
          return is_decode(c) && requests_with_keys(c, 200) >= 17 && keys_of_a_slot(c) >= 200;
        },
        kDecode, 200, true},
    Tag{"64 requests", [](const Case& c) { return is_decode(c) && requests_of(c) >= 64; }, kDecode,
        200, true},
    Tag{"a context of 8192 keys",
        [](const Case& c) { return is_decode(c) && requests_with_keys(c, 8192) > 0; }, kDecode, 200,
        true},
    Tag{"more than 304 compute units", [](const Case& c) { return c.compute_units > 304; }, kDecode,
        200, true},
    Tag{"31 to 33 requests on gfx950", beside_the_gate, kDecode, 200, true, Arch::gfx950},
    Tag{"rows raised to another number than 4 and 8", raised_elsewhere, kDecode, 200, true},
    Tag{"a step too large to execute",
        [](const Case& c) { return why_not_executed(c, {}).has_value(); }, kDecode, 200, true},
    Tag{"a prefill of more than 24 heads",
        [](const Case& c) { return c.kind() == StepKind::prefill && c.heads > 24; }, kPrefill, 200,
        true},
    Tag{"an FA step of more than 16 heads",
        [](const Case& c) { return c.kind() == StepKind::fa && c.heads > 16; }, kFa, 200, true},
    Tag{"a window other than 0, 15 and 127", unusual_window, kFa, 200, true},
};

}  // namespace

std::span<const Tag> all_tags() {
  return kTags;
}

bool is_owed(const Tag& tag, StepKinds judged, const RunOptions& options) {
  if (tag.production && !options.production) return false;
  if (tag.only_on && options.arch && *options.arch != *tag.only_on) return false;
  for (std::size_t kind = 0; kind < judged.size(); ++kind)
    if (judged[kind] && tag.kinds[kind]) return true;
  return false;
}

}  // namespace mla::prop
