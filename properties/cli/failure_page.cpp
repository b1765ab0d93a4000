#include "properties/cli/failure_page.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/engine/decode_builder.hpp"
#include "core/numeric/bf16.hpp"
#include "core/plan/plan_check.hpp"
#include "core/say.hpp"
#include "cpu_backend/decode/sampled_reference.hpp"
#include "properties/show/pictures.hpp"
#include "properties/step/blame.hpp"

namespace mla::cli {
namespace {

constexpr std::size_t kMostBytes = 4'000'000;  // of a page, pictures included

// An error in units of its bound.
float ratio_of(double got, double want, double bound, bool poison) {
  if (poison || !std::isfinite(got) != !std::isfinite(want) || std::isnan(got))
    return show::kUnwritten;
  if (bound == cpu::kNotEvaluated) return show::kNotJudged;
  if (got == want) return 0;
  const double ratio = std::fabs(got - want) / bound;
  // A bound of 0 holds for the value alone.
  return ratio < 1e30 ? static_cast<float>(ratio) : 1e30F;
}

float out_ratio(const DecodeResult& result, const cpu::ReferenceResult& reference, std::size_t i) {
  const std::uint16_t bits = result.out[i];
  return ratio_of(bf16_to_float(bits), reference.out[i], reference.out_bound[i],
                  bits == kPoisonBf16);
}

const char* look_of(prop::Verdict verdict) {
  switch (verdict) {
    case prop::Verdict::pass:
      return "good";
    case prop::Verdict::fail:
    case prop::Verdict::unexpected_pass:
      return "bad";
    default:
      return "open";
  }
}

std::string table_html(const BackendReport& b) {
  std::string out =
      "<table>\n<tr><th>id</th><th>property</th><th>ran</th><th>skipped</th><th>failed</th>"
      "<th>verdict</th><th></th></tr>\n";
  for (const prop::PropertyTally& t : b.report.tallies) {
    const prop::Verdict verdict = verdict_of(t);
    out += "<tr><td>" + show::escape(t.property->id) + "</td><td>" +
           show::escape(t.property->name) + "</td><td>" + show::count(t.ran) + "</td><td>" +
           show::count(t.skipped) + "</td><td>" + show::count(t.failed) + "</td><td class=\"" +
           look_of(verdict) + "\">" + show::escape(prop::name(verdict)) + "</td><td>" +
           show::escape(remark(t)) + "</td></tr>\n";
  }
  return out + "</table>\n";
}

std::size_t size_of(const show::Section& section) {
  std::size_t bytes = section.html.size();
  for (const show::Picture& p : section.pictures) bytes += p.body.size();
  return bytes;
}

std::string backend_html(const BackendReport& b) {
  std::string html = "<p>" + show::counted(b.report.cases, "case") + ", " +
                     show::count(b.report.refused) + " refused.";
  if (const std::string why = early_end(b.report); !why.empty())
    html += " Ended early: " + show::escape(why) + ".";
  html += "</p>\n";
  Facts facts = b.facts;
  for (std::string& line : b.report.launches.lines()) facts.emplace_back("launched", line);
  return html + show::facts_html(facts) + table_html(b);
}

}  // namespace

show::ErrorMap error_map_of(const DecodeResult& result, const cpu::ReferenceResult& reference,
                            std::int64_t heads) {
  show::ErrorMap map;
  map.heads = heads;
  map.dims = kValueDim;
  const auto pairs = std::min(result.out.size(), reference.out.size()) / kValueDim;
  map.rows = static_cast<std::int64_t>(pairs) / heads;
  const bool lse = !reference.lse.empty() && result.lse.size() >= pairs;
  float worst = -2;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    float ratio = show::kNotJudged;
    for (std::size_t d = 0; d < kValueDim; ++d)
      ratio = std::max(ratio, out_ratio(result, reference, pair * kValueDim + d));
    if (lse)
      ratio =
          std::max(ratio, ratio_of(result.lse[pair], reference.lse[pair], reference.lse_bound[pair],
                                   std::bit_cast<std::uint32_t>(result.lse[pair]) == kPoisonF32));
    map.pairs.push_back(ratio);
    if (ratio <= worst) continue;
    worst = ratio;
    map.worst_row = static_cast<std::int64_t>(pair) / heads;
    map.worst_head = static_cast<std::int64_t>(pair) % heads;
  }
  if (worst <= 1) return map;
  const auto first = static_cast<std::size_t>(map.worst_row * heads) * kValueDim;
  for (std::size_t i = first; i < first + static_cast<std::size_t>(heads) * kValueDim; ++i)
    map.worst_dims.push_back(out_ratio(result, reference, i));
  return map;
}

