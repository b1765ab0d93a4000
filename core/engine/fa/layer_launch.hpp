// LayerLaunch: one layer of an FA step, as its kernels are launched.
#pragma once

#include "core/engine/fa/kernels.hpp"
#include "core/engine/fa/layer.hpp"
#include "core/engine/fa/metadata.hpp"
#include "core/engine/fa/tensors.hpp"

namespace mla::fa {

struct LayerLaunch {
  const Layer& layer;
  const Metadata& metadata;
  const DeviceTensors& tensors;
  const Kernels& kernels;
  int threads = 1;  // of every kernel
};

}  // namespace mla::fa
