// `mla-testbed support`: which kernel runs which shape, and why not.
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "core/say.hpp"
#include "core/shape/resolved_shape.hpp"
#include "properties/app/support.hpp"
#include "properties/cli/command.hpp"
#include "properties/cli/device_options.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/progress.hpp"
#include "properties/cli/quantity.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;
using Json = nlohmann::ordered_json;

struct SupportOptions {
  std::string arch;   // empty: all
  std::string heads;  // empty: every padded count
  std::string dtype;  // empty: all
  std::string rows;   // empty: every length
  std::string requests = "1";
  std::string latent, rope;  // empty: 512 and 64
  std::string kind = "decode";
  std::string planner = "auto";
  std::string backend;  // empty: AITER as the core knows it
  std::string aiter_hsa;
  std::string aiter;  // a source tree
  bool json = false;
};

constexpr const char* kSupportFooter = R"(
Prints one row for each architecture, dtype, head count, causal flag, and whether the final LSE is
asked for. Query lengths with the same answer share a row, with the reason of the shortest. The
batch has --requests uniform requests. Head counts are those of one rank, before padding.
Routes: persistent (six plan buffers), persistent-rows (every query row is a request of its own),
split (no plan). With --arch, --heads, --dtype and --rows the answer is a sentence. Planner v1.2 is assumed, as an engine gets it; --planner none: steps that an engine
launches without a plan.
With --aiter, the tree's own planner and dispatch are asked: each shape is planned and launched over a
few keys. A row has the kernel of stage 1, then what followed it, or what AITER raised. Heads are what
AITER gets, after padding. Numbers are not judged: `run --aiter` does that. A check of
AITER's refuses, also one that ends the process. A shape that neither runs nor is refused `fails`, as
what does not compile, a kernel's fault or a process that crashes; the command then ends with 3.
--kind prefill: the path of a prefill step, and why it is not the fp8 path. --kind fa: the decode
kernel of the AITER FA backend.

Examples:
  mla-testbed support --arch gfx950
  mla-testbed support --arch gfx942 --heads 8 --dtype fp8/fp8
  mla-testbed support --arch gfx950 --heads 24 --dtype bf16/bf16 --rows 2
  mla-testbed support --requests 32 --heads 16
  mla-testbed support --arch gfx950 --heads 16 --dtype fp8/fp8 --rows 1 --latent 512 --rope 0
  mla-testbed support --planner none --dtype bf16/bf16
  mla-testbed support --kind prefill --arch gfx950
  mla-testbed support --backend aiter --aiter-hsa aiter/hsa --arch gfx942
  mla-testbed support --aiter aiter --arch gfx950 --heads 48 --dtype bf16/bf16 --rows 1
  mla-testbed support --json > support.json)";

Error unknown(const char* option, const std::string& value, const char* expected) {
  return {ErrorCode::usage, say(option, " has value '", value, "': expected ", expected)};
}

ExitCode support_other_kind(const SupportOptions& o) {
  const bool fa = o.kind == "fa";
  if (!o.heads.empty() || !o.dtype.empty() || !o.rows.empty() || o.planner != "auto" ||
      (fa && !o.arch.empty()))
    return refuse("support", "--kind " + o.kind +
                                 (fa ? " takes no --heads, --dtype, --planner, --rows or --arch"
                                     : " takes no --heads, --dtype or --planner, and no --rows") +
                                 ": its rows name what decides");
  const std::vector<app::SupportRow> rows = fa ? app::fa_support() : app::prefill_support(o.arch);
  if (!o.json) return finish("support", app::support_table(rows), ExitCode::held);
  const Json out = {
      {"format", "mla-testbed support 1"}, {"kind", o.kind}, {"rows", app::support_json(rows)}};
  return finish("support", out.dump(1) + "\n", ExitCode::held);
}

// What an installation offers, instead of what the core knows of AITER.
ExitCode support_of_aiter(const SupportOptions& o) {
  if (!o.heads.empty() || !o.dtype.empty() || !o.rows.empty() || o.kind != "decode" ||
      o.planner != "auto")
    return refuse("support",
                  "--backend aiter has no --heads, --dtype, --rows, --kind or --planner: its "
                  "rows are those of the manifests");
  if (o.aiter_hsa.empty())
    return complain("support", {ErrorCode::fault,
                                "--backend aiter needs --aiter-hsa DIR, or AITER_HSA in the "
                                "environment"});
  const auto rows = app::aiter_support(o.aiter_hsa, o.arch);
  if (!rows) return complain("support", rows.error());
  if (!o.json) return finish("support", app::support_table(*rows), ExitCode::held);
  const Json out = {{"format", "mla-testbed support 1"},
                    {"backend", "aiter"},
                    {"rows", app::support_json(*rows)}};
  return finish("support", out.dump(1) + "\n", ExitCode::held);
}

MaybeError read_widths(const SupportOptions& o, RowWidths& widths) {
  const auto number = [](const std::string& text, std::int64_t absent) {
    if (text.empty()) return absent;
    const auto given = parse_count("", text);
    return given ? *given : std::int64_t{-1};
  };
  const std::int64_t latent = number(o.latent, widths.latent().count());
  widths = RowWidths(LatentDims(latent), RopeDims(number(o.rope, widths.rope().count())),
                     ValueDims(latent));
  const std::string why = impossible(widths);
  if (why.empty()) return std::nullopt;
  return Error{ErrorCode::usage,
               say("--latent has value '", o.latent, "', --rope '", o.rope, "': ", why)};
}

