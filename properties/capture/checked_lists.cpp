#include "properties/capture/checked_lists.hpp"

#include <algorithm>
#include <optional>
#include <tuple>

#include "core/arch.hpp"
#include "core/paging/pages.hpp"
#include "core/say.hpp"
#include "properties/files/json_fields.hpp"

namespace mla::cli {
namespace {

using Sentences = std::vector<std::string>;

std::string number(std::int64_t n) {
  return std::to_string(n);
}

// The first of many equal findings, and how many more there are.
class First {
 public:
  void add(const std::string& sentence) {
    if (count_++ == 0) first_ = sentence;
  }
  void put(Sentences& out) const {
    if (count_ > 0)
      out.push_back(first_ + (count_ > 1 ? " (and " + number(count_ - 1) + " more)" : ""));
  }

 private:
  std::string first_;
  std::int64_t count_ = 0;
};

// Rows and keys of each request.
void check_lengths(const PlannerCall& call, Sentences& out) {
  const std::size_t requests = std::max<std::size_t>(call.qo_indptr.size(), 1) - 1;
  if (call.kv_indptr.size() != call.qo_indptr.size() || call.last_page_len.size() != requests) {
    out.push_back("seqlens_qo_indptr is for " + number(static_cast<std::int64_t>(requests)) +
                  " requests, seqlens_kv_indptr has " + number(std::ssize(call.kv_indptr)) +
                  " entries and kv_last_page_lens " + number(std::ssize(call.last_page_len)));
    return;
  }
  const plan::PlanInput& in = call.input;
  // A sparse planner is told of one row, because every row is a request.
  const std::int64_t longest = in.topk >= 0 ? 0 : in.key.max_qo_len;  // below 1: it was not told
  First other;
  First more;
  First outside;
  for (std::size_t r = 0; r < requests; ++r) {
    const std::int64_t rows = std::int64_t{call.qo_indptr[r + 1]} - call.qo_indptr[r];
    const std::string has = "seqlens_qo_indptr gives request " +
                            number(static_cast<std::int64_t>(r)) + " " + number(rows) + " rows, ";
    if (in.uniform_qo_len > 0 && rows != in.uniform_qo_len)
      other.add(has + "uni_seqlen_qo says " + number(in.uniform_qo_len));
    else if (longest > 0 && rows > longest)
      more.add(has + "max_seqlen_qo says that the longest has " + number(longest));
    if (call.kv_indptr[r] < call.kv_indptr[r + 1] &&
        (call.last_page_len[r] < 1 || call.last_page_len[r] > in.page_size))
      outside.add("kv_last_page_lens of request " + number(static_cast<std::int64_t>(r)) + " is " +
                  number(call.last_page_len[r]) + " with pages of " + number(in.page_size));
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

std::vector<Entry> live_entries(const PlannerCall& call, const std::vector<std::int32_t>& indices) {
  std::vector<Entry> out;
  for (std::size_t r = 0; r + 1 < call.kv_indptr.size(); ++r)
    for (std::int64_t i = call.kv_indptr[r]; i < call.kv_indptr[r + 1]; ++i)
      out.push_back({indices[static_cast<std::size_t>(i)], static_cast<std::int64_t>(r),
                     i - call.kv_indptr[r]});
  return out;
}

constexpr std::int64_t kUnknown = -1;

// What a manifest says about the cache.
struct Pool {
  std::int64_t pages = kUnknown;
  std::optional<bool> prefix_caching;
};

// GPUs of both architectures end at 288 GB (MI355X).
constexpr std::int64_t kMostBytes = std::int64_t{288} << 30U;

// Why no page has this id; empty if one may.
std::string impossible_id(const plan::PlanInput& in, const Pool& pool, std::int64_t page) {
  if (page < 0) return "which is negative";
  if (pool.pages >= 0)
    return page < pool.pages ? "" : "and the cache has " + number(pool.pages) + " pages";
  const std::int64_t token = kKeyDim * element_bytes(in.key.dtype.kv);
  const std::int64_t before = kMostBytes / token / std::max<std::int64_t>(in.page_size, 1);
  return page < before ? "" : "which lies more than 288 GiB into the cache: no GPU has that memory";
}

// Whether the request writes one of its own rows' keys into the page in this step.
bool writes(const PlannerCall& call, const Entry& e) {
  const auto r = static_cast<std::size_t>(e.request);
  const std::int64_t pages = call.kv_indptr[r + 1] - call.kv_indptr[r];
  const std::int64_t keys = keys_in_pages(pages, call.input.page_size, call.last_page_len[r]);
  const std::int64_t rows = call.qo_indptr[r + 1] - call.qo_indptr[r];
  return (e.place + 1) * call.input.page_size > keys - rows;
}

void check_sharing(const PlannerCall& call, const Pool& pool, std::vector<Entry> entries,
                   ListFindings& out) {
  std::sort(entries.begin(), entries.end());
  const bool may_share = pool.prefix_caching != false;
  First twice;
  First shared;
  First written;
  for (std::size_t i = 1; i < entries.size(); ++i) {
    const Entry& a = entries[i - 1];
    const Entry& b = entries[i];
    if (a.page != b.page) continue;
    if (a.request == b.request) {
      twice.add("request " + number(a.request) + " has page " + number(a.page) +
                " twice, as its pages " + number(a.place) + " and " + number(b.place));
      continue;
    }
    shared.add("requests " + number(a.request) + " and " + number(b.request) + " share page " +
               number(a.page) + (may_share ? "" : ", and the engine has no prefix caching"));
    for (const Entry& e : {a, b})
      if (writes(call, e))
        written.add("request " + number(e.request) + " writes keys of this step into page " +
                    number(e.page) + ", which requests " + number(a.request) + " and " +
                    number(b.request) + " share");
  }
  twice.put(out.violations);
  shared.put(may_share ? out.notes : out.violations);
  if (may_share) written.put(out.notes);
}

void check_pages(const PlannerCall& call, const Pool& pool,
                 const std::vector<std::int32_t>& indices, ListFindings& out) {
  const std::int64_t live = call.kv_indptr.back();
  if (std::ssize(indices) < live) {
    out.violations.push_back("kv_indices has " + number(std::ssize(indices)) +
                             " entries, seqlens_kv_indptr asks for " + number(live));
    return;
  }
  const std::vector<Entry> entries = live_entries(call, indices);
  First impossible;
  for (const Entry& e : entries)
    if (const std::string why = impossible_id(call.input, pool, e.page); !why.empty())
      impossible.add("page " + number(e.place) + " of request " + number(e.request) + " is " +
                     number(e.page) + " in kv_indices, " + why);
  impossible.put(out.violations);
  if (out.violations.empty()) check_sharing(call, pool, entries, out);
}

}  // namespace

void check_indptr(const char* key, const std::vector<std::int32_t>& list, Sentences& out) {
  if (list.empty() || list[0] != 0)
    out.push_back(say(key, list.empty() ? " is empty" : " does not start at 0"));
  for (std::size_t i = 1; i < list.size(); ++i)
    if (list[i] < list[i - 1])
      out.push_back(say(key, " runs backwards at request ",
                        number(static_cast<std::int64_t>(i) - 1), ": ", number(list[i - 1]), " to ",
                        number(list[i])));
}

Result<ListFindings> check_lists(const PlannerCall& call, const nlohmann::json& object) {
  files::Fields fields(object);
  for (const auto& [key, value] : {std::pair("num_cu", call.input.key.compute_units.count()),
                                   std::pair("page_size", call.input.page_size)})
    if (value < 1) fields.reject(key, "is " + number(value) + ": it must be at least 1");
  for (const auto& [key, value] : {std::pair("page_size", call.input.page_size),
                                   std::pair("kv_granularity", call.input.kv_granularity)})
    if (!is_power_of_two(value))
      fields.reject(key, "is " + number(value) + ": it must be a power of two");
  Pool pool;
  pool.pages = fields.number_or("num_pages", kUnknown);
  if (pool.pages < 0 && fields.has("num_pages"))
    fields.reject("num_pages", "is " + number(pool.pages) + ": it must not be negative");
  if (fields.has("prefix_caching")) pool.prefix_caching = fields.truth("prefix_caching");
  std::vector<std::int32_t> indices;
  if (fields.has("kv_indices")) indices = fields.words("kv_indices");
  if (!fields.error().empty()) return Error{ErrorCode::usage, fields.error(), ""};
  ListFindings out;
  check_indptr("seqlens_qo_indptr", call.qo_indptr, out.violations);
  check_indptr("seqlens_kv_indptr", call.kv_indptr, out.violations);
  check_lengths(call, out.violations);
  if (out.violations.empty() && fields.has("kv_indices")) check_pages(call, pool, indices, out);
  return out;
}

}  // namespace mla::cli
