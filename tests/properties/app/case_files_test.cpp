#include "properties/app/case_files.hpp"
#include "core/engine/step_hooks.hpp"

#include <filesystem>

#include "core/engine/decode_builder.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "properties/judge/judge.hpp"
#include "tests/catch.hpp"

using namespace mla;

namespace {

std::vector<Case> shipped(const std::string& name) {
  const auto cases = app::load_cases(std::string(MLA_FIXTURES) + "/cases/" + name);
  INFO((cases ? "" : cases.error().message));
  REQUIRE(cases);
  return *cases;
}

// Whether the claim that looks closest at this kind of step has something to say about the case.
bool is_judged(const Case& c, const Backend& backend) {
  const char* id = c.kind() == StepKind::prefill ? "P05" : "P04";
  const prop::Property* property = prop::find_property(id);
  const auto judgement = prop::judge(c, {&property, 1}, backend, nullptr);
  return judgement.outcomes.front().verdict == prop::Verdict::pass;
}

Result<DecodeMetadata> build(const Case& c, DecodeBuffers& buffers) {
  const auto batch = make_batch(c);
  if (!batch) return batch.error();
  const auto shape = resolve_shape(c, *batch);
  if (!shape) return shape.error();
  buffers = make_decode_buffers(c, *batch, *shape);
  return DecodeMetadataBuilder(DecodeBuilderOptions{}, StepHooks::none())
      .build(*batch, *shape, buffers);
}

}  // namespace

TEST_CASE("case files: comments and blank lines are no cases, a bad line is named", "[cli]") {
  const auto cases = app::parse_cases("# head\n\n  mla1:1q1s3  # one\r\nmla1:2q2s7", "f");
  REQUIRE(cases);
  REQUIRE(cases->size() == 2);
  CHECK((*cases)[0].requests.front().kv_len == 3);
  CHECK((*cases)[1].requests.size() == 2);
  CHECK((*app::parse_cases("", "f")).empty());

  const auto bad = app::parse_cases("mla1:1q1s3\nmla1:1q1s3;heads=0\n", "f");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().message.find("f:2: case field 'heads' has value '0'") == 0);
  CHECK(app::load_cases("/no/such/file").error().code == ErrorCode::fault);
}

TEST_CASE("shipped cases: every case of every theme can be planned", "[cli][fixtures]") {
  const auto backend = cpu::make_cpu_backend();
  std::int64_t files = 0;
  std::map<Route, std::int64_t> routes;
  for (const auto& entry : std::filesystem::directory_iterator(MLA_FIXTURES "/cases")) {
    const std::string name = entry.path().filename();
    if (entry.path().extension() != ".txt" || name == "refused.txt") continue;
    ++files;
    for (const Case& c : shipped(name)) {
      if (c.kind() != StepKind::decode) {
        INFO(name << ": " << format_case(c));
        CHECK(is_judged(c, *backend));
        continue;
      }
      DecodeBuffers buffers;
      const auto metadata = build(c, buffers);
      INFO(name << ": " << format_case(c) << (metadata ? "" : ": " + metadata.error().message));
      REQUIRE(metadata);
      ++routes[metadata->shape.route];
    }
  }
  CHECK(files >= 7);
  for (const Route route : {Route::persistent, Route::persistent_rows, Route::split})
    CHECK(routes[route] >= 3);
}

TEST_CASE("shipped cases: the refused ones are refused, with a reason", "[cli][fixtures]") {
  const std::vector<Case> cases = shipped("refused.txt");
  CHECK(cases.size() >= 8);
  for (const Case& c : cases) {
    DecodeBuffers buffers;
    const auto metadata = build(c, buffers);
    INFO(format_case(c));
    REQUIRE_FALSE(metadata);
    CHECK(metadata.error().code != ErrorCode::usage);
    CHECK(metadata.error().message.size() > 20);
  }
}