// Shows on a terminal how many shapes were asked for.
app::SupportOracle with_progress(app::SupportOracle oracle) {
  auto progress = std::make_shared<Progress>("shapes", true, std::nullopt);
  return [oracle = std::move(oracle), progress = std::move(progress),
          asked = std::int64_t{0}](const app::SupportShape& shape) mutable {
    progress->update(asked++, 0);
    return oracle(shape);
  };
}

// Sets `failed` where a shape is neither taken nor refused.
app::SupportOracle noting_failures(app::SupportOracle oracle, bool& failed) {
  return [oracle = std::move(oracle), &failed](const app::SupportShape& shape) {
    app::SupportAnswer answer = oracle(shape);
    failed = failed || answer.route == app::kFails;
    return answer;
  };
}

ExitCode support(const SupportOptions& o) {
  if (!o.arch.empty() && !arch_from_name(o.arch))
    return complain("support", unknown("--arch", o.arch, "gfx942 or gfx950"));
  if (!o.aiter.empty() && (o.backend == "aiter" || o.kind != "decode"))
    return refuse("support", "--aiter " + o.aiter + " takes no --backend or --kind");
  if (o.backend == "aiter") return support_of_aiter(o);
  if (app::named_aiter(o.aiter_hsa))
    return refuse("support", "--aiter-hsa " + o.aiter_hsa + " goes with --backend aiter");
  if (o.kind != "decode") return support_other_kind(o);
  const auto requests = parse_count("--requests", o.requests);
  if (!requests || *requests < 1 || *requests > 4096)
    return complain("support", unknown("--requests", o.requests, "1 to 4096"));
  app::SupportRequest request{
      .arch = o.arch, .dtype = o.dtype, .requests = *requests, .planned = o.planner != "none"};
  if (!o.heads.empty()) {
    const auto n = parse_count("--heads", o.heads);
    if (!n || *n < 1 || *n > kMaxHeads)
      return complain("support", unknown("--heads", o.heads, "1 to 128"));
    request.heads = *n;
  }
  if (!o.rows.empty()) {
    const auto n = parse_count("--rows", o.rows);
    if (!n || *n < 1 || *n > 4096)
      return complain("support", unknown("--rows", o.rows, "1 to 4096"));
    request.rows = *n;
  }
  if (const MaybeError bad = read_widths(o, request.widths)) return complain("support", *bad);
  bool failed = false;
  if (!o.aiter.empty()) {
    if (request.widths != kBuiltIn)
      return refuse("support", "--aiter " + o.aiter + " takes no --latent or --rope: 512 and 64");
    if (o.heads.empty() && o.rows.empty())
      return refuse("support", "--aiter " + o.aiter +
                                   " launches each shape, which takes a while: name --heads or "
                                   "--rows");
    auto tree = app::tree_support(o.aiter, o.arch);
    if (!tree) return complain("support", tree.error());
    request.oracle = noting_failures(with_progress(std::move(*tree)), failed);
  }
  if (!app::has_support_rows(request))
    return complain("support", unknown("--dtype", o.dtype, "bf16/bf16, bf16/fp8 or fp8/fp8"));
  const std::string text = o.json                       ? app::decode_support_json(request)
                           : app::is_one_shape(request) ? app::decode_support_sentence(request)
                                                        : app::decode_support_table(request);
  return finish("support", text, failed ? ExitCode::environment : ExitCode::held);
}

}  // namespace

void add_support(Command& app, ExitCode& exit) {
  auto o = std::make_shared<SupportOptions>();
  Command c = app.add_subcommand("support", "Which kernel runs which shape, and why not");
  c.add_option("--arch", o->arch, "gfx942 or gfx950").type_name("NAME");
  c.add_option("--heads", o->heads, "Query heads of one rank, 1 to 128").type_name("N");
  c.add_option("--rows", o->rows, "Query rows of each request").type_name("N");
  c.add_option("--dtype", o->dtype, "<q>/<kv>: bf16/bf16, bf16/fp8 or fp8/fp8").type_name("NAMES");
  c.add_option("--requests", o->requests, "Requests of the batch").type_name("N").show_default();
  c.add_option("--latent", o->latent, "Elements of the latent part of a cached row, default 512")
      .type_name("N");
  c.add_option("--rope", o->rope, "Elements of its rope part, default 64").type_name("N");
  c.add_option("--kind", o->kind, "Which of an engine's steps: decode, prefill or fa")
      .one_of({"decode", "prefill", "fa"})
      .show_default();
  c.add_option("--planner", o->planner, "none: decode steps without a plan")
      .one_of({"auto", "none"})
      .show_default();
  c.add_option("--backend", o->backend, "aiter: what the manifests of an installed AITER offer")
      .one_of({"aiter"});
  add_aiter_option(c, o->aiter_hsa);
  add_tree_option(c, o->aiter);
  c.add_flag("--json", o->json, "Print every combination as JSON");
  c.footer(kSupportFooter);
  c.callback([o, &exit] { exit = support(*o); });
}

}  // namespace mla::cli
