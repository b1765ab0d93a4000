#include "properties/cli/quantity.hpp"

#include "tests/catch.hpp"

using namespace mla;
using namespace std::chrono_literals;

TEST_CASE("quantity: durations have a unit and are whole numbers", "[cli]") {
  CHECK(*cli::parse_duration("--for", "500ms") == 500ms);
  CHECK(*cli::parse_duration("--for", "30s") == 30s);
  CHECK(*cli::parse_duration("--for", "2m") == 2min);
  CHECK(*cli::parse_duration("--for", "1000h") == 1000h);
  CHECK(*cli::parse_duration("--for", "0s") == 0ms);
  for (const char* bad : {"", "s", "30", "1.5s", "-1s", "+1s", " 1s", "1s ", "1 s", "1d", "1001h",
                          "99999999999999999999s", "1e3s", "0x1s", "ms"}) {
    const auto result = cli::parse_duration("--for", bad);
    REQUIRE_FALSE(result);
    CHECK(result.error().code == ErrorCode::usage);
    CHECK(result.error().message.find("--for has value '" + std::string(bad) + "'") == 0);
  }
}

TEST_CASE("quantity: counts and seeds are whole texts within their range", "[cli]") {
  CHECK(*cli::parse_count("--cases", "0") == 0);
  CHECK(*cli::parse_count("--cases", "1000000000000") == 1'000'000'000'000);
  for (const char* bad : {"", "-1", "+1", "1e3", "0x10", "1000000000001", "1_000", "12a"})
    CHECK_FALSE(cli::parse_count("--cases", bad));
  CHECK(*cli::parse_seed("--seed", "18446744073709551615") == UINT64_MAX);
  for (const char* bad : {"", "-1", "18446744073709551616", "1.0"})
    CHECK_FALSE(cli::parse_seed("--seed", bad));
}

TEST_CASE("quantity: sizes are whole numbers of powers of 1024", "[cli]") {
  CHECK(*cli::parse_size("--memory-limit", "512M") == std::int64_t{512} << 20);
  CHECK(*cli::parse_size("--memory-limit", "8G") == std::int64_t{8} << 30);
  CHECK(*cli::parse_size("--memory-limit", "8GiB") == std::int64_t{8} << 30);
  CHECK(*cli::parse_size("--memory-limit", "64K") == 65536);
  CHECK(*cli::parse_size("--memory-limit", "1024T") == std::int64_t{1} << 50);
  for (const char* bad : {"", "G", "8", "0G", "-1G", "1.5G", "8GB", "8iB", "1025T", "8 G", "8g"}) {
    const auto result = cli::parse_size("--memory-limit", bad);
    REQUIRE_FALSE(result);
    CHECK(result.error().message.find("--memory-limit has value") == 0);
  }
}
