// A case's plan, and what plan_check says of it.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/engine/decode_builder.hpp"
#include "core/engine/step_hooks.hpp"
#include "core/plan/plan_check.hpp"
#include "tests/catch.hpp"

namespace mla::plan::test {

struct Planned {
  DecodeBuffers buffers;
  DecodeMetadata md;
};

inline std::unique_ptr<Planned> planned(const std::string& line) {
  const auto c = parse_case(line);
  REQUIRE(c.ok());
  const auto batch = make_batch(*c);
  REQUIRE(batch.ok());
  const auto shape = resolve_shape(*c, *batch);
  REQUIRE(shape.ok());
  auto out = std::make_unique<Planned>();
  out->buffers = make_decode_buffers(*c, *batch, *shape);
  auto md = DecodeMetadataBuilder({}, StepHooks::none()).build(*batch, *shape, out->buffers);
  INFO((md.ok() ? std::string() : md.error().message));
  REQUIRE(md.ok());
  out->md = std::move(*md);
  return out;
}

inline std::vector<Violation> check(const Planned& p, const Plan& plan) {
  plan::PlanCheckInput input = check_input_of(p.md);
  input.plan = plan.view();
  return plan::plan_check(input);
}

inline bool has_rule(const std::vector<Violation>& found, Rule rule) {
  return std::any_of(found.begin(), found.end(),
                     [rule](const Violation& v) { return v.rule == rule && !v.what.empty(); });
}

}  // namespace mla::plan::test
