// What this process holds at most, for tables that say memory beside time.
#pragma once

namespace mla::bench {

// Starts anew; Linux only, elsewhere peak_megabytes() is 0.
void reset_peak();
// The most memory since then, everything included, in units of 1e6 bytes.
double peak_megabytes();

}  // namespace mla::bench
