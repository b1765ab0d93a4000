#include "properties/tags.hpp"

#include <algorithm>
#include <array>

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

bool beside_a_bound(const Case& c) {
  return any_request(c, [](const Case& spec, const RequestSpec& r) {
    for (const std::int64_t step : {spec.block_size, spec.granularity * spec.page_size})
      if (step > 2 && r.kv_len >= step - 1 && (r.kv_len + 1) % step <= 2 && r.kv_len % step != 0)
        return true;
    return false;
  });
}

constexpr std::array kTags = {
    Tag{"a query length other than 1, 2 and 4", odd_query},
    Tag{"a request without keys", without_keys},
    Tag{"blocks of several tokens", [](const Case& c) { return c.block_size > 1; }},
    Tag{"fewer than 16 heads", [](const Case& c) { return c.heads < 16; }},
    Tag{"a length one beside a block or granule", beside_a_bound},
    Tag{"padding requests", [](const Case& c) { return c.pad_requests > 0; }},
};

}  // namespace

std::span<const Tag> all_tags() {
  return kTags;
}

}  // namespace mla::prop
