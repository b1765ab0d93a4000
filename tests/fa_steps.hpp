// The steps of an FA case, executed on the CPU backend without limits of cost.
#pragma once

#include "cpu_backend/cpu_backend.hpp"
#include "properties/step/fa/run.hpp"
#include "properties/step/subject.hpp"

namespace mla::test {

inline Result<std::vector<prop::FaStepRun>> fa_steps(
    const std::vector<Case>& steps, int threads,
    const prop::Interposer& hooks = prop::Interposer::none()) {
  static const std::unique_ptr<Backend> backend = cpu::make_cpu_backend();
  const prop::Subject subject(steps.front(), *backend, &hooks, prop::ExecutionLimits::none());
  return prop::run_fa(steps, subject.context(), threads);
}

}  // namespace mla::test
