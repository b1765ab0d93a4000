// Page 0 of the cache: what a kernel reads there when it reads past a request's last key
// (docs/findings/aiter.md, AITER-11 and AITER-19). Private to properties.
#pragma once

#include <cstdint>
#include <string>

#include "core/engine/backend.hpp"

namespace mla::prop {

// "finite", "not-finite" (NaN or infinity), or "unbacked" where the case has no memory there.
std::string page_zero_of(const DecodeLaunch& launch);

// By how much, in natural units of a score, rounded up, the key on page 0 outscores every key that
// some row sees of some work, at most 1000; 0 where it outscores none. Looked at are works of fp8
// launches over pages of one token that leave a tile of 64 keys partly filled and end before their
// request: at the request's end the causal mask hides what comes after it.
std::int64_t page_zero_lead(const DecodeLaunch& launch);

}  // namespace mla::prop
