#include "properties/app/support.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/say.hpp"
#include "core/shape/resolved_shape.hpp"

namespace mla::app {
namespace {

using Json = nlohmann::ordered_json;

// Query lengths that the matrix looks at: every one that some kernel tells apart, and two beyond.
constexpr std::int64_t kLongestRows = 17;

std::string dtype_text(DtypePair d) {
  return say(name(d.q), "/", name(d.kv));
}

// The shapes of the matrix, with one row, in printing order, reduced to what the options ask for.
std::vector<SupportShape> shapes(const SupportRequest& o) {
  std::vector<SupportShape> out;
  constexpr DtypePair kPairs[] = {
      {Dtype::bf16, Dtype::bf16}, {Dtype::bf16, Dtype::fp8}, {Dtype::fp8, Dtype::fp8}};
  for (const Arch arch : {Arch::gfx942, Arch::gfx950})
    for (const DtypePair dtype : kPairs)
      for (std::int64_t h = 16; h <= kMaxHeads; h += 16)
        for (const bool causal : {true, false})
          for (const bool lse : {false, true}) {
            if (!o.arch.empty() && o.arch != name(arch)) continue;
            if (!o.dtype.empty() && o.dtype != dtype_text(dtype)) continue;
            if (o.heads != 0 && h != round_up(o.heads, 16)) continue;
            out.push_back({arch, dtype, o.heads == 0 ? h : o.heads, causal, lse, o.planned,
                           o.widths, o.requests});
          }
  return out;
}

SupportAnswer ask(const SupportRequest& o, SupportShape shape, std::int64_t rows) {
  shape.rows = rows;
  return o.oracle(shape);
}

// Query lengths with the same answer.
struct TableRow {
  SupportShape shape;
  std::int64_t first = 1, last = 1;
  SupportAnswer answer;
};

// The kernels' column is as wide as its longest one.
std::string table_of(const std::vector<TableRow>& rows) {
  std::size_t kernels = 28;
  for (const TableRow& row : rows) kernels = std::max(kernels, row.answer.kernel.size());
  const auto left = [](const std::string& text, std::size_t width) {
    return text + std::string(width > text.size() ? width - text.size() : 0, ' ');
  };
  std::string out = say("arch    dtype      heads  rows   causal lse  route            ",
                        left("kernel", kernels), "  reason\n");
  for (const auto& [shape, first, last, answer] : rows) {
    const std::string heads = std::to_string(shape.heads);
    out +=
        say(left(std::string(name(shape.arch)), 7), ' ', left(dtype_text(shape.dtype), 10), ' ',
            std::string(5 - heads.size(), ' '), heads, "  ",
            left(first == last ? std::to_string(first) : say(first, "-", last), 6), ' ',
            left(shape.causal ? "yes" : "no", 6), ' ', left(shape.lse ? "yes" : "no", 3), "  ",
            left(answer.route, 15), "  ", left(answer.kernel, kernels), "  ", answer.reason, "\n");
  }
  return out;
}

}  // namespace

SupportAnswer answer_of_the_core(const SupportShape& asked) {
  Case c;
  c.requests.assign(static_cast<std::size_t>(asked.requests), {asked.rows, 4096});
  c.heads = asked.heads;
  c.arch = asked.arch;
  c.compute_units = product_compute_units(asked.arch).count();
  c.dtype = asked.dtype;
  c.causal = asked.causal;
  c.decode().need_lse = asked.lse;
  c.decode().latent = asked.widths.latent().count();
  c.decode().rope = asked.widths.rope().count();
  c.planner = asked.planned ? PlannerChoice::automatic : PlannerChoice::none;
  c.layout = {Layout::contiguous, 0};
  const auto batch = make_batch(c);
  if (!batch) return {false, "refused", "", batch.error().message};
  const auto shape = resolve_shape(c, *batch);
  if (!shape) {
    const Error& e = shape.error();
    return {false, "refused", "", e.message + (e.bug.empty() ? "" : " (" + e.bug + ")")};
  }
  std::string reason = shape->route_reason;
  for (const std::string& note : shape->notes) reason += "; " + note;
  return {true, std::string(name(shape->route)), std::string(shape->kernel.label), reason};
}

bool is_one_shape(const SupportRequest& o) {
  return !o.arch.empty() && !o.dtype.empty() && o.heads > 0 && o.rows > 0;
}

std::string decode_support_sentence(const SupportRequest& o) {
  const auto said = [&o](const SupportAnswer& a) {
    return a.ok ? say("runs on ", a.kernel, ", route ", a.route, ": ", a.reason)
                : "does not run: " + a.reason;
  };
  std::string out;
  std::string first;
  for (const SupportShape& key : shapes(o)) {
    const SupportAnswer a = ask(o, key, o.rows);
    if (out.empty()) {
      first = said(a);
      out = say("A decode step of ", o.requests, o.requests == 1 ? " request" : " requests",
                " with ", o.rows, o.rows == 1 ? " row" : " rows", " and ", key.heads, " heads, ",
                dtype_text(key.dtype),
                key.widths == kBuiltIn ? "" : say(", rows of ", text_of(key.widths)), " on ",
                name(key.arch), ", ", first, ".\n");
    } else if (said(a) != first) {
      out += say(key.causal ? "" : "Without a mask", key.causal || !key.lse ? "" : " and ",
                 !key.lse     ? ""
                 : key.causal ? "With a final LSE"
                              : "with a final LSE",
                 " it ", said(a), ".\n");
    }
  }
  return out;
}

bool has_support_rows(const SupportRequest& request) {
  return !shapes(request).empty();
}

std::string decode_support_table(const SupportRequest& request) {
  std::vector<TableRow> table;
  for (const SupportShape& shape : shapes(request)) {
    const std::int64_t first = request.rows > 0 ? request.rows : 1;
    const std::int64_t last = request.rows > 0 ? request.rows : kLongestRows;
    for (std::int64_t rows = first; rows <= last; ++rows) {
      SupportAnswer next = ask(request, shape, rows);
      const bool same = rows > first && next.route == table.back().answer.route &&
                        next.kernel == table.back().answer.kernel;
      if (same)
        table.back().last = rows;
      else
        table.push_back({shape, rows, rows, std::move(next)});
    }
  }
  return table_of(table);
}

std::string decode_support_json(const SupportRequest& request) {
  Json rows = Json::array();
  for (const SupportShape& key : shapes(request))
    for (std::int64_t q = std::max<std::int64_t>(1, request.rows);
         q <= (request.rows > 0 ? request.rows : kLongestRows); ++q) {
      const SupportAnswer a = ask(request, key, q);
      rows.push_back({{"arch", name(key.arch)},
                      {"dtype", dtype_text(key.dtype)},
                      {"heads", key.heads},
                      {"rows", q},
                      {"causal", key.causal},
                      {"lse", key.lse},
                      {"supported", a.ok},
                      {"route", a.route},
                      {"kernel", a.kernel},
                      {"reason", a.reason}});
    }
  const Json out = {{"format", "mla-testbed support 1"},
                    {"requests", request.requests},
                    {"planner", request.planned ? "auto" : "none"},
                    {"rows", rows}};
  return out.dump(1) + "\n";
}

}  // namespace mla::app
