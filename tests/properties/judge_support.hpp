// What the judge's tests share: a case from its line, and one backend.
#pragma once

#include <memory>
#include <string_view>

#include "core/case/case.hpp"
#include "cpu_backend/cpu_backend.hpp"
#include "tests/catch.hpp"

inline mla::Case case_of(std::string_view line) {
  auto parsed = mla::parse_case(line);
  INFO(line);
  REQUIRE(parsed.ok());
  return *parsed;
}

inline const mla::Backend& cpu_backend() {
  static const std::unique_ptr<mla::Backend> backend = mla::cpu::make_cpu_backend();
  return *backend;
}
