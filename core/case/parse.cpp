#include <cmath>
#include <set>

#include "core/case/limits.hpp"
#include "core/case/text.hpp"
#include "core/say.hpp"
#include "core/suggest.hpp"

namespace mla {
namespace {

using text::number;

Error bad(std::string_view field, std::string_view value, std::string_view expected) {
  return {ErrorCode::usage,
          say("case field '", field, "' has value '", value, "': expected ", expected)};
}

// A length such as 513 or 4k.
std::optional<std::int64_t> length(std::string_view text) {
  const bool kilo = text.ends_with('k');
  if (kilo) text.remove_suffix(1);
  const auto n = number<std::int64_t>(text);
  if (!n || *n < 0 || *n > kMaxKvLen) return std::nullopt;
  return kilo ? *n * 1024 : *n;
}

// Adds the requests of one group, `<count>q<rows>s<keys>`.
MaybeError add_group(std::string_view group, std::vector<RequestSpec>& requests) {
  const auto wrong = [group](std::string_view why) { return bad("requests", group, why); };
  const std::size_t q_at = group.find('q');
  const std::size_t s_at = group.find('s');
  if (q_at == std::string_view::npos || s_at == std::string_view::npos || s_at < q_at)
    return wrong("<count>q<query rows>s<KV length>");
  const std::string_view count_text = group.substr(0, q_at);
  const auto count = count_text.empty() ? 1 : number<std::int64_t>(count_text).value_or(-1);
  const auto qo_len = number<std::int64_t>(group.substr(q_at + 1, s_at - q_at - 1)).value_or(-1);
  const auto kv_len = length(group.substr(s_at + 1)).value_or(-1);
  if (count < 1 || count > kMaxRequests) return wrong("a count from 1 to 65536");
  if (qo_len < 0 || qo_len > kMaxQoLen) return wrong("0 to 4096 query rows");
  if (kv_len < 0 || kv_len > kMaxKvLen) return wrong("a KV length from 0 to 4096k");
  if (static_cast<std::int64_t>(requests.size()) + count > kMaxRequests)
    return wrong("at most 65536 requests in all");
  requests.insert(requests.end(), static_cast<std::size_t>(count), {qo_len, kv_len});
  return std::nullopt;
}

MaybeError parse_step(std::string_view text, std::vector<RequestSpec>& requests) {
  while (true) {
    const std::size_t at = text.find('_');
    if (MaybeError s = add_group(text.substr(0, at), requests)) return s;
    if (at == std::string_view::npos) return std::nullopt;
    text.remove_prefix(at + 1);
  }
}

// The steps of a sequence are joined by '+'.
MaybeError parse_requests(std::string_view text, Case& c) {
  std::size_t at = text.find('+');
  if (MaybeError s = parse_step(text.substr(0, at), c.requests)) return s;
  while (at != std::string_view::npos) {
    text.remove_prefix(at + 1);
    at = text.find('+');
    if (c.later_steps.size() + 1 == kMaxSteps)
      return bad("requests", say(kMaxSteps + 1, " steps"), say("at most ", kMaxSteps, " steps"));
    if (MaybeError s = parse_step(text.substr(0, at), c.later_steps.emplace_back())) return s;
  }
  return std::nullopt;
}

constexpr const char* kFieldAfter = "a field after ';' or ','";

// Splits at the first of the marks; without one the second part is empty.
std::pair<std::string_view, std::string_view> halves(std::string_view text,
                                                     std::string_view marks) {
  const std::size_t at = text.find_first_of(marks);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

bool read_int(std::string_view text, std::int64_t low, std::int64_t high, std::int64_t& out) {
  const auto n = number<std::int64_t>(text);
  if (!n || *n < low || *n > high) return false;
  out = *n;
  return true;
}

bool read_flag(std::string_view text, bool& out) {
  out = text == "1";
  return text == "0" || text == "1";
}

bool read_dtypes(std::string_view text, DtypePair& out) {
  const auto [q, kv] = halves(text, "/");
  const auto dq = dtype_from_name(q);
  const auto dkv = dtype_from_name(kv);
  if (!dq || !dkv) return false;
  out = {*dq, *dkv};
  return true;
}

bool read_layout(std::string_view text, LayoutSpec& out) {
  const auto [word, parameter] = halves(text, ".");
  const auto kind = text::value_of(text::kLayouts, word);
  if (!kind) return false;
  out = {*kind, 0};
  if (!text::has_parameter(*kind)) return word == text;
  const auto n = number<std::uint64_t>(parameter);
  out.parameter = n.value_or(0);
  return n.has_value();
}

bool read_data(std::string_view text, DataSpec& out) {
  const auto [word, seed] = halves(text, ".");
  const auto kind = text::value_of(text::kDistributions, word);
  const auto n = number<std::uint64_t>(seed);
  if (!kind || !n) return false;
  out = {*kind, *n};
  return true;
}

bool read_spare(std::string_view text, SpareSpec& out) {
  const auto [entries, word] = halves(text, ".");
  const auto fill = text::value_of(text::kTailFills, word);
  if (!fill || !read_int(entries, 0, std::int64_t{1} << 28, out.entries)) return false;
  out.fill = *fill;
  return true;
}

bool read_scales(std::string_view text, DecodeSpec& out) {
  const auto [q, kv] = halves(text, "/");
  const auto a = number<float>(q);
  const auto b = number<float>(kv);
  const auto in_range = [](const std::optional<float>& scale) {
    return scale && *scale >= kSmallestScale && *scale <= kLargestScale;
  };
  if (!in_range(a) || !in_range(b)) return false;
  out.q_scale = *a;
  out.kv_scale = *b;
  return true;
}

template <class E>
bool read_word(const std::optional<E>& value, E& out) {
  if (value) out = *value;
  return value.has_value();
}

bool read_seed(std::string_view text, std::uint64_t& out) {
  const auto n = number<std::uint64_t>(text);
  out = n.value_or(0);
  return n.has_value();
}

bool read_kind(std::string_view text, Case& c) {
  const auto kind = text::value_of(text::kKinds, text);
  if (kind) c.step = default_step(*kind);
  return kind.has_value();
}

bool read_workspace(std::string_view text, Case& c) {
  return read_int(
      text, 1, kMaxKvLen,
      c.kind() == StepKind::fa ? c.fa().workspace_tokens : c.prefill().workspace_tokens);
}

// The kinds of steps that have a field, a bit each.
using Kinds = unsigned;

constexpr Kinds only(StepKind kind) {
  return 1U << static_cast<unsigned>(kind);
}
constexpr Kinds kDecode = only(StepKind::decode);
constexpr Kinds kFa = only(StepKind::fa);
constexpr Kinds kMla = kDecode | only(StepKind::prefill);
constexpr Kinds kChunked = kFa | only(StepKind::prefill);
constexpr Kinds kAll = kMla | kFa;

struct Field {
  std::string_view key;
  std::string_view expected;
  Kinds kinds;
  bool (*read)(std::string_view, Case&);  // of a case of one of the kinds
};

using V = std::string_view;
constexpr std::int64_t kMaxBlockId = (std::int64_t{1} << 31) - 1;
constexpr Field kFields[] = {
    {"heads", "1 to 128", kAll, [](V v, Case& c) { return read_int(v, 1, kMaxHeads, c.heads); }},
    {"block", "1 to 256", kAll, [](V v, Case& c) { return read_int(v, 1, 256, c.block_size); }},
    {"arch", "gfx942 or gfx950", kAll,
     [](V v, Case& c) { return read_word(arch_from_name(v), c.arch); }},
    {"cu", "1 to 1024 compute units", kAll,
     [](V v, Case& c) { return read_int(v, 1, kMaxComputeUnits, c.compute_units); }},
    {"dtype", "<q>/<kv> with bf16 or fp8", kAll,
     [](V v, Case& c) { return read_dtypes(v, c.dtype); }},
    {"gran", "1 to 4096 pages", kDecode,
     [](V v, Case& c) { return read_int(v, 1, 4096, c.decode().granularity); }},
    {"split", "-1, or 1 to 65536", kDecode,
     [](V v, Case& c) {
       return read_int(v, -1, 65536, c.decode().max_split) && c.decode().max_split != 0;
     }},
    {"causal", "0 or 1", kAll, [](V v, Case& c) { return read_flag(v, c.causal); }},
    {"layout", "contiguous, shuffled.<seed>, interleaved, descending or prefix.<shared blocks>",
     kAll, [](V v, Case& c) { return read_layout(v, c.layout); }},
    {"data", "<kind>.<seed> with normal, spiky, large, constant or onehot", kAll,
     [](V v, Case& c) { return read_data(v, c.data); }},
    {"page", "1, 16 or 64", kMla,
     [](V v, Case& c) {
       return read_int(v, 1, 64, c.page_size) &&
              (c.page_size == 1 || c.page_size == 16 || c.page_size == 64);
     }},
    {"planner", "auto, v12, v12serial, v12parallel, v11, v10 or none", kMla,
     [](V v, Case& c) { return read_word(text::value_of(text::kPlanners, v), c.planner); }},
    {"pad", "0 to 4096 requests", kAll,
     [](V v, Case& c) { return read_int(v, 0, 4096, c.pad_requests); }},
    {"spare", "<entries>.<fill> with minus1, stale, random or huge", kDecode,
     [](V v, Case& c) { return read_spare(v, c.decode().spare); }},
    {"scale", "<q>/<kv>, two numbers from 1e-15 to 1e15", kDecode,
     [](V v, Case& c) { return read_scales(v, c.decode()); }},
    {"lse", "0 or 1", kDecode, [](V v, Case& c) { return read_flag(v, c.decode().need_lse); }},
    {"origin", "a block id from 0 to 2147483647", kAll,
     [](V v, Case& c) { return read_int(v, 0, kMaxBlockId, c.origin_block); }},
    {"sched", "an unsigned 64-bit seed", kMla,
     [](V v, Case& c) { return read_seed(v, c.schedule_seed); }},
    {"qpad", "0, or 2 to 32 rows", kDecode,
     [](V v, Case& c) {
       return read_int(v, 0, 32, c.decode().kernel_rows) && c.decode().kernel_rows != 1;
     }},
    {"splits", "0 to 64", kDecode,
     [](V v, Case& c) { return read_int(v, 0, kMaxKvSplits, c.decode().kv_splits); }},
    {"latent", "1 to 512 elements", kDecode,
     [](V v, Case& c) { return read_int(v, 1, kMostValueDims, c.decode().latent); }},
    {"rope", "0 to 575 elements", kDecode,
     [](V v, Case& c) { return read_int(v, 0, kMostKeyDims - 1, c.decode().rope); }},
    {"value", "0 to 512 elements", kDecode,
     [](V v, Case& c) { return read_int(v, 0, kMostValueDims, c.decode().value); }},
    {"kind", "decode, prefill or fa", kAll, read_kind},
    {"workspace", "1 to 4194304 tokens", kChunked, read_workspace},
    {"kvheads", "1 to 128", kFa,
     [](V v, Case& c) { return read_int(v, 1, kMaxHeads, c.fa().kv_heads); }},
    {"dim", "16 to 256", kFa, [](V v, Case& c) { return read_int(v, 16, 256, c.fa().head_dim); }},
    {"window", "-1, or 0 to 4194304 keys", kFa,
     [](V v, Case& c) { return read_int(v, -1, kMaxKvLen, c.fa().window); }},
    {"draft", "0 to 63 tokens", kFa,
     [](V v, Case& c) { return read_int(v, 0, 63, c.fa().draft_tokens); }},
};

// A kind that lacks the field has it at its default: a canonical line of any kind has `gran`.
MaybeError refuse_of_other_kind(const Field& field, std::string_view value, StepKind kind) {
  std::vector<StepKind> owners;
  for (const StepKind k : kStepKinds)
    if (field.kinds & only(k)) owners.push_back(k);
  Case standard;
  standard.step = default_step(owners.front());
  Case other = standard;
  if (!field.read(value, other)) return bad(field.key, value, field.expected);
  if (other == standard) return std::nullopt;
  std::string names;
  for (const StepKind k : owners) names += say(names.empty() ? "" : " and ", name(k));
  return Error{ErrorCode::usage, say("case field '", field.key, "' has value '", value,
                                     "', but a case of kind ", name(kind), " has no such field (",
                                     names, owners.size() > 1 ? " have it)" : " has it)")};
}

MaybeError parse_field(std::string_view item, std::set<std::string_view>& seen, Case& c) {
  const auto [key, value] = halves(item, "=");
  for (const Field& field : kFields) {
    if (field.key != key) continue;
    if (!seen.insert(field.key).second) return bad(key, value, "the field once, not twice");
    if (!(field.kinds & only(c.kind()))) return refuse_of_other_kind(field, value, c.kind());
    if (!field.read(value, c)) return bad(key, value, field.expected);
    return std::nullopt;
  }
  std::vector<std::string_view> names;
  for (const Field& field : kFields) names.push_back(field.key);
  return Error{ErrorCode::usage, say("case field '", key, "' with value '", value, "' is unknown",
                                     did_you_mean_or_all(key, names))};
}

// Widths belong together. Values that are the latent part are not written.
MaybeError check_widths(Case& c) {
  if (c.kind() != StepKind::decode) return std::nullopt;
  DecodeSpec& decode = c.decode();
  if (const std::string why = impossible(decode.widths()); !why.empty())
    return Error{ErrorCode::usage, "case fields 'latent', 'rope' and 'value': " + why};
  if (decode.value == decode.latent) decode.value = 0;
  return std::nullopt;
}

}  // namespace

Result<Case> parse_case(std::string_view line) {
  const auto [version, rest] = halves(line, ":");
  if (version != text::kVersion) return bad("version", version, "mla1:<requests>;<fields>");
  auto [requests, fields] = halves(rest, ";,");
  Case c;
  if (MaybeError s = parse_requests(requests, c)) return *s;
  if (rest.size() != requests.size() && fields.empty()) return bad("", "", kFieldAfter);
  std::vector<std::string_view> items;
  while (!fields.empty()) {
    const auto [item, more] = halves(fields, ";,");
    if (fields.size() != item.size() && more.empty()) return bad("", "", kFieldAfter);
    items.push_back(item);
    fields = more;
  }
  // The kind comes first: it decides which fields there are.
  std::set<std::string_view> seen;
  for (const bool kind : {true, false})
    for (const std::string_view item : items)
      if (item.starts_with("kind=") == kind)
        if (MaybeError s = parse_field(item, seen, c)) return *s;
  if (MaybeError s = check_widths(c)) return *s;
  if (!seen.contains("cu")) c.compute_units = product_compute_units(c.arch).count();
  return c;
}

}  // namespace mla
