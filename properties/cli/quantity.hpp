// Quantities of the command line: counts, seeds, sizes, durations and shards, read strictly.
//
// Owns: the reading of `2000`, `1`, `8G` and `30s`. The whole text has to be the quantity: no
// blanks, no sign, no rounding, no silent unit. Units: durations in milliseconds. Fails: with a
// sentence that names the option and the value.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "properties/app/memory.hpp"
#include "properties/judge/answers.hpp"

namespace mla::cli {

// An unsigned 64-bit number.
Result<std::uint64_t> parse_seed(std::string_view option, std::string_view text);
// A number from 0 to 10^12.
Result<std::int64_t> parse_count(std::string_view option, std::string_view text);
// `X`, `X,Y` or `X,Y,Z`, each from `least` to 2147483647; what is not there is `least`.
Result<std::array<std::uint32_t, 3>> parse_triple(std::string_view option, std::string_view text,
                                                  std::uint32_t least);
// `512M`, `8G` or `2T`, powers of 1024, `8GiB` as well; in bytes, up to 1024T.
Result<std::int64_t> parse_size(std::string_view option, std::string_view text);
// `500ms`, `30s`, `2m` or `1h`, up to 1000 hours.
Result<std::chrono::milliseconds> parse_duration(std::string_view option, std::string_view text);

// What --memory-limit got; empty: what is available now.
Result<app::MemoryLimit> parse_memory_limit(const std::string& text);
// `1/3` is the first of three shards.
Result<prop::Shard> parse_shard(std::string_view text);

}  // namespace mla::cli
