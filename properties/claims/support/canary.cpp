#include "properties/claims/support/canary.hpp"

#include <string>

#include "core/io/checksum.hpp"
#include "core/say.hpp"

namespace mla::prop {
namespace {

constexpr std::uint64_t kOneIn = 100;

std::uint64_t hash_of(const Case& c) {
  const std::string line = format_case(c);
  return io::fnv1a64(std::as_bytes(std::span(line)));
}

Outcome fail_sometimes(Subject& subject) {
  const std::uint64_t hash = hash_of(subject.spec());
  if (hash % kOneIn != 0) return passed();
  return failed(say("the case line hashes to ", io::hex64(hash), ", a multiple of ", kOneIn));
}

}  // namespace

const Property& canary() {
  static constexpr Property kCanary{"P00", "canary", "Fails for one case in a hundred, on purpose.",
                                    fail_sometimes};
  return kCanary;
}

Case canary_case() {
  Case c;
  c.requests = {{1, 1}};
  while (hash_of(c) % kOneIn != 0) ++c.requests.front().kv_len;
  return c;
}

}  // namespace mla::prop
