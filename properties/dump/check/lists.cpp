#include "properties/dump/check/lists.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "core/arch.hpp"
#include "core/paging/pages.hpp"
#include "core/say.hpp"

namespace mla::dump {
namespace {

using Sentences = std::vector<std::string>;

// The first of many equal findings, and how many more there are.
class First {
 public:
  void add(const std::string& sentence) {
    if (count_++ == 0) first_ = sentence;
  }
  void put(Sentences& out, const std::string& about = {}) const {
    if (count_ > 0)
      out.push_back(say(first_, count_ > 1 ? say(" (and ", count_ - 1, " more)") : "", about));
  }

 private:
  std::string first_;
  std::int64_t count_ = 0;
};

// Rows and keys of each request.
void check_lengths(const plan::PlanInput& in, Sentences& out) {
  const std::size_t requests = std::max<std::size_t>(in.qo_indptr.size(), 1) - 1;
  if (in.kv_indptr.size() != in.qo_indptr.size() || in.last_page_len.size() != requests) {
    out.push_back(say("seqlens_qo_indptr is for ", requests, " requests, seqlens_kv_indptr has ",
                      in.kv_indptr.size(), " entries and kv_last_page_lens ",
                      in.last_page_len.size()));
    return;
  }
  // A sparse planner is told of one row, because every row is a request.
  const std::int64_t longest = in.topk >= 0 ? 0 : in.key.max_qo_len;  // below 1: it was not told
  First other;
  First more;
  First outside;
  for (std::size_t r = 0; r < requests; ++r) {
    const std::int64_t rows = std::int64_t{in.qo_indptr[r + 1]} - in.qo_indptr[r];
    const std::int64_t last = in.last_page_len[r];
    const auto has = [&] {
      return say("seqlens_qo_indptr gives request ", r, " ", rows, " rows, ");
    };
    if (in.uniform_qo_len > 0 && rows != in.uniform_qo_len)
      other.add(say(has(), "uni_seqlen_qo says ", in.uniform_qo_len));
    else if (longest > 0 && rows > longest)
      more.add(say(has(), "max_seqlen_qo says that the longest has ", longest));
    if (in.kv_indptr[r] < in.kv_indptr[r + 1] && (last < 1 || last > in.page_size))
      outside.add(
          say("kv_last_page_lens of request ", r, " is ", last, " with pages of ", in.page_size));
  }
  for (const First& first : {other, more, outside}) first.put(out);
}

// A live entry of kv_indices: page number `place` of a request.
struct Entry {
  std::int32_t page = 0;
  std::int64_t request = 0;
  std::int64_t place = 0;
  auto operator<=>(const Entry&) const = default;
};

std::vector<Entry> live_entries(std::span<const std::int32_t> starts, const Words& indices) {
  std::vector<Entry> out;
  for (std::size_t r = 0; r + 1 < starts.size(); ++r)
    for (std::int64_t i = starts[r]; i < starts[r + 1]; ++i)
      out.push_back(
          {indices[static_cast<std::size_t>(i)], static_cast<std::int64_t>(r), i - starts[r]});
  return out;
}

// GPUs of both architectures end at 288 GB (MI355X).
constexpr std::int64_t kMostBytes = std::int64_t{288} << 30U;

// Why no page has this id; empty if one may.
std::string impossible_id(const plan::PlanInput& in, const Cache& cache, std::int64_t page) {
  if (page < 0) return "which is negative";
  if (cache.pages)
    return page < *cache.pages ? "" : say("and the cache has ", *cache.pages, " pages");
  const std::int64_t token = cache.widths.key_bytes(in.key.dtype.kv);
  const std::int64_t before = kMostBytes / token / std::max<std::int64_t>(in.page_size, 1);
  return page < before ? "" : "which lies more than 288 GiB into the cache: no GPU has that memory";
}

// Whether the request writes one of its own rows' keys into the page in this step.
bool writes(const plan::PlanInput& in, const Entry& e) {
  const auto r = static_cast<std::size_t>(e.request);
  const std::int64_t pages = in.kv_indptr[r + 1] - in.kv_indptr[r];
  const std::int64_t keys = keys_in_pages(pages, in.page_size, in.last_page_len[r]);
  const std::int64_t rows = in.qo_indptr[r + 1] - in.qo_indptr[r];
  return (e.place + 1) * in.page_size > keys - rows;
}

void check_sharing(const plan::PlanInput& in, const Cache& cache, std::vector<Entry> entries,
                   ListFindings& out) {
  std::sort(entries.begin(), entries.end());
  const bool may_share = cache.prefix_caching != false;
  First twice;
  First shared;
  First written;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    const Entry& a = entries[i - 1];
    const Entry& b = entries[i];
    if (a.page != b.page) continue;
    if (a.request == b.request) {
      twice.add(say("request ", a.request, " has page ", a.page, " twice, as its pages ", a.place,
                    " and ", b.place));
      continue;
    }
    const std::string both = say(a.request, " and ", b.request, " share");
    shared.add(say("requests ", both, " page ", a.page,
                   may_share ? "" : ", and the engine has no prefix caching"));
    for (const Entry& e : {a, b})
      if (writes(in, e))
        written.add(say("request ", e.request, " writes keys of this step into page ", e.page,
                        ", which requests ", both));
  }
  twice.put(out.violations);
  shared.put(may_share ? out.notes : out.violations);
  if (may_share) written.put(out.notes);
}

// Of ids that may be right: where the dump does not hold them against the cache, and page 0.
void note_pages(const Cache& cache, const std::vector<Entry>& entries, Sentences& out) {
  const std::set<std::int64_t> dumped = cache.dumped
                                            ? std::set(cache.dumped->begin(), cache.dumped->end())
                                            : std::set<std::int64_t>();
  First missing;
  First zero;
  std::int32_t last = -1;
  for (const Entry& e : entries) {
    last = std::max(last, e.page);
    const auto is = [&e] {
      return say("page ", e.place, " of request ", e.request, " is ", e.page, " in kv_indices");
    };
    if (cache.of_engine && e.page == 0) zero.add(is());
    if (cache.dumped && !dumped.contains(e.page)) missing.add(is());
  }
  missing.put(out,
              say(", and not among the ", dumped.size(), " of kv_cache_pages: it lies outside ",
                  "of the cache, or the dump is incomplete"));
  zero.put(out,
           ": vLLM and SGLang keep page 0 for padding, and a -1 of a block table that became "
           "0 looks like this");
  if (!cache.pages && !cache.dumped && last >= 0)
    out.push_back(say("num_pages is not given: whether page ids up to ", last,
                      " lie in the cache was not checked"));
}

void check_pages(const plan::PlanInput& in, const Cache& cache, ListFindings& out) {
  const Words& indices = *cache.kv_indices;
  const std::int64_t live = in.kv_indptr.back();
  if (std::ssize(indices) < live) {
    out.violations.push_back(
        say("kv_indices has ", indices.size(), " entries, seqlens_kv_indptr asks for ", live));
    return;
  }
  const std::vector<Entry> entries = live_entries(in.kv_indptr, indices);
  First impossible;
  for (const Entry& e : entries)
    if (const std::string why = impossible_id(in, cache, e.page); !why.empty())
      impossible.add(say("page ", e.place, " of request ", e.request, " is ", e.page,
                         " in kv_indices, ", why));
  impossible.put(out.violations);
  if (!out.violations.empty()) return;
  check_sharing(in, cache, entries, out);
  note_pages(cache, entries, out.notes);
}

}  // namespace

