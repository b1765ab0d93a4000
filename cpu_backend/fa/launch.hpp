// FaLaunch: one layer of an FA step, as its kernels are launched.
#pragma once

#include "core/engine/fa/layer.hpp"
#include "core/engine/fa/metadata.hpp"
#include "cpu_backend/fa/tensors.hpp"

namespace mla::cpu {

struct FaLaunch {
  const fa::Layer& layer;
  const fa::Metadata& metadata;
  const FaDeviceTensors& tensors;
  int threads = 1;  // of every kernel
};

}  // namespace mla::cpu
