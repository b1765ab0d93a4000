// Claims about the list of properties, and about the properties on the core as it is.
#include "properties/step/property.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "core/plan/planner.hpp"
#include "core/say.hpp"
#include "core/shape/kernel_table.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "properties/claims/claims.hpp"
#include "properties/judge/judge.hpp"
#include "properties/judge/runner.hpp"
#include "properties/plants/plant.hpp"
#include "tests/catch.hpp"

using namespace mla;
using prop::Plant;
using prop::Property;

namespace {

std::string plants_of(const Property& property) {
  std::string ids;
  for (const Plant& plant : prop::all_plants())
    if (plant.property == property.id) ids += (ids.empty() ? "" : ", ") + std::string(plant.id);
  return ids;
}

// The row of docs/reference/properties.md.
std::string row_of(const Property& p) {
  return "| " + std::string(p.id) + " " + std::string(p.name) + " | " + std::string(p.sentence) +
         " | " + plants_of(p) + " |";
}

std::vector<std::string> documented_rows() {
  std::ifstream file(MLA_FIXTURES "/../docs/reference/properties.md");
  std::vector<std::string> rows;
  for (std::string line; std::getline(file, line);)
    if (line.size() > 3 && line.starts_with("| P") && line[3] >= '0' && line[3] <= '9')
      rows.push_back(line);
  return rows;
}

// What is named after a property in properties/claims, a file or a folder: its sources, by path.
std::map<std::string, std::map<std::string, std::string>> property_sources() {
  namespace fs = std::filesystem;
  const fs::path claims(MLA_FIXTURES "/../properties/claims");
  std::map<std::string, std::map<std::string, std::string>> sources;
  for (const auto& entry : fs::recursive_directory_iterator(claims)) {
    const fs::path path = entry.path().lexically_relative(claims);
    const std::string named = path.begin()->stem().string();
    if (!entry.is_regular_file() || !std::regex_match(named, std::regex("p[0-9].*"))) continue;
    std::ifstream file(entry.path());
    sources[named][path.string()] = std::string(std::istreambuf_iterator<char>(file), {});
  }
  return sources;
}

// Where the constant of a property begins in a source; npos if it is not there.
std::size_t constant_in(const std::string& source, const Property& p) {
  return source.find("\nconstexpr Property k" + std::string(p.id) + "{");
}

// The shapes that have a persistent kernel, up to 17 query rows.
template <class Visit>
void for_each_kernel_key(Visit visit) {
  const DtypePair dtypes[] = {
      {Dtype::bf16, Dtype::bf16}, {Dtype::bf16, Dtype::fp8}, {Dtype::fp8, Dtype::fp8}};
  for (const Arch arch : {Arch::gfx942, Arch::gfx950})
    for (const DtypePair dtype : dtypes)
      for (std::int64_t heads = 16; heads <= kMaxHeads; heads += 16)
        for (std::int64_t q = 1; q <= 17; ++q)
          if (find_persistent_kernel(arch, dtype, heads, q))
            visit(PlanKey{arch, product_compute_units(arch), Heads(heads), Heads(1), dtype, q,
                          false});
}

std::int64_t sized_tiles(const PlanKey& key) {
  return plan::query_tiles({.arch = key.arch,
                            .compute_units = key.compute_units,
                            .batch = Requests(1),
                            .max_qo_len = key.max_qo_len,
                            .heads = key.heads_per_kv_head,
                            .dtype = key.dtype});
}

std::int64_t planned_tiles(const PlanKey& key) {
  const auto shape = resolve_plan_shape(key);
  REQUIRE(shape.ok());
  return shape->fold_ratio * shape->tiles(key.max_qo_len);
}

}  // namespace

TEST_CASE("properties: ids are in order, unique, and found", "[claims]") {
  std::string_view before;
  for (const Property& p : prop::all_properties()) {
    CHECK(before < p.id);
    before = p.id;
    CHECK(prop::find_property(p.id) == &p);
    CHECK(p.sentence.ends_with('.'));
  }
  CHECK(prop::find_property("P99") == nullptr);
}

