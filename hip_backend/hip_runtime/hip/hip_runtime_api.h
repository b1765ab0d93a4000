// The host's calls. Here they and the device's side are in one header.
#pragma once

#include "hip_runtime.h"
