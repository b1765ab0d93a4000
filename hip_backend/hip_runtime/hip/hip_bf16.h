// AITER includes it for names that its planners do not use.
#pragma once
#include <hip/hip_runtime.h>
