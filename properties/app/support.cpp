#include "properties/app/support.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <vector>

#include "core/say.hpp"
#include "core/shape/resolved_shape.hpp"

namespace mla::app {
namespace {

using Json = nlohmann::ordered_json;

// Query lengths that the matrix looks at: every one that some kernel tells apart, and two beyond.
constexpr std::int64_t kLongestRows = 17;

struct Key {
  Arch arch = Arch::gfx942;
  DtypePair dtype;
  std::int64_t heads = 16;
  bool causal = true;
  bool lse = false;
  PlannerChoice planner = PlannerChoice::automatic;
  RowWidths widths;
};

struct KernelAnswer {
  bool ok = false;
  std::string route;
  std::string kernel;
  std::string reason;
};

KernelAnswer ask(const Key& key, std::int64_t rows, std::int64_t requests) {
  Case c;
  c.requests.assign(static_cast<std::size_t>(requests), {rows, 4096});
  c.heads = key.heads;
  c.arch = key.arch;
  c.compute_units = product_compute_units(key.arch).count();
  c.dtype = key.dtype;
  c.causal = key.causal;
  c.decode().need_lse = key.lse;
  c.decode().latent = key.widths.latent().count();
  c.decode().rope = key.widths.rope().count();
  c.planner = key.planner;
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

std::string dtype_text(DtypePair d) {
  return say(name(d.q), "/", name(d.kv));
}

// The keys of the matrix, in printing order, reduced to what the options ask for.
std::vector<Key> keys(const SupportRequest& o) {
  std::vector<Key> out;
  const auto planner = o.planned ? PlannerChoice::automatic : PlannerChoice::none;
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
            out.push_back(
                {arch, dtype, o.heads == 0 ? h : o.heads, causal, lse, planner, o.widths});
          }
  return out;
}

std::string table_row(const Key& key, std::int64_t first, std::int64_t last,
                      const KernelAnswer& a) {
  const std::string rows = first == last ? std::to_string(first) : say(first, "-", last);
  char text[512];
  std::snprintf(text, sizeof text, "%-7s %-10s %5lld  %-6s %-6s %-3s  %-15s  %-28s  %s\n",
                std::string(name(key.arch)).c_str(), dtype_text(key.dtype).c_str(),
                static_cast<long long>(key.heads), rows.c_str(), key.causal ? "yes" : "no",
                key.lse ? "yes" : "no", a.route.c_str(), a.kernel.c_str(), a.reason.c_str());
  return text;
}

}  // namespace

bool is_one_shape(const SupportRequest& o) {
  return !o.arch.empty() && !o.dtype.empty() && o.heads > 0 && o.rows > 0;
}

std::string decode_support_sentence(const SupportRequest& o) {
  const auto said = [&o](const KernelAnswer& a) {
    return a.ok ? say("runs on ", a.kernel, ", route ", a.route, ": ", a.reason)
                : "does not run: " + a.reason;
  };
  std::string out;
  std::string first;
  for (const Key& key : keys(o)) {
    const KernelAnswer a = ask(key, o.rows, o.requests);
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
  return !keys(request).empty();
}

std::string decode_support_table(const SupportRequest& request) {
  std::string out =
      "arch    dtype      heads  rows   causal lse  route            kernel                        "
      "reason\n";
  for (const Key& key : keys(request)) {
    if (request.rows > 0) {
      out += table_row(key, request.rows, request.rows, ask(key, request.rows, request.requests));
      continue;
    }
    std::int64_t first = 1;
    KernelAnswer answer = ask(key, first, request.requests);
    for (std::int64_t rows = 2; rows <= kLongestRows; ++rows) {
      KernelAnswer next = ask(key, rows, request.requests);
      if (next.route == answer.route && next.kernel == answer.kernel) continue;
      out += table_row(key, first, rows - 1, answer);
      first = rows;
      answer = std::move(next);
    }
    out += table_row(key, first, kLongestRows, answer);
  }
  return out;
}

std::string decode_support_json(const SupportRequest& request) {
  Json rows = Json::array();
  for (const Key& key : keys(request))
    for (std::int64_t q = std::max<std::int64_t>(1, request.rows);
         q <= (request.rows > 0 ? request.rows : kLongestRows); ++q) {
      const KernelAnswer a = ask(key, q, request.requests);
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
