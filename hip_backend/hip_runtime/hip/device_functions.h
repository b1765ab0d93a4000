// The device's side of hip_runtime.h.
#pragma once

#include "device/atomics.h"
#include "device/bits.h"
#include "device/functions_f32.h"
#include "device/index.h"
#include "device/memory.h"
#include "device/print.h"
#include "device/textures.h"
#include "device/wave.h"
