#include "hip_backend/decode/reduce.hpp"

#include <algorithm>

#include "core/units.hpp"
#include "hip_backend/kernels/code_objects.hpp"

namespace mla::hip {
namespace {

constexpr std::int64_t kMostReduceGroups = 64;
constexpr std::int64_t kRowsOfGroup = 32;
constexpr std::uint32_t kThreads = 256;

}  // namespace

Result<ReduceLaunch> reduce_launch(const ReduceInput& input) {
  const std::int64_t merged = input.admission.longest_tile * input.rows.row_heads();
  ReduceArguments arguments = input.buffers;
  arguments.row_groups = static_cast<int>(
      std::clamp<std::int64_t>(ceil_div(merged, kRowsOfGroup), 1, kMostReduceGroups));
  const auto kernel =
      input.device.find_kernel(code_object(input.device.properties().arch, "reduce"), "reduce");
  if (!kernel) return kernel.error();
  const std::span<const std::byte> bytes = argument_bytes(arguments);
  return ReduceLaunch{
      .kernel = *kernel,
      .size = {.grid_x = static_cast<std::uint32_t>(input.admission.skip_tile.size()),
               .grid_y = static_cast<std::uint32_t>(arguments.row_groups),
               .threads = kThreads},
      .arguments = {bytes.begin(), bytes.end()}};
}

}  // namespace mla::hip
