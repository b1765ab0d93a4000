// `mla-testbed support`: which kernel runs which shape, and why not.
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/say.hpp"
#include "core/shape/resolved_shape.hpp"
#include "properties/app/support_kinds.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/device_options.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/quantity.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;
using Json = nlohmann::ordered_json;

struct SupportOptions {
  std::string arch;   // empty: all
  std::string heads;  // empty: every padded count
  std::string dtype;  // empty: all
  std::string requests = "1";
  std::string kind = "decode";
  std::string planner = "auto";
  std::string backend;  // empty: AITER as the core knows it
  std::string aiter_hsa;
  bool json = false;
};

constexpr const char* kSupportFooter = R"(
Prints one row for each architecture, dtype, head count, causal flag, and whether the final LSE is
asked for. Query lengths with the same answer share a row, with the reason of the shortest. The
batch has --requests uniform requests. Head counts are those of one rank, before padding.
Routes: persistent (six plan buffers), persistent-rows (every query row is a request of its own),
split (no plan). Planner v1.2 is assumed, as an engine gets it; --planner none: steps that an engine
launches without a plan.
--kind prefill: the path of a prefill step, and why it is not the fp8 path. --kind fa: the decode
kernel of the AITER FA backend.

Examples:
  mla-testbed support --arch gfx950
  mla-testbed support --arch gfx942 --heads 8 --dtype fp8/fp8
  mla-testbed support --requests 32 --heads 16
  mla-testbed support --planner none --dtype bf16/bf16
  mla-testbed support --kind prefill --arch gfx950
  mla-testbed support --backend aiter --aiter-hsa aiter/hsa --arch gfx942
  mla-testbed support --json > support.json)";

// Query lengths that the matrix looks at: every one that some kernel tells apart, and two beyond.
constexpr std::int64_t kLongestRows = 17;

struct Key {
  Arch arch = Arch::gfx942;
  DtypePair dtype;
  std::int64_t heads = 16;
  bool causal = true;
  bool lse = false;
  PlannerChoice planner = PlannerChoice::automatic;
};

struct Answer {
  bool ok = false;
  std::string route;
  std::string kernel;
  std::string reason;
};

Answer ask(const Key& key, std::int64_t rows, std::int64_t requests) {
  Case c;
  c.requests.assign(static_cast<std::size_t>(requests), {rows, 4096});
  c.heads = key.heads;
  c.arch = key.arch;
  c.compute_units = product_compute_units(key.arch).count();
  c.dtype = key.dtype;
  c.causal = key.causal;
  c.decode().need_lse = key.lse;
  c.planner = key.planner;
  c.layout = {Layout::contiguous, 0};
  const auto batch = make_batch(c);
  if (!batch) return {false, "refused", "", batch.error().message};
  const auto shape = resolve_shape(c, *batch);
  if (!shape) {
    const Error& e = shape.error();
    return {false, "refused", "", e.message + (e.bug.empty() ? "" : " (" + e.bug + ")")};
  }
  return {true, std::string(name(shape->route)), std::string(shape->kernel.label),
          shape->route_reason};
}

std::string dtype_text(DtypePair d) {
  return say(name(d.q), "/", name(d.kv));
}

// The keys of the matrix, in printing order, reduced to what the options ask for.
std::vector<Key> keys(const SupportOptions& o, std::int64_t heads) {
  std::vector<Key> out;
  const auto planner = o.planner == "none" ? PlannerChoice::none : PlannerChoice::automatic;
  constexpr DtypePair kPairs[] = {
      {Dtype::bf16, Dtype::bf16}, {Dtype::bf16, Dtype::fp8}, {Dtype::fp8, Dtype::fp8}};
  for (const Arch arch : {Arch::gfx942, Arch::gfx950})
    for (const DtypePair dtype : kPairs)
      for (std::int64_t h = 16; h <= kMaxHeads; h += 16)
        for (const bool causal : {true, false})
          for (const bool lse : {false, true}) {
            if (!o.arch.empty() && o.arch != name(arch)) continue;
            if (!o.dtype.empty() && o.dtype != dtype_text(dtype)) continue;
            if (heads != 0 && h != round_up(heads, 16)) continue;
            out.push_back({arch, dtype, heads == 0 ? h : heads, causal, lse, planner});
          }
  return out;
}

std::string table_row(const Key& key, std::int64_t first, std::int64_t last, const Answer& a) {
  const std::string rows = first == last ? std::to_string(first) : say(first, "-", last);
  char text[512];
  std::snprintf(text, sizeof text, "%-7s %-10s %5lld  %-6s %-6s %-3s  %-15s  %-28s  %s\n",
                std::string(name(key.arch)).c_str(), dtype_text(key.dtype).c_str(),
                static_cast<long long>(key.heads), rows.c_str(), key.causal ? "yes" : "no",
                key.lse ? "yes" : "no", a.route.c_str(), a.kernel.c_str(), a.reason.c_str());
  return text;
}

std::string table(const std::vector<Key>& all, std::int64_t requests) {
  std::string out =
      "arch    dtype      heads  rows   causal lse  route            kernel                        "
      "reason\n";
  for (const Key& key : all) {
    std::int64_t first = 1;
    Answer answer = ask(key, first, requests);
    for (std::int64_t rows = 2; rows <= kLongestRows; ++rows) {
      Answer next = ask(key, rows, requests);
      if (next.route == answer.route && next.kernel == answer.kernel) continue;
      out += table_row(key, first, rows - 1, answer);
      first = rows;
      answer = std::move(next);
    }
    out += table_row(key, first, kLongestRows, answer);
  }
  return out;
}

