#include "properties/cli/time_sweep.hpp"

#include <nlohmann/json.hpp>

#include "core/say.hpp"
#include "properties/app/step_time.hpp"
#include "properties/app/time_sweep.hpp"
#include "properties/cli/options.hpp"
#include "properties/cli/publisher.hpp"
#include "properties/cli/quantity.hpp"
#include "properties/show/time_picture.hpp"

namespace mla::cli {
namespace {

using prop::ExitCode;

constexpr const char* kBatches = "1,4,16,64,256";
constexpr const char* kContexts = "512,1k,2k,4k,8k,16k,32k,64k,128k";

// "1,16,4k"
Result<std::vector<std::int64_t>> parse_list(const char* option, std::string_view text) {
  std::vector<std::int64_t> out;
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view one = text.substr(0, comma);
    const bool kilo = one.ends_with('k');
    if (kilo) one.remove_suffix(1);
    const auto n = parse_count(option, one);
    if (!n) return n.error();
    out.push_back(kilo ? *n * 1024 : *n);
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace

ExitCode time_sweep(const SweepOptions& o) {
  const auto c = parse_case(o.line);
  if (!c) return complain("time", c.error());
  const auto batches = parse_list("--batches", o.batches.empty() ? kBatches : o.batches);
  if (!batches) return complain("time", batches.error());
  const auto contexts = parse_list("--contexts", o.contexts.empty() ? kContexts : o.contexts);
  if (!contexts) return complain("time", contexts.error());
  // Without --json a page or a picture on stdout takes the place of the table.
  const bool alone = !o.json && (o.html == "-" || o.svg == "-");
  const files::Output told = alone ? files::Output{} : files::printed(o.json);
  if (const MaybeError bad = files::check_outputs({told, {"--html", o.html}, {"--svg", o.svg}}, {}))
    return complain("time", *bad);
  const auto sweep = app::sweep_time(*c, {.requests = *batches, .keys = *contexts});
  if (!sweep) return complain("time", sweep.error());
  Publisher out("time");
  out.page(o.html, [&] { return app::sweep_page(*sweep); });
  out.file(o.svg,
           [&] { return show::time_svg(app::sweep_title(*sweep), app::sweep_picture(*sweep)); });
  const ExitCode code = sweep->any() ? ExitCode::held : ExitCode::skipped;
  if (alone) return out.finish("", code);
  return out.finish(o.json ? app::json_text(app::sweep_json(*sweep)) : app::sweep_text(*sweep),
                    code);
}

}  // namespace mla::cli
