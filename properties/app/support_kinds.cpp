#include "core/engine/step_hooks.hpp"
#include "properties/app/support.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/engine/fa/layer.hpp"
#include "core/engine/prefill/prefill_shape.hpp"

namespace mla::app {
namespace {

SupportRow refused(SupportRow row, const Error& error) {
  row.route = "refused";
  row.reason = error.message + (error.bug.empty() ? "" : " (" + error.bug + ")");
  return row;
}

SupportRow prefill_row(Arch arch, Dtype cache, std::int64_t context, bool context_plans) {
  Case c;
  c.step = PrefillSpec{};
  c.requests = {{256, 256 + context}};
  c.arch = arch;
  c.compute_units = product_compute_units(arch).count();
  c.dtype.kv = cache;
  c.planner = context_plans ? PlannerChoice::v12 : PlannerChoice::automatic;
  SupportRow row{{{"arch", std::string(name(arch))},
                  {"cache", std::string(name(cache))},
                  {"context", context > 0 ? "yes" : "no"},
                  {"planner", std::string(name(c.planner))}},
                 true,
                 {},
                 {}};
  const auto batch = make_batch(c);
  if (!batch) return refused({row.shape, false, {}, {}}, batch.error());
  const auto shape = prefill::resolve_prefill_shape(c, *batch, StepHooks::none());
  if (!shape) return refused({row.shape, false, {}, {}}, shape.error());
  row.route = prefill::name(shape->path);
  for (const std::string& why : shape->fallback)
    row.reason += (row.reason.empty() ? "" : "; ") + why;
  return row;
}

SupportRow fa_row(std::int64_t dim, std::int64_t window, std::int64_t rows, bool causal) {
  Case c;
  c.requests = {{rows, 1024}};
  c.heads = 8;
  c.block_size = 16;
  c.step = FaSpec{.head_dim = dim, .window = window};
  c.causal = causal;
  SupportRow row{{{"dim", std::to_string(dim)},
                  {"window", window < 0 ? "all" : std::to_string(window)},
                  {"rows", std::to_string(rows)},
                  {"causal", causal ? "yes" : "no"}},
                 false,
                 {},
                 {}};
  const auto layer = fa::resolve_layer(c);
  if (!layer) return refused(row, layer.error());
  const auto route = fa::route_decode(*layer, causal, rows);
  if (!route) return refused(row, route.error());
  row.ok = true;
  row.route = fa::name(route->kernel);
  row.reason = route->reason;
  return row;
}

}  // namespace

std::vector<SupportRow> prefill_support(const std::string& arch) {
  std::vector<SupportRow> rows;
  for (const Arch a : {Arch::gfx942, Arch::gfx950})
    for (const Dtype cache : {Dtype::bf16, Dtype::fp8})
      for (const std::int64_t context : {0, 512})
        for (const bool plans : {false, true})
          if (arch.empty() || arch == name(a))
            rows.push_back(prefill_row(a, cache, context, plans));
  return rows;
}

std::vector<SupportRow> fa_support() {
  std::vector<SupportRow> rows;
  for (const std::int64_t dim : {32, 64, 96, 128, 256})
    for (const std::int64_t window : {-1, 127})
      for (const std::int64_t q : {1, 4})
        for (const bool causal : {true, false}) rows.push_back(fa_row(dim, window, q, causal));
  return rows;
}

std::string support_table(const std::vector<SupportRow>& rows) {
  const auto cell = [](std::string text, std::size_t width) {
    text.resize(std::max(width, text.size()), ' ');
    return text + "  ";
  };
  std::string out;
  for (const auto& [column, value] : rows.front().shape) out += cell(column, 7);
  out += cell("route", 18) + "reason\n";
  for (const SupportRow& row : rows) {
    for (const auto& [column, value] : row.shape) out += cell(value, 7);
    out += cell(row.route, 18) + row.reason + "\n";
  }
  return out;
}

nlohmann::ordered_json support_json(const std::vector<SupportRow>& rows) {
  auto out = nlohmann::ordered_json::array();
  for (const SupportRow& row : rows) {
    nlohmann::ordered_json object;
    for (const auto& [column, value] : row.shape) object[column] = value;
    object["supported"] = row.ok;
    object["route"] = row.route;
    object["reason"] = row.reason;
    out.push_back(std::move(object));
  }
  return out;
}

}  // namespace mla::app