show::DrawnPlan draw_metadata(const DecodeMetadata& metadata, const show::ErrorMap& map) {
  const plan::Plan& plan = *metadata.plan;
  std::vector<show::Finding> findings;
  if (!map.worst_dims.empty()) {
    const std::int64_t row = prop::kernel_row_of(metadata.shape, map.worst_row, map.worst_head);
    const std::string where =
        say("row ", map.worst_row, " head ", map.worst_head, ", the worst of the result");
    const std::size_t before = findings.size();
    for (std::int64_t i = 0; i < plan.works(); ++i)
      if (const plan::WorkItem w = plan.work(i); w.q_begin <= row && row < w.q_end)
        findings.push_back({"guilty", say("work ", i, " computes ", where), i});
    if (findings.size() == before) findings.push_back({"guilty", "no work computes " + where, -1});
  }
  for (const plan::Violation& v : plan::plan_check(check_input_of(metadata)))
    findings.push_back({std::string(plan::name(v.rule)), v.what, v.work});
  return show::draw_plan(check_input_of(metadata),
                         {.known = metadata.shape.planner == plan::PlannerVersion::v1_2,
                          .granularity = metadata.shape.granularity,
                          .max_split = metadata.shape.max_split},
                         std::move(findings));
}

show::Section pictures_of_case(const Case& c, const Backend& backend,
                               const prop::Interposer* defect) {
  show::Section out;
  const auto note = [&out](const std::string& why) {
    out.html += "<p class=\"notes\">" + show::escape(why) + "</p>\n";
  };
  if (c.kind() != StepKind::decode) {
    note(say("Pictures show decode steps; this is one of kind ", name(c.kind()), "."));
    return out;
  }
  prop::Subject subject(c, backend, defect);
  if (!subject.metadata()) {
    note("There is no plan: " + subject.metadata().error().message);
    return out;
  }
  show::ErrorMap map;
  if (!subject.result()) {
    note("There is no result: " + subject.result().error().message);
  } else if (subject.reference()) {
    map = error_map_of(*subject.result(), *subject.reference(), c.heads);
    out.pictures = show::error_pictures(map, "the result");
    if (map.worst_dims.empty())
      note(
          "The case's own launch is within its bounds: the property compares it with other "
          "launches, or looks at something else than the result.");
  }
  const DecodeMetadata& metadata = *subject.metadata();
  if (!metadata.plan) {
    note(say("There is no plan to draw: route ", name(metadata.shape.route), ", ",
             show::counted(metadata.shape.kv_splits, "split"), " of every request."));
    return out;
  }
  const show::DrawnPlan drawn = draw_metadata(metadata, map);
  out.html += show::findings_html(drawn);
  out.pictures.push_back(requests_picture(drawn));
  out.pictures.push_back(slots_picture(drawn));
  out.pictures.push_back(merges_picture(drawn));
  if (auto mask = mask_picture(drawn)) out.pictures.push_back(std::move(*mask));
  return out;
}

show::Section failure_section(const prop::Failure& f) {
  const std::string block = prop::failure_block(f);
  std::string html = "<p>" + show::escape(f.property->sentence) + "</p>\n<p class=\"bad\">" +
                     show::escape(f.outcome.message) + "</p>\n";
  const std::size_t repro = block.find("REPRO: ");
  html += command_html(block.substr(repro + 7, block.find('\n', repro) - repro - 7));
  if (f.shrinks > 0)
    html += say("<p>Made smaller ", show::counted(f.shrinks, "time"), ", from ",
                show::escape(format_case(f.original)), ", seed ", f.seed, ".</p>\n");
  html += "<details><summary>The failure block</summary>" + block_html(block) + "</details>\n";
  return {.heading = "FAIL " + prop::failing_ids(f) + " " + format_case(f.smallest),
          .html = std::move(html),
          .pictures = {}};
}

std::string block_html(const std::string& text) {
  return "<pre>" + show::escape(text) + "</pre>\n";
}

std::string command_html(const std::string& command) {
  return block_html(command) + "<button class=\"copy\">copy the command</button>\n";
}

std::string run_page(const RunSummary& summary, const std::vector<NamedBackend>& backends) {
  const prop::ExitCode code = summary.exit_code();
  std::vector<show::Section> sections;
  std::size_t bytes = 0;
  for (const BackendReport& b : summary.backends)
    sections.push_back({.heading = say("backend ", b.backend, ", seed ", summary.seed),
                        .html = backend_html(b),
                        .pictures = {}});
  for (std::size_t i = 0; i < summary.backends.size(); ++i) {
    for (const prop::Failure& f : summary.backends[i].report.failures) {
      sections.push_back(failure_section(f));
      bytes += size_of(sections.back());
      if (bytes >= kMostBytes || i >= backends.size()) {
        sections.back().html +=
            "<p class=\"notes\">No pictures: the page would be too large. The command above with "
            "--html draws them.</p>\n";
        continue;
      }
      show::Section drawn = pictures_of_case(f.smallest, *backends[i].backend, nullptr);
      bytes += size_of(drawn);
      sections.push_back(std::move(drawn));
    }
  }
  return show::html_page(
      say("mla-testbed run: ", describe(code), " (exit ", static_cast<int>(code), ")"), sections);
}

}  // namespace mla::cli
