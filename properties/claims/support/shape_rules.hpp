// Rules of a resolved decode shape in words of their own: what P26 and P28 hold against
// resolve_shape().
//
// Each function returns a sentence with the values where the shape breaks its rule. Rows are query
// rows of a request. Private to these two properties.
#pragma once

#include <optional>
#include <string>

#include "core/case/batch.hpp"
#include "core/case/case.hpp"
#include "core/shape/resolved_shape.hpp"

namespace mla::prop {

// The planner is the one that the case names, and v1.2 with AITER's choice of kernel where it names
// none.
std::optional<std::string> other_planner(const Case& c, const ResolvedShape& shape);

// A kernel runs folded heads exactly where it is listed as one that does, and none runs where it
// would look up the rows of another request (aiter.md 9, pitfall 6).
std::optional<std::string> wrong_folding(const ResolvedShape& shape);

// Whether a persistent kernel takes the requests whole, so that no row has to be a request of its
// own. False also where this rule does not know: with raised rows, a final LSE or no causal mask.
bool takes_whole_requests(const Case& c, const ResolvedShape& shape, const Batch& batch);

// Several rows, as many in every request, are raised to `qpad` on every route that keeps requests
// whole, unless the raised rows are several tiles of a plan (BUG-075).
std::optional<std::string> wrong_leading_rows(const Case& c, const ResolvedShape& shape,
                                              const Batch& batch);

}  // namespace mla::prop
