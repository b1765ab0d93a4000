// Estimate: what judging a case costs, before anything of it runs. A pure function of the case.
//
// Memory is what lives at once while properties look at the case: its own tensors and results and,
// for most, those of one other case that a property compares it with, and a changed copy of the
// tensors. Of a step that is too large to be executed (why_not_executed) only the lists are made. A
// test holds the sum to the measured peak, within a factor of two from 256 MiB on. Units: bytes,
// multiply-adds, seconds.
#pragma once

#include <cstdint>
#include <string>

#include "core/case/case.hpp"
#include "properties/generate/cost.hpp"

namespace mla::prop {

// The tensors that a property holds: those of the case, or more.
enum class Held { own, more };

struct Estimate {
  double cache = 0;      // keys and values in their blocks
  double query = 0;      // Q; for a prefill the new keys and values as well
  double results = 0;    // outputs of both stages and partial results
  double reference = 0;  // float64 values and bounds
  double lists = 0;      // block table, index lists, plan
  double work = 0;       // multiply-adds of one execution
  [[nodiscard]] double bytes(Held held = Held::more) const;
  // On one core of the CPU backend, for so many properties; the right order of magnitude.
  [[nodiscard]] double seconds(std::int64_t properties) const;
};

Estimate estimate_of(const Case& c, const ExecutionLimits& limits = {});

// "9.4 GiB".
std::string bytes_text(double bytes);
// "mla1:…: judging it needs about 9.4 GiB of memory (cache 3.5 GiB, …)".
std::string need_text(const Case& c, const Estimate& estimate, Held held = Held::more);

}  // namespace mla::prop
