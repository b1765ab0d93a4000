// The checks that a merge passes before it may run. Private to admission.
#pragma once

#include "hip_backend/admission/works.hpp"

namespace mla::hip {

// Every tile of the reduce maps.
void admit_tiles(const plan::PlanView& plan, const WorkAdmission& works, Admission& out);

// The rows of one request on the split route, whose first split is admitted.
void admit_request_merge(const DecodeMetadata& metadata, std::int64_t request, Admission& out);

}  // namespace mla::hip
