#include "properties/cli/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <limits>
#include <optional>
#include <string_view>

#include "core/say.hpp"
#include "properties/capture/terminal.hpp"
#include "properties/cli/quantity.hpp"
#include "properties/step/estimate.hpp"

namespace mla::cli {
namespace {

// The first whole number of a text.
std::optional<std::int64_t> first_number(std::string_view text) {
  const std::size_t at = text.find_first_of("0123456789");
  if (at == std::string_view::npos) return std::nullopt;
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data() + at, text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::optional<std::int64_t> number_in(const std::string& path) {
  const auto text = read_file(path);
  if (!text || text->starts_with("max")) return std::nullopt;
  return first_number(*text);
}

// What the group may still take. Pages of files count as used there and can be given back, so this
// errs on the safe side.
std::optional<std::int64_t> left_in(const std::string& folder, const char* limit,
                                    const char* used) {
  const auto most = number_in(folder + limit);
  if (!most || *most >= std::int64_t{1} << 60) return std::nullopt;  // v1 writes 2^63 for "none"
  return std::max<std::int64_t>(0, *most - number_in(folder + used).value_or(0));
}

// The groups of /proc/self/cgroup as they are mounted, the whole mount where a container hides the
// path.
std::optional<std::int64_t> left_in_groups() {
  const auto groups = read_file("/proc/self/cgroup");
  if (!groups) return std::nullopt;
  std::optional<std::int64_t> least;
  const auto note = [&least](std::optional<std::int64_t> left) {
    if (left) least = std::min(least.value_or(*left), *left);
  };
  for (std::string_view rest = *groups; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t path = line.rfind(':') + 1;
    for (const std::string& below : {std::string(line.substr(path)), std::string()}) {
      if (line.starts_with("0::"))
        note(left_in("/sys/fs/cgroup" + below, "/memory.max", "/memory.current"));
      if (line.find(":memory:") != std::string_view::npos)
        note(left_in("/sys/fs/cgroup/memory" + below, "/memory.limit_in_bytes",
                     "/memory.usage_in_bytes"));
    }
  }
  return least;
}

// What `ulimit -v` leaves to this process.
std::optional<std::int64_t> left_in_address_space() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const std::int64_t used = number_in("/proc/self/statm").value_or(0) * sysconf(_SC_PAGESIZE);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(limit.rlim_cur) - used);
}

prop::Held most_held(std::span<const prop::Property* const> properties) {
  const bool own = std::ranges::all_of(
      properties, [](const prop::Property* p) { return p->held == prop::Held::own; });
  return own ? prop::Held::own : prop::Held::more;
}

}  // namespace

std::int64_t available_memory() {
  constexpr std::string_view kKey = "MemAvailable:";
  constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();
  std::int64_t least =
      std::min(left_in_groups().value_or(kUnknown), left_in_address_space().value_or(kUnknown));
  if (const auto text = read_file("/proc/meminfo"))
    if (const std::size_t at = text->find(kKey); at != std::string::npos)
      if (const auto kilobytes = first_number(std::string_view(*text).substr(at)))
        least = std::min(least, *kilobytes * 1024);
  return least == kUnknown ? 0 : least;
}

double peak_memory() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) * 1024;
}

Result<MemoryLimit> memory_limit(const std::string& text) {
  if (text.empty()) return MemoryLimit{available_memory(), "are available"};
  const auto bytes = parse_size("--memory-limit", text);
  if (!bytes) return bytes.error();
  return MemoryLimit{*bytes, "are allowed by --memory-limit"};
}

Status check_memory(const Case& c, const Judging& judging, const MemoryLimit& limit) {
  const prop::Estimate estimate = prop::estimate_of(c, judging.limits);
  const prop::Held held = most_held(judging.properties);
  if (limit.bytes == 0 || estimate.bytes(held) <= static_cast<double>(limit.bytes))
    return std::nullopt;
  return Error{ErrorCode::fault,
               prop::need_text(c, estimate, held) + "; " +
                   prop::bytes_text(static_cast<double>(limit.bytes)) + " " + limit.source,
               ""};
}

Status check_list_memory(const Case& c) {
  const double lists = 2 * prop::estimate_of(c).lists;
  const auto available = static_cast<double>(available_memory());
  if (available == 0 || lists <= available) return std::nullopt;
  return Error{ErrorCode::fault,
               format_case(c) + ": its lists need about " + prop::bytes_text(lists) +
                   " of memory; " + prop::bytes_text(available) + " are available",
               ""};
}

void announce(std::string_view command, const Case& c, const Judging& judging) {
  const prop::Estimate estimate = prop::estimate_of(c, judging.limits);
  const double seconds = estimate.seconds(std::ssize(judging.properties));
  if (seconds < 2 || !stderr_is_terminal()) return;
  char work[64];
  std::snprintf(work, sizeof work, "%.1e multiply-adds, %.0f s", estimate.work, seconds);
  write_stderr(
      say("mla-testbed ", command, ": this takes about ", work, " on one core of a CPU, and ",
          prop::bytes_text(estimate.bytes(most_held(judging.properties))), " of memory\n"));
}

}  // namespace mla::cli
