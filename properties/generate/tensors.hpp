// Tensors of a case: Q and KV cache, as bits a device would hold.
//
// Every element is a function of (data seed, tensor, request or row, position, dimension): where a
// key lies physically changes nothing (P18). Keys of a shared prefix are the same for all requests.
// Slots that no request owns hold NaN, so that a stray read shows. An fp8 tensor holds
// value / scale, rounded to nearest even. Values beyond the fp8 range saturate, and
// saturated_elements() counts them.
#pragma once

#include "core/case/batch.hpp"
#include "core/case/case.hpp"
#include "core/engine/backend.hpp"

namespace mla::prop {

// 1 / sqrt(128 + 64): the head dimension of MLA before absorption, latent part and rope part.
inline constexpr float kSoftmaxScale = 0.0721687824F;

DecodeTensors make_tensors(const Case& c, const Batch& batch);

// Elements of Q and cache whose |value / scale| exceeds the largest finite fp8. None at scale 1.
std::int64_t saturated_elements(const Case& c, const Batch& batch);

}  // namespace mla::prop
