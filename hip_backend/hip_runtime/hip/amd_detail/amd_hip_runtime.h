// Libraries include ROCm's own header in place of the public one.
#pragma once

#include "../hip_runtime.h"
