// Stage 1 of AITER's entry point on the emulator's data path.
//
// Private to properties/python/abi. Fails: never; the tasks have been checked.
#pragma once

#include "properties/python/abi/aiter/decode_tasks.hpp"

namespace mla::abi::aiter {

void run_on_cpu(const DecodeStep& step, const std::vector<DecodeTask>& tasks);

}  // namespace mla::abi::aiter