void check_indptr(const char* key, std::span<const std::int32_t> list, Sentences& out) {
  if (list.empty() || list[0] != 0)
    out.push_back(say(key, list.empty() ? " is empty" : " does not start at 0"));
  for (std::size_t i = 1; i < list.size(); ++i)
    if (list[i] < list[i - 1])
      out.push_back(
          say(key, " runs backwards at request ", i - 1, ": ", list[i - 1], " to ", list[i]));
}

Result<ListFindings> check_lists(const PlannerCall& call, const Cache& cache) {
  const plan::PlanInput& in = call.input;
  const auto bad = [](const char* key, std::int64_t value, const char* what) {
    return Error{ErrorCode::usage, say("key '", key, "' is ", value, ": it must be ", what)};
  };
  for (const auto& [key, value] :
       {std::pair("num_cu", in.key.compute_units.count()), std::pair("page_size", in.page_size)})
    if (value < 1) return bad(key, value, "at least 1");
  for (const auto& [key, value] :
       {std::pair("page_size", in.page_size), std::pair("kv_granularity", in.kv_granularity)})
    if (!is_power_of_two(value)) return bad(key, value, "a power of two");
  ListFindings out;
  check_indptr("seqlens_qo_indptr", in.qo_indptr, out.violations);
  check_indptr("seqlens_kv_indptr", in.kv_indptr, out.violations);
  check_lengths(in, out.violations);
  if (out.violations.empty() && cache.kv_indices) check_pages(in, cache, out);
  return out;
}

}  // namespace mla::dump