std::string json(const std::vector<Key>& all, std::int64_t requests, const std::string& planner) {
  Json rows = Json::array();
  for (const Key& key : all)
    for (std::int64_t q = 1; q <= kLongestRows; ++q) {
      const Answer a = ask(key, q, requests);
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
                    {"requests", requests},
                    {"planner", planner},
                    {"rows", rows}};
  return out.dump(1) + "\n";
}

Error unknown(const char* option, const std::string& value, const char* expected) {
  return {ErrorCode::usage, say(option, " has value '", value, "': expected ", expected), ""};
}

ExitCode support_other_kind(const SupportOptions& o) {
  const bool fa = o.kind == "fa";
  if (!o.heads.empty() || !o.dtype.empty() || o.planner != "auto" || (fa && !o.arch.empty()))
    return complain("support", {ErrorCode::usage,
                                "--kind " + o.kind +
                                    (fa ? " takes no --heads, --dtype, --planner or --arch"
                                        : " takes no --heads, --dtype or --planner") +
                                    ": its rows name what decides",
                                ""});
  const std::vector<app::SupportRow> rows = fa ? app::fa_support() : app::prefill_support(o.arch);
  if (!o.json) return finish("support", app::support_table(rows), ExitCode::held);
  const Json out = {
      {"format", "mla-testbed support 1"}, {"kind", o.kind}, {"rows", app::support_json(rows)}};
  return finish("support", out.dump(1) + "\n", ExitCode::held);
}

// What an installation offers, instead of what the core knows of AITER.
ExitCode support_of_aiter(const SupportOptions& o) {
  if (!o.heads.empty() || !o.dtype.empty() || o.kind != "decode" || o.planner != "auto")
    return complain("support", {ErrorCode::usage,
                                "--backend aiter has no --heads, --dtype, --kind or --planner: its "
                                "rows are those of the manifests",
                                ""});
  if (o.aiter_hsa.empty())
    return complain("support", {ErrorCode::fault,
                                "--backend aiter needs --aiter-hsa DIR, or AITER_HSA in the "
                                "environment",
                                ""});
  const auto rows = app::aiter_support(o.aiter_hsa, o.arch);
  if (!rows) return complain("support", rows.error());
  if (!o.json) return finish("support", app::support_table(*rows), ExitCode::held);
  const Json out = {{"format", "mla-testbed support 1"},
                    {"backend", "aiter"},
                    {"rows", app::support_json(*rows)}};
  return finish("support", out.dump(1) + "\n", ExitCode::held);
}

ExitCode support(const SupportOptions& o) {
  if (!o.arch.empty() && !arch_from_name(o.arch))
    return complain("support", unknown("--arch", o.arch, "gfx942 or gfx950"));
  if (o.backend == "aiter") return support_of_aiter(o);
  if (app::named_aiter(o.aiter_hsa))
    return complain("support", {ErrorCode::usage,
                                "--aiter-hsa " + o.aiter_hsa + " goes with --backend aiter", ""});
  if (o.kind != "decode") return support_other_kind(o);
  const auto requests = parse_count("--requests", o.requests);
  if (!requests || *requests < 1 || *requests > 4096)
    return complain("support", unknown("--requests", o.requests, "1 to 4096"));
  std::int64_t heads = 0;
  if (!o.heads.empty()) {
    const auto n = parse_count("--heads", o.heads);
    if (!n || *n < 1 || *n > kMaxHeads)
      return complain("support", unknown("--heads", o.heads, "1 to 128"));
    heads = *n;
  }
  const std::vector<Key> all = keys(o, heads);
  if (all.empty())
    return complain("support", unknown("--dtype", o.dtype, "bf16/bf16, bf16/fp8 or fp8/fp8"));
  return finish("support", o.json ? json(all, *requests, o.planner) : table(all, *requests),
                ExitCode::held);
}

}  // namespace

void add_support(Command& app, ExitCode& exit) {
  auto o = std::make_shared<SupportOptions>();
  Command c = app.add_subcommand("support", "Which kernel runs which shape, and why not");
  c.add_option("--arch", o->arch, "gfx942 or gfx950").type_name("NAME");
  c.add_option("--heads", o->heads, "Query heads of one rank, 1 to 128").type_name("N");
  c.add_option("--dtype", o->dtype, "<q>/<kv>: bf16/bf16, bf16/fp8 or fp8/fp8").type_name("NAMES");
  c.add_option("--requests", o->requests, "Requests of the batch").type_name("N").show_default();
  c.add_option("--kind", o->kind, "Which of an engine's steps: decode, prefill or fa")
      .one_of({"decode", "prefill", "fa"})
      .show_default();
  c.add_option("--planner", o->planner, "none: decode steps without a plan")
      .one_of({"auto", "none"})
      .show_default();
  c.add_option("--backend", o->backend, "aiter: what the manifests of an installed AITER offer")
      .one_of({"aiter"});
  add_aiter_option(c, o->aiter_hsa);
  c.add_flag("--json", o->json, "Print every combination as JSON");
  c.footer(kSupportFooter);
  c.callback([o, &exit] { exit = support(*o); });
}

}  // namespace mla::cli
