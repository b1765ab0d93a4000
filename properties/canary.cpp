#include "properties/canary.hpp"

#include <string>

#include "core/io/checksum.hpp"

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
  return failed("the case line hashes to " + io::hex64(hash) + ", a multiple of " +
                std::to_string(kOneIn));
}

Case first_that_fails() {
  Case c;
  c.requests = {{1, 1}};
  while (hash_of(c) % kOneIn != 0) ++c.requests.front().kv_len;
  return c;
}

}  // namespace

const Property& canary() {
  static constexpr Property kCanary{"P00", "canary", "Fails for one case in a hundred, on purpose.",
                                    fail_sometimes};
  return kCanary;
}

LedgerEntry canary_entry() {
  LedgerEntry entry;
  entry.id = "canary";
  entry.link = "docs/reproduce.md";
  entry.mechanism = "fails on purpose, so that a run shows that it can see a failure";
  entry.properties = {&canary()};
  entry.damage = Damage::claim;
  entry.witnesses = {{first_that_fails(), &canary()}};
  return entry;
}

}  // namespace mla::prop
