// Tensors of a case: Q and KV cache, as bits a device would hold.
//
// Every element is a function of (data seed, tensor, request or row, position, dimension): where a
// key lies physically changes nothing (P18). Keys of a shared prefix are the same for all requests.
// Slots that no request owns hold NaN, so that a stray read shows.
#pragma once

#include "core/backend.hpp"
#include "core/case/batch.hpp"
#include "core/case/case.hpp"

namespace mla::prop {

DecodeTensors make_tensors(const Case& c, const Batch& batch);

}  // namespace mla::prop