TEST_CASE(
    "properties: each has a file or folder named after it, where one source ends with its constant",
    "[claims][docs]") {
  auto sources = property_sources();
  for (const Property& p : prop::all_properties()) {
    const std::string name = "p" + std::string(p.id.substr(1)) + "_" + std::string(p.name);
    INFO(name);
    REQUIRE(sources.contains(name));
    const auto own = sources.extract(name);
    const std::string* with_constant = nullptr;
    for (const auto& [path, source] : own.mapped()) {
      if (constant_in(source, p) == std::string::npos) continue;
      INFO(path);
      CHECK(with_constant == nullptr);
      with_constant = &source;
    }
    REQUIRE(with_constant != nullptr);
    const std::string constant = with_constant->substr(constant_in(*with_constant, p) + 1);
    CHECK(constant.find("\n\n") == constant.find("\n\n}  // namespace mla::prop\n"));
    CHECK(constant.find("\"" + std::string(p.id) + "\"") != std::string::npos);
    CHECK(constant.find("\"" + std::string(p.name) + "\"") != std::string::npos);
  }
  for (const auto& [name, files] : sources) FAIL_CHECK(name << " belongs to no property");
}

TEST_CASE("properties: docs/reference/properties.md has one row for each, with its plants",
          "[claims][docs]") {
  const std::vector<std::string> rows = documented_rows();
  const std::set<std::string> documented(rows.begin(), rows.end());
  for (const Property& p : prop::all_properties()) {
    INFO("docs/reference/properties.md needs the row\n" << row_of(p));
    CHECK(documented.contains(row_of(p)));
  }
  CHECK(rows.size() == prop::all_properties().size());
}

TEST_CASE("properties: all hold on random cases, and none of the decode claims is idle",
          "[claims]") {
  const auto backend = cpu::make_cpu_backend();
  prop::RunOptions options;
  for (const Property& p : prop::all_properties()) options.properties.push_back(&p);
  options.random_cases = 160;
  options.seed = 20;
  options.backend = backend.get();
  const prop::RunReport report = prop::run_properties(options);
  for (const prop::Failure& failure : report.failures) FAIL_CHECK(prop::failure_block(failure));
  const std::set<std::string_view> decode = {
      "P01", "P02", "P03", "P04", "P05", "P06", "P07", "P08", "P09", "P10", "P11",
      "P12", "P13", "P14", "P15", "P16", "P17", "P18", "P23", "P24", "P26", "P27",
      "P28", "P31", "P32", "P33", "P34", "P35", "P36", "P37", "P39", "P40"};
  for (const prop::PropertyTally& tally : report.tallies) {
    if (!decode.contains(tally.property->id)) continue;
    INFO(tally.property->id << " ran on " << tally.ran << " of " << report.cases
                            << " cases; first skip: " << tally.why_skipped);
    CHECK(2 * tally.ran >= report.cases);
  }
}

TEST_CASE("P36: a planner that ignores the cap of splits does not pass where it cuts further",
          "[claims][P36]") {
  const auto backend = cpu::make_cpu_backend();
  const auto passes = [&](const char* line) {
    INFO(line);
    prop::Subject subject(*parse_case(line), *backend, nullptr);
    const prop::Outcome outcome = prop::find_property("P36")->check(subject);
    CHECK(outcome.verdict != prop::Verdict::fail);  // it is refused
    return outcome.verdict == prop::Verdict::pass;
  };
  CHECK_FALSE(passes("mla1:1q1s64k;cu=256;planner=v11;split=1"));
  CHECK_FALSE(passes("mla1:2q1s64k;cu=256;planner=v11;split=64"));
  CHECK(passes("mla1:2q1s64k;cu=256;planner=v11;split=128"));
  CHECK(passes("mla1:1q1s64k;cu=256;planner=v11"));
  CHECK_FALSE(passes("mla1:1q1s64k;cu=256;planner=v10;split=4"));
  CHECK(passes("mla1:1q1s64k;cu=256;planner=v10;split=16"));
  CHECK(passes("mla1:1q1s64k;cu=256;split=1"));
}

TEST_CASE("P44: what is flushed is scaled with the output", "[claims][P44]") {
  const auto backend = cpu::make_cpu_backend();
  for (const char* scale : {"1/1e15", "1e-15/1e15", "1e15/1e15", "1e-15/1e-15"})
    for (const char* dtype : {"fp8/fp8", "bf16/fp8"}) {
      const std::string line = say("mla1:1q2s37_1q1s3;dtype=", dtype, ";scale=", scale);
      INFO(line);
      prop::Subject subject(*parse_case(line), *backend, nullptr);
      const prop::Outcome outcome = prop::find_property("P44")->check(subject);
      INFO(outcome.message);
      CHECK(outcome.verdict == prop::Verdict::pass);
    }
}

