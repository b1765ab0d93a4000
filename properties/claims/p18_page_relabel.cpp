// P18: pages are names: each (request, position) leads to one slot of its own, kv_indices names the
// page in which it lies, and renaming all blocks, or choosing others of another size, changes no
// bit.
#include <cstring>
#include <numeric>

#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/step/decode/compare.hpp"
#include "properties/step/decode/run.hpp"
#include "properties/step/fa/compare.hpp"

namespace mla::prop {
namespace {

std::string key_name(std::int64_t request, std::int64_t position) {
  return say("key ", position, " of ", request_name(request));
}

// Shared keys are the same position of a shared prefix.
std::optional<std::string> check_injective(const Case& c, const Batch& batch) {
  struct Owner {
    std::int64_t request = -1;
    std::int64_t position = 0;
  };
  const std::int64_t first = batch.first_block * batch.block_size;
  std::vector<Owner> owners(static_cast<std::size_t>(batch.cache_blocks * batch.block_size));
  for (std::size_t r = 0; r < batch.requests.size(); ++r)
    for (std::int64_t p = 0; p < batch.requests[r].kv_len; ++p) {
      const auto request = static_cast<std::int64_t>(r);
      const std::int64_t slot = batch.slot(request, p);
      const auto index = static_cast<std::size_t>(slot - first);
      if (index >= owners.size())
        return say(key_name(request, p), " lies in slot ", slot, ", outside the cache");
      Owner& owner = owners[index];
      const bool shared = c.layout.kind == Layout::prefix && owner.position == p &&
                          static_cast<std::uint64_t>(p / batch.block_size) < c.layout.parameter;
      if (owner.request >= 0 && !shared)
        return say(key_name(request, p), " and ", key_name(owner.request, owner.position),
                   " share slot ", slot);
      owner = {request, p};
    }
  return std::nullopt;
}

// kv_indices against the block table of the case as written.
std::optional<std::string> check_addresses(const Batch& batch, const DecodeMetadata& md) {
  const std::int64_t page = md.shape.page_size;
  std::size_t index = 0;
  for (const KernelRequest& k : kernel_requests(batch, md.shape)) {
    const std::int64_t first = md.kv_indptr[index++];
    for (std::int64_t p = 0; p < k.kv_len; p += page) {
      const auto at = static_cast<std::size_t>(first + p / page);
      const std::int64_t want = batch.slot(k.request, p) / page;
      if (at >= md.kv_indices.size() || md.kv_indices[at] != want)
        return say(key_name(k.request, p), " lies in page ", want, ", kv_indices[", at, "] names ",
                   at < md.kv_indices.size() ? std::to_string(md.kv_indices[at]) : "nothing");
    }
  }
  return std::nullopt;
}

// The batch and its cache with every block under another name.
void rename_blocks(Random& random, Batch& batch, KvCache& cache) {
  std::vector<std::int64_t> to(static_cast<std::size_t>(batch.cache_blocks));
  std::iota(to.begin(), to.end(), 0);
  for (std::size_t i = to.size(); i > 1; --i)
    std::swap(to[i - 1], to[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(i)))]);
  for (std::int32_t& entry : batch.block_table)
    entry = static_cast<std::int32_t>(batch.first_block +
                                      to[static_cast<std::size_t>(entry - batch.first_block)]);
  const std::vector<std::byte> old = cache.bytes;
  const auto bytes = static_cast<std::size_t>(batch.block_size * cache.row_bytes());
  for (std::size_t b = 0; b < to.size(); ++b)
    std::memcpy(&cache.bytes[static_cast<std::size_t>(to[b]) * bytes], &old[b * bytes], bytes);
}

Outcome check_renamed(Subject& subject) {
  Random random(subject.spec(), "P18.names");
  Batch batch = *subject.batch();
  DecodeTensors tensors = *subject.tensors();
  rename_blocks(random, batch, tensors.cache);
  Case spec = subject.spec();
  spec.requests = batch.requests;
  spec.pad_requests = 0;
  const auto step = run_step(subject, spec, batch, tensors);
  if (!step) return failed("under other names the step fails: " + step.error().message);
  if (const auto why = bitwise_difference(*subject.result(), step->result, spec.heads))
    return failed("under other block names the result differs: " + *why);
  return passed();
}

// Another layout and another block size, the same page size. A shared prefix stays as it is: its
// length is counted in blocks.
Outcome check_other_blocks(Subject& subject) {
  Random random(subject.spec(), "P18.blocks");
  Case other_case = subject.spec();
  other_case.block_size = other_case.page_size * random.between(1, 5);
  other_case.layout = {random.pick(std::vector{Layout::contiguous, Layout::shuffled,
                                               Layout::interleaved, Layout::descending}),
                       random.next() % 1000};
  Subject other = subject.sibling(other_case);
  if (!other.batch()) return skipped(other.batch().error().message);
  const auto& result = other.result();
  const std::string where = "as " + format_case(other_case) + " ";
  if (!result) return failed(where + "the step fails: " + result.error().message);
  if (const auto why = bitwise_difference(*subject.result(), *result, other_case.heads))
    return failed(where + "the result differs: " + *why);
  return passed();
}

Outcome decode_page_relabel(Subject& subject) {
  const auto& metadata = subject.metadata();
  if (!metadata) return refusal(metadata.error());
  const Result<Batch> batch = make_batch(subject.spec());
  if (!batch) return refusal(batch.error());
  if (const auto why = check_injective(subject.spec(), *batch)) return failed(*why);
  if (const auto why = check_addresses(*batch, *metadata)) return failed(*why);
  if (!subject.result()) return refusal(subject.result().error());
  Random random(subject.spec(), "P18");
  const bool rename = subject.spec().layout.kind == Layout::prefix || random.below(2) == 0;
  return rename ? check_renamed(subject) : check_other_blocks(subject);
}

// Other places and layouts of the blocks; nothing is renamed.
Outcome fa_page_relabel(Subject& subject) {
  const auto& steps = subject.fa();
  if (!steps) return refusal(steps.error());
  Random random(subject.spec(), "P18");
  Case other = subject.spec();
  other.origin_block = random.pick(std::vector<std::int64_t>{0, 5, 65530, (1 << 24) - 3});
  // A shared prefix is part of the data, so its blocks stay shared.
  if (other.layout.kind != Layout::prefix)
    other.layout = {
        random.pick(std::vector{Layout::contiguous, Layout::descending, Layout::interleaved}), 0};
  Subject elsewhere = subject.sibling(other);
  const auto& moved = elsewhere.fa();
  if (!moved) return refusal(moved.error());
  for (const FaStepRun& step : *moved)
    if (!step.result.faults.empty())
      return failed(
          say("with blocks from ", other.origin_block, ": ", step.result.faults.front().what));
  for (std::size_t i = 0; i < steps->size(); ++i)
    if (const auto why = difference((*steps)[i], (*moved)[i]))
      return failed(say("with blocks from ", other.origin_block, ", layout ",
                        name(other.layout.kind), ": step ", i, " ", *why));
  return passed();
}

}  // namespace

constexpr Property kP18{"P18", "page_relabel",
                        "Keys have slots of their own, kv_indices names their pages, and renaming "
                        "blocks changes no bit.",
                        by_kind<decode_page_relabel, nullptr, fa_page_relabel>};

}  // namespace mla::prop
