#include "properties/app/recording.hpp"

#include <algorithm>
#include <span>

#include "core/io/checksum.hpp"
#include "core/say.hpp"

namespace mla::app {
namespace {

// Each with its length, so that no two lists of words give one text.
std::string counted(std::string_view word) {
  return say(" ", word.size(), ":", word);
}

std::string text_of(const prop::Condition& condition) {
  std::string out = counted(condition.fact->name);
  for (const std::string& word : condition.words) out += counted(word);
  for (const auto& [min, max] : condition.ranges) out += say(" ", min, "..", max);
  return out;
}

// All of an entry: its condition and its damage decide what is known to fail, the rest is reported.
std::string text_of(const prop::LedgerEntry& entry) {
  std::string out = "\nledger";
  for (const std::string& word : {entry.id, entry.link, entry.mechanism, entry.backend})
    out += counted(word);
  out += say("\nstatus ", static_cast<int>(entry.status), "\nkind ",
             entry.kind ? name(*entry.kind) : "any", "\ndamage ", prop::text_of(entry.damage));
  for (const std::string& kernel : entry.kernels) out += "\nkernel" + counted(kernel);
  for (const prop::Property* p : entry.properties) out += say("\ncovers ", p->id);
  for (const prop::Property* p : entry.claims) out += say("\nclaim ", p->id);
  for (const auto& alternative : entry.where) {
    out += "\nwhere";
    for (const prop::Condition& condition : alternative) out += "\n and" + text_of(condition);
  }
  for (const prop::Witness& w : entry.witnesses)
    out += say("\nwitness ", w.property->id, " ", format_case(w.c));
  return out;
}

}  // namespace

std::string identity_of(const prop::RunOptions& run) {
  std::string text = say("seed ", run.seed, "\nrandom ", run.random_cases, "\ntime ",
                         run.time_limit ? std::to_string(run.time_limit->count()) : "none");
  if (run.widths) text += "\nwidths";
  for (const prop::Property* p : run.properties) text += say("\nproperty ", p->id);
  for (const Case& c : run.cases) text += "\ncase " + format_case(c);
  for (const prop::LedgerEntry& e : run.ledger) text += text_of(e);
  return io::hex64(io::fnv1a64(std::as_bytes(std::span(text))));
}

}  // namespace mla::app