TEST_CASE("P25: contexts of any length are dealt out to ranks", "[claims][P25]") {
  const auto backend = cpu::make_cpu_backend();
  for (const char* keys : {"140k", "600k", "4096k"})
    for (int seed = 1; seed <= 12; ++seed) {
      const std::string line = say("mla1:1q1s", keys, ";kind=prefill;data=normal.", seed);
      INFO(line);
      prop::Subject subject(*parse_case(line), *backend, nullptr);
      CHECK(prop::prefill_rank_chunks(subject).message.empty());
    }
}

TEST_CASE(
    "properties: none fails and none is without an answer at 18 rows and more, blocks that no "
    "planner takes, and the end of planner v1.1's scratch memory",
    "[claims]") {
  const auto backend = cpu::make_cpu_backend();
  std::vector<const Property*> properties;
  for (const Property& p : prop::all_properties()) properties.push_back(&p);
  for (const char* line :
       {"mla1:1q18s64;arch=gfx950", "mla1:1q19s64;heads=32;arch=gfx950",
        "mla1:1q40s64;heads=32;arch=gfx950;data=normal.2", "mla1:1q1s17;gran=3",
        "mla1:1q1s17;gran=4095;planner=v11", "mla1:1q100s100;heads=65;planner=v11"}) {
    const prop::Judgement judgement = prop::judge(*parse_case(line), properties, *backend, nullptr);
    for (std::size_t i = 0; i < properties.size(); ++i) {
      INFO(line << " " << properties[i]->id << ": " << judgement.outcomes[i].message);
      CHECK((judgement.outcomes[i].verdict == prop::Verdict::pass ||
             judgement.outcomes[i].verdict == prop::Verdict::skip ||
             judgement.outcomes[i].verdict == prop::Verdict::not_applicable));
    }
  }
}

TEST_CASE("size query: every shape with a kernel gets at least the tiles that are planned",
          "[claims][P07]") {
  std::int64_t shapes = 0;
  for_each_kernel_key([&](const PlanKey& key) {
    ++shapes;
    INFO(key.heads_per_kv_head.count()
         << " heads, " << key.max_qo_len << " rows on " << name(key.arch));
    CHECK(sized_tiles(key) >= planned_tiles(key));
  });
  CHECK(shapes > 400);
}

// The tiles of a request are not monotone in its rows: buffers sized once for the longest request
// of an engine are too small for some shorter ones, on gfx950 only. Who sizes for every step, as
// the decode builder does, is safe.
TEST_CASE("size query: three shapes sized for more rows do not hold fewer", "[claims][P06]") {
  std::set<std::string> shapes;
  for_each_kernel_key([&](const PlanKey& longest) {
    for (std::int64_t q = 1; q < longest.max_qo_len; ++q) {
      PlanKey shorter = longest;
      shorter.max_qo_len = q;
      const bool listed =
          find_persistent_kernel(shorter.arch, shorter.dtype, shorter.heads_per_kv_head.count(), q)
              .has_value();
      if (listed && planned_tiles(shorter) > sized_tiles(longest))
        shapes.insert(std::string(name(longest.arch)) + " " + std::string(name(longest.dtype.kv)) +
                      " " + std::to_string(longest.heads_per_kv_head.count()) + " heads for " +
                      std::to_string(longest.max_qo_len));
    }
  });
  CHECK(shapes == std::set<std::string>{"gfx950 bf16 16 heads for 8", "gfx950 bf16 32 heads for 4",
                                        "gfx950 fp8 32 heads for 4"});
}

TEST_CASE("size query: sized for four rows, a step with three overruns the reduce lists",
          "[claims][P06]") {
  const PlanKey key{
      Arch::gfx950, ComputeUnits(256), Heads(32), Heads(1), {Dtype::fp8, Dtype::fp8}, 3, false};
  const auto sizes = plan::query_sizes({.arch = key.arch,
                                        .compute_units = key.compute_units,
                                        .batch = Requests(2),
                                        .max_qo_len = 4,
                                        .heads = key.heads_per_kv_head,
                                        .dtype = key.dtype});
  REQUIRE(sizes.ok());
  const std::vector<std::int32_t> qo{0, 3, 6};
  const std::vector<std::int32_t> kv{0, 40, 80};
  const std::vector<std::int32_t> last{1, 1};
  plan::PlanInput input{.key = key, .qo_indptr = qo, .kv_indptr = kv, .last_page_len = last};
  input.uniform_qo_len = 3;
  const auto refused = plan::make_plan(input, *sizes);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::overrun);
  input.fidelity = plan::Fidelity::as_aiter;
  const auto plan = plan::make_plan(input, *sizes);
  REQUIRE(plan.ok());
  CHECK_FALSE(plan->reduce_indptr.overruns().empty());
}
