// P27: the block size that all backends share is the one that a search over all sizes finds, a
// further backend never enlarges the choice, and a failure names the manager's size.
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/functions.hpp"

namespace mla::prop {
namespace {

bool backend_takes(const SupportedSizes& backend, std::int64_t size) {
  for (const SupportedSize& entry : backend) {
    if (const auto* exact = std::get_if<std::int64_t>(&entry); exact != nullptr && *exact == size)
      return true;
    if (const auto* multiple = std::get_if<MultipleOf>(&entry);
        multiple != nullptr && multiple->base > 0 && size % multiple->base == 0)
      return true;
  }
  return false;
}

bool all_take(const std::vector<SupportedSizes>& backends, std::int64_t size) {
  for (const SupportedSizes& backend : backends)
    if (!backend_takes(backend, size)) return false;
  return true;
}

bool listed(const std::vector<SupportedSizes>& backends, std::int64_t size) {
  for (const SupportedSizes& backend : backends)
    for (const SupportedSize& entry : backend)
      if (const auto* exact = std::get_if<std::int64_t>(&entry); exact != nullptr && *exact == size)
        return true;
  return false;
}

// 0 if there is none (vllm_metadata.md 4).
std::int64_t search(std::int64_t manager, const std::vector<SupportedSizes>& backends) {
  if (all_take(backends, manager)) return manager;
  for (std::int64_t size = manager; size > 0; --size)
    if (manager % size == 0 && listed(backends, size) && all_take(backends, size)) return size;
  return 0;
}

std::string text(const std::vector<SupportedSizes>& backends) {
  std::string out;
  for (const SupportedSizes& backend : backends) {
    out += out.empty() ? "[" : " [";
    for (const SupportedSize& entry : backend) {
      if (out.back() != '[') out += ", ";
      if (const auto* multiple = std::get_if<MultipleOf>(&entry))
        out += say("multiples of ", multiple->base);
      else
        out += std::to_string(std::get<std::int64_t>(entry));
    }
    out += "]";
  }
  return out;
}

SupportedSizes drawn_backend(Random& random) {
  // 0: what a backend without a size answers, which supports nothing.
  const std::vector<std::int64_t> sizes = {0, 1, 2, 3, 4, 8, 16, 24, 32, 48, 64};
  SupportedSizes backend;
  for (std::int64_t i = random.between(1, 3); i > 0; --i) {
    if (random.below(2) == 0)
      backend.emplace_back(random.pick(sizes));
    else
      backend.emplace_back(MultipleOf{random.pick(sizes)});
  }
  return backend;
}

std::optional<std::string> check_one(const Functions& functions, Random& random) {
  const std::vector<std::int64_t> managers = {1, 2, 6, 8, 16, 32, 48, 64, 96, 640, 2176};
  const std::int64_t manager = random.pick(managers);
  std::vector<SupportedSizes> backends;
  for (std::int64_t i = random.between(1, 3); i > 0; --i) backends.push_back(drawn_backend(random));
  const std::string where = say("manager size ", manager, ", backends ", text(backends), ": ");
  const auto got = functions.select_common_block_size(manager, backends);
  const std::int64_t want = search(manager, backends);
  if (got.ok() != (want > 0) || (got.ok() && *got != want))
    return where + (got.ok() ? std::to_string(*got) : "no size") + ", a search finds " +
           (want > 0 ? std::to_string(want) : "none");
  if (!got && got.error().message.find(std::to_string(manager)) == std::string::npos)
    return where + "the error does not name the manager's size: " + got.error().message;
  backends.push_back(drawn_backend(random));
  const auto more = functions.select_common_block_size(manager, backends);
  if (more.ok() && (!got.ok() || *more > *got))
    return say(where, "a further backend enlarges the choice to ", *more);
  return std::nullopt;
}

Outcome block_negotiation(Subject& subject) {
  const Functions functions = functions_of(subject);
  Random random(subject.spec(), "P27");
  for (int round = 0; round < 24; ++round)
    if (const auto why = check_one(functions, random)) return failed(*why);
  return passed();
}

}  // namespace

constexpr Property kP27{"P27", "block_negotiation",
                        "The common block size is what a search over all sizes finds.",
                        block_negotiation};

}  // namespace mla::prop
