// The case generator: one text for random and for exhaustive cases.
//
// draw_case() asks its choices field by field and request by request, and never leaves the domain.
// What it draws is complete and canonical: format and parse give it back. Every request has no key
// or at least as many keys as rows. Whether a kernel takes the case is for resolve_shape() to say.
#pragma once

#include <functional>

#include "core/case/case.hpp"
#include "properties/generate/choices.hpp"
#include "properties/generate/domain.hpp"
#include "properties/generate/regimes.hpp"

namespace mla::prop {

Case draw_case(Choices& choices, const CaseDomain& domain);

// The same case on another architecture; a whole product stays one.
void set_arch(Case& c, Arch arch);

// The random case of a regime that belongs to a seed; RapidCheck's `size` limits the cost of the
// small ones.
Case random_case(std::uint64_t seed, int size, Regime regime = Regime::boundary);

// Calls visit() with every case of the bounds, until it returns false.
void enumerate_cases(const EnumerationBounds& bounds,
                     const std::function<bool(const Case&)>& visit);

// How many that is, by the product formula.
std::int64_t count_cases(const EnumerationBounds& bounds);

}  // namespace mla::prop
