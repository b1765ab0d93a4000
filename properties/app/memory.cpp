#include "properties/app/memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <limits>
#include <optional>
#include <string_view>

#include "core/say.hpp"
#include "properties/files/terminal.hpp"
#include "properties/step/estimate.hpp"

namespace mla::app {
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
  const auto text = files::read_file(path);
  if (!text || text->starts_with("max")) return std::nullopt;
  return first_number(*text);
}

// Pages of files in the group: they count as used there, and are given back when memory runs out.
std::int64_t file_pages(const std::string& folder, std::string_view prefix) {
  const auto text = files::read_file(folder + "/memory.stat");
  std::int64_t bytes = 0;
  for (const char* key : {"active_file ", "inactive_file "}) {
    const std::string line = say('\n', prefix, key);
    const std::size_t at = text ? ("\n" + *text).find(line) : std::string::npos;
    if (at != std::string::npos)
      bytes += first_number(std::string_view(*text).substr(at + line.size() - 1)).value_or(0);
  }
  return bytes;
}

// The files in which a version of control groups says what there is of memory.
struct GroupFiles {
  const char* mount;
  const char* limit;
  const char* used;
  const char* prefix;  // of sums over a group and those below it
};
constexpr GroupFiles kVersion1 = {"/sys/fs/cgroup/memory", "/memory.limit_in_bytes",
                                  "/memory.usage_in_bytes", "total_"};
constexpr GroupFiles kVersion2 = {"/sys/fs/cgroup", "/memory.max", "/memory.current", ""};

// What the group may still take.
std::optional<std::int64_t> left_in(const std::string& folder, const GroupFiles& files) {
  const auto most = number_in(folder + files.limit);
  if (!most || *most >= std::int64_t{1} << 60) return std::nullopt;  // v1 writes 2^63 for "none"
  const std::int64_t used = number_in(folder + files.used).value_or(0);
  return *most - std::max<std::int64_t>(0, used - file_pages(folder, files.prefix));
}

// A line of /proc/self/cgroup: number, controllers, path. A path may hold colons.
struct GroupLine {
  std::string_view controllers;
  std::string_view path;
};
GroupLine group_of(std::string_view line) {
  const std::size_t first = std::min(line.find(':'), line.size());
  const std::size_t second = std::min(line.find(':', first + 1), line.size());
  if (second == line.size()) return {};
  return {line.substr(first + 1, second - first - 1), line.substr(second + 1)};
}

bool has_controller(std::string_view list, std::string_view controller) {
  return say(',', list, ',').find(say(',', controller, ',')) != std::string::npos;
}

// The groups of this process and all above them, which may have a limit as well, up to the mount:
// that is all there is where a container hides the path.
std::optional<std::int64_t> left_in_groups(const std::string& root) {
  const auto groups = files::read_file(root + "/proc/self/cgroup");
  if (!groups) return std::nullopt;
  std::optional<std::int64_t> least;
  for (std::string_view rest = *groups; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const auto [controllers, path] = group_of(line);
    const bool second = line.starts_with("0::");
    if (!second && !has_controller(controllers, "memory")) continue;
    const GroupFiles& files = second ? kVersion2 : kVersion1;
    for (std::string_view group = path;; group = group.substr(0, group.rfind('/'))) {
      if (const auto left = left_in(say(root, files.mount, group), files))
        least = std::min(least.value_or(*left), *left);
      if (group.find('/') == std::string_view::npos) break;
    }
  }
  return least ? std::max<std::int64_t>(1, *least) : least;
}

// What a limit of the shell leaves to this process, of which `page_column` of /proc/self/statm is
// used.
std::optional<std::int64_t> left_of(int resource, int page_column) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  std::string_view columns;
  const auto text = files::read_file("/proc/self/statm");
  if (text) columns = *text;
  for (int column = 0; column < page_column; ++column)
    columns.remove_prefix(std::min(columns.find(' '), columns.size() - 1) + 1);
  const std::int64_t used = first_number(columns).value_or(0) * sysconf(_SC_PAGESIZE);
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(limit.rlim_cur) - used);
}

// What `ulimit -v` and `ulimit -d` leave.
std::optional<std::int64_t> left_by_the_shell() {
  const auto space = left_of(RLIMIT_AS, 0);
  const auto data = left_of(RLIMIT_DATA, 5);
  if (!space || !data) return space ? space : data;
  return std::min(*space, *data);
}

prop::Held most_held(std::span<const prop::Property* const> properties) {
  const bool own = std::ranges::all_of(
      properties, [](const prop::Property* p) { return p->held == prop::Held::own; });
  return own ? prop::Held::own : prop::Held::more;
}

}  // namespace

std::int64_t available_memory(const std::string& root) {
  constexpr std::string_view kKey = "MemAvailable:";
  constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();
  std::int64_t least =
      std::min(left_in_groups(root).value_or(kUnknown), left_by_the_shell().value_or(kUnknown));
  if (const auto text = files::read_file(root + "/proc/meminfo"))
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

MemoryLimit available_limit() {
  return {available_memory(), "are available"};
}

MaybeError check_memory(const Case& c, const Judging& judging, const MemoryLimit& limit) {
  const prop::Estimate estimate = prop::estimate_of(c, judging.limits);
  const prop::Held held = most_held(judging.properties);
  if (limit.bytes == 0 || estimate.bytes(held) <= static_cast<double>(limit.bytes))
    return std::nullopt;
  return Error{ErrorCode::fault, prop::need_text(c, estimate, held) + "; " +
                                     prop::bytes_text(static_cast<double>(limit.bytes)) + " " +
                                     limit.source};
}

MaybeError check_list_memory(const Case& c) {
  return check_list_memory(c, available_limit());
}

std::string announcement(const Case& c, const Judging& judging) {
  const prop::Estimate estimate = prop::estimate_of(c, judging.limits);
  const double seconds = estimate.seconds(std::ssize(judging.properties));
  if (seconds < 2) return {};
  char work[64];
  std::snprintf(work, sizeof work, "%.1e multiply-adds, %.0f s", estimate.work, seconds);
  return say("this takes about ", work, " on one core of a CPU, and ",
             prop::bytes_text(estimate.bytes(most_held(judging.properties))), " of memory");
}

}  // namespace mla::app
