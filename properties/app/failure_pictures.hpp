// Failure pictures: how far a result is off, and the plan with the works of its worst element.
//
// Owns the way from a failing case to its pictures: the case is executed once more on the backend
// that failed, and its result is held to the reference. Where nothing
// can be drawn the section says why. Units: multiples of an element's bound; rows and heads of the
// model.
#pragma once

#include <cstdint>
#include <span>

#include "core/engine/backend.hpp"
#include "cpu_backend/decode/reference.hpp"
#include "properties/show/document.hpp"
#include "properties/show/drawn_plan.hpp"
#include "properties/show/error_map.hpp"
#include "properties/step/subject.hpp"

namespace mla::app {

struct JudgedResult {
  std::span<const std::uint16_t> out;     // [rows, heads, dims] bf16
  std::span<const float> lse;             // [rows, heads]; empty: not judged
  const cpu::ReferenceResult& reference;  // its layout is that of out and lse
  std::int64_t heads = 1;
  std::int64_t dims = 1;
};
show::ErrorMap error_map_of(const JudgedResult& judged);

// The plan of a decode step, with what plan_check says and the works that made row and head of the
// worst element of the map, if an element is wrong.
show::DrawnPlan draw_metadata(const DecodeMetadata& metadata, const show::ErrorMap& map);

// The pictures of a case on a backend; `defect` may be null.
show::Section pictures_of_case(const Case& c, const Backend& backend,
                               const prop::Interposer* defect);

}  // namespace mla::app
