#include "hip_backend/aiter/manifest.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "core/say.hpp"

namespace mla::hip::aiter {
namespace {

constexpr std::size_t kLongestLine = 4096;    // bytes
constexpr std::size_t kMostRows = 4096;       // AITER has some 60
constexpr std::int64_t kLargestCount = 4096;  // of heads, of query rows

enum Column : std::size_t {
  kQ,
  kKv,
  kHeads,
  kPs,
  kQo,
  kPrefill,
  kCausal,
  kLse,
  kCprr,
  kKernel,
  kFile,
  kColumns
};
constexpr std::array<std::string_view, kColumns> kNames = {"qType",   "kvType",   "Gqa",    "ps",
                                                           "qSeqLen", "prefill",  "causal", "lse",
                                                           "cprr",    "knl_name", "co_name"};

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> cells;
  while (true) {
    const std::size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

// The next line of `text`, which loses it; without its end, be that of Unix or of Windows.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// A value as it may stand in a message.
std::string shown(std::string_view value) {
  std::string text(value.substr(0, 64));
  std::replace_if(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return "'" + text + "'";
}

// Since 10 August 2026 dispatch asks for a mask where there is one row, since that needs none.
// Before, it asked for none, although the kernels have one.
bool tells_no_masks(const Manifest& rows) {
  const auto one_row = [&](bool causal) {
    return std::any_of(rows.begin(), rows.end(), [&](const ManifestRow& row) {
      return !row.key.prefill && row.key.qo_len == 1 && row.key.causal == causal;
    });
  };
  return one_row(false) && !one_row(true);
}

void take_as_masked(Manifest& rows) {
  for (ManifestRow& row : rows) {
    if (row.key.prefill) continue;
    row.asked_for = row.key.causal;
    row.key.causal = true;
  }
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& source) : text_(text), source_(source) {}

  Result<Manifest> parse() {
    if (MaybeError bad = read_header()) return *bad;
    Manifest rows;
    while (!text_.empty()) {
      const std::string_view line = take_line(text_);
      ++line_;
      if (line.empty()) continue;
      if (rows.size() == kMostRows) return error(say("more than ", kMostRows, " rows"));
      ManifestRow row;
      if (MaybeError bad = read_row(line, row)) return *bad;
      rows.push_back(std::move(row));
    }
    if (rows.empty()) return error("no row after the header");
    if (tells_no_masks(rows)) take_as_masked(rows);
    return rows;
  }

 private:
  [[nodiscard]] Error error(const std::string& what) const {
    return {ErrorCode::usage, say(source_, ", line ", line_, ": ", what)};
  }
  [[nodiscard]] Error bad_value(Column column, std::string_view value,
                                const std::string& expected) const {
    return error(say(kNames[column], " is ", shown(value), ", not ", expected));
  }

  MaybeError read_header() {
    const std::string_view line = take_line(text_);
    line_ = 1;
    if (line.size() > kLongestLine) return error("is longer than any header");
    at_.fill(std::nullopt);
    const auto cells = split(line);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto* found = std::find(kNames.begin(), kNames.end(), cells[i]);
      if (found == kNames.end()) continue;
      auto& at = at_[static_cast<std::size_t>(found - kNames.begin())];
      if (at) return error("column " + shown(cells[i]) + " appears twice");
      at = i;
    }
    width_ = cells.size();
    for (std::size_t c = 0; c < kColumns; ++c)
      if (!at_[c] && c != kCprr && c != kLse) return error(say("has no column '", kNames[c], "'"));
    return std::nullopt;
  }

  MaybeError read_row(std::string_view line, ManifestRow& row) {
    if (line.size() > kLongestLine) return error(say("is longer than ", kLongestLine, " bytes"));
    cells_ = split(line);
    if (cells_.size() != width_)
      return error(say("has ", cells_.size(), " values, the header ", width_));
    row.line = line_;
    RowKey& k = row.key;
    if (MaybeError bad = read_type(kQ, k.q)) return bad;
    if (MaybeError bad = read_type(kKv, k.kv)) return bad;
    if (MaybeError bad = read_count(kHeads, 1, k.heads)) return bad;
    if (MaybeError bad = read_count(kQo, 0, k.qo_len)) return bad;
    if (MaybeError bad = read_flag(kPs, k.persistent)) return bad;
    if (MaybeError bad = read_flag(kPrefill, k.prefill)) return bad;
    if (MaybeError bad = read_flag(kCausal, k.causal)) return bad;
    if (at_[kLse])
      if (MaybeError bad = read_flag(kLse, k.lse)) return bad;
    if (at_[kCprr])
      if (MaybeError bad = read_flag(kCprr, k.cprr)) return bad;
    return read_names(row);
  }

  [[nodiscard]] std::string_view cell(Column column) const { return cells_[*at_[column]]; }

  MaybeError read_type(Column column, ElementType& to) const {
    for (const ElementType type : {ElementType::bf16, ElementType::fp8, ElementType::bytes})
      if (cell(column) == name(type)) return to = type, std::nullopt;
    return bad_value(column, cell(column), "bf16, fp8 or byte");
  }
  MaybeError read_count(Column column, std::int64_t least, std::int64_t& to) const {
    const std::string_view text = cell(column);
    const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), to);
    if (bad == std::errc{} && end == text.data() + text.size() && to >= least &&
        to <= kLargestCount)
      return std::nullopt;
    return bad_value(column, text, say("a number from ", least, " to ", kLargestCount));
  }
  MaybeError read_flag(Column column, bool& to) const {
    const std::string_view text = cell(column);
    if (text != "0" && text != "1") return bad_value(column, text, "0 or 1");
    to = text == "1";
    return std::nullopt;
  }
  // A file name must not lead out of the directory of the manifest.
  MaybeError read_names(ManifestRow& row) const {
    const std::string_view kernel = cell(kKernel);
    const std::string_view file = cell(kFile);
    const auto is_plain = [](char c) {
      return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
             c == '_' || c == '-' || c == '.';
    };
    if (kernel.empty() || !std::all_of(kernel.begin(), kernel.end(), is_plain))
      return bad_value(kKernel, kernel, "a symbol");
    if (!file.ends_with(".co") || file.starts_with('.') ||
        !std::all_of(file.begin(), file.end(), is_plain))
      return bad_value(kFile, file, "the plain name of a .co file");
    row.kernel = kernel;
    row.file = file;
    return std::nullopt;
  }

  std::string_view text_;
  const std::string& source_;
  std::int64_t line_ = 0;
  std::size_t width_ = 0;
  std::array<std::optional<std::size_t>, kColumns> at_;
  std::vector<std::string_view> cells_;
};

}  // namespace

std::string_view name(ElementType type) {
  switch (type) {
    case ElementType::bf16:
      return "bf16";
    case ElementType::fp8:
      return "fp8";
    case ElementType::bytes:
      break;
  }
  return "byte";
}

ElementType element_type(Dtype dtype) {
  return dtype == Dtype::bf16 ? ElementType::bf16 : ElementType::fp8;
}

std::string text_of(const RowKey& key) {
  return say(key.prefill ? "prefill " : "decode ", name(key.q), "/", name(key.kv), ", ", key.heads,
             " heads, qSeqLen ", key.qo_len, key.persistent ? ", persistent" : ", not persistent",
             key.causal ? ", causal" : ", not causal", key.lse ? ", lse" : "",
             key.cprr ? ", cprr" : "");
}

Result<Manifest> parse_manifest(std::string_view text, const std::string& source) {
  return Parser(text, source).parse();
}

}  // namespace mla::hip::aiter
