// admit: finds the works and merges of a launch that may run.
//
// Looks at indices only, never at tensors. A work or a merge that would read or write outside its
// buffers, or write a row that an earlier one writes, becomes a fault that names work, slot and
// value, and is left out; everything else runs as the plan says.
#pragma once

#include "core/engine/backend.hpp"
#include "hip_backend/admission/admission.hpp"

namespace mla::hip {

Admission admit(const AdmissionInput& input);

// Lets a plan run as it is, for a device that guards its memory: the kernels show what it does.
Admission admit_as_planned(const DecodeMetadata& metadata);

}  // namespace mla::hip
