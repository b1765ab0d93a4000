#include "hip_backend/aiter/reduce.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "core/say.hpp"
#include "core/units.hpp"

namespace mla::hip::aiter {
namespace {

constexpr std::int64_t kWave = 64;
constexpr std::int64_t kOccupancy = 8;  // workgroups of a compute unit, as AITER counts them
constexpr std::uint32_t kReduceThreads = 128;

// MlaReduceKernelV1Params and, after them, MlaReduceKernelV1Configs.
struct ReduceKernarg {
  const int* reduce_indptr = nullptr;
  const int* reduce_final_map = nullptr;
  const int* reduce_partial_map = nullptr;
  float* lse = nullptr;
  unsigned short* out = nullptr;
  const float* partial_lse = nullptr;
  const float* partial_out = nullptr;
  std::int32_t row_stride = 0;  // elements of the output
  std::int32_t head_stride = 0;
  std::int32_t most_pieces = 0;  // that LDS has room for
  std::int32_t tiles = 0;
  bool writes_lse = true;
  bool uses_final_map = true;
  std::int32_t unused = 0;
  std::int32_t room_for_weights = 0;  // pieces
};
static_assert(offsetof(ReduceKernarg, room_for_weights) == 80);

// `resident` kernels loop over their tiles; the others have a workgroup for each.
std::string kernel_name(bool resident, std::int64_t heads, std::int64_t groups) {
  return say(resident ? "_Z19kn_mla_reduce_v1_ps" : "_Z16kn_mla_reduce_v1",
             "I23MlaReduceKernelV1TraitsILi", kBuiltIn.value().count(), "ELi", heads, "ELi", groups,
             "EEfDF16bEv23MlaReduceKernelV1Params24MlaReduceKernelV1Configs");
}

// Workgroups that share the rows of one head of a tile: as many as fill the device, and no more
// than there are rows.
std::int64_t row_groups(std::int64_t tiles, std::int64_t rows, std::int64_t heads,
                        std::int64_t compute_units) {
  constexpr std::array<std::int64_t, 7> kCompiled = {1, 2, 4, 8, 16, 64, 256};
  const auto capacity =
      static_cast<std::int64_t>(static_cast<float>(compute_units * kOccupancy) * 1.3F);
  const std::int64_t wanted = std::min(ceil_div(capacity, tiles * heads), rows);
  return *std::find_if(kCompiled.begin(), kCompiled.end() - 1,
                       [wanted](std::int64_t groups) { return wanted <= groups; });
}

// LDS holds a map entry and a weight for every piece, and the LSE of those beyond four a lane.
std::int64_t room_for_weights(std::int64_t most_pieces) {
  if (most_pieces <= kWave) return kWave;
  return std::max(4 * kWave, round_up(most_pieces, kWave));
}

// The lists without the pieces of merges that must not run.
struct Lists {
  std::vector<std::int32_t> indptr = {0};
  std::vector<std::int32_t> partial_map;
};
Lists admitted_lists(const plan::PlanView& plan, const std::vector<std::uint8_t>& skip) {
  Lists lists;
  for (std::size_t tile = 0; tile + 1 < plan.reduce_indptr.size(); ++tile) {
    if (skip[tile] == 0)
      for (std::int32_t piece = plan.reduce_indptr[tile]; piece < plan.reduce_indptr[tile + 1];
           ++piece)
        lists.partial_map.push_back(plan.reduce_partial_map[static_cast<std::size_t>(piece)]);
    lists.indptr.push_back(static_cast<std::int32_t>(lists.partial_map.size()));
  }
  return lists;
}

}  // namespace

Support AiterReduce::supports(Device& device, const ResolvedShape& shape) const {
  if (shape.route == Route::split) return {true, {}};
  const std::int64_t heads = shape.row_heads().count();
  const auto turn = device.take_turn();
  const auto kernel = device.find_kernel(code_, kernel_name(false, heads, 1));
  if (kernel) return {true, {}};
  return {false,
          say("AITER's reduce has no kernel for ", heads, " heads: ", kernel.error().message)};
}

Result<ReduceLaunch> AiterReduce::make(const ReduceInput& input) const {
  const DecodeMetadata& md = input.launch.metadata;
  if (md.shape.route == Route::split) return own_reduce().make(input);
  const std::int64_t heads = input.rows.row_heads();
  const std::int64_t compute_units = md.shape.compute_units.count();
  const plan::PlanView plan = md.plan->view();
  const std::int64_t tiles = std::ssize(plan.reduce_indptr) - 1;
  const std::int64_t groups = row_groups(tiles, md.shape.max_qo_len, heads, compute_units);
  const std::int64_t resident = compute_units * kOccupancy * 2;
  const bool loops = heads * groups * tiles > resident;

  ReduceLaunch launch;
  launch.backend = "aiter";
  const auto kernel = input.device.find_kernel(code_, kernel_name(loops, heads, groups));
  if (!kernel) return kernel.error();
  launch.kernel = *kernel;
  const ReduceArguments& b = input.buffers;
  ReduceKernarg a = {
      .reduce_indptr = b.reduce_indptr,
      .reduce_final_map = b.reduce_final_map,
      .reduce_partial_map = b.reduce_partial_map,
      .lse = b.lse,
      .out = b.out,
      .partial_lse = b.partial_lse,
      .partial_out = b.partial_out,
      .row_stride = static_cast<std::int32_t>(heads * kBuiltIn.value().count()),
      .head_stride = static_cast<std::int32_t>(kBuiltIn.value().count()),
      .most_pieces = static_cast<std::int32_t>(compute_units),
      .tiles = static_cast<std::int32_t>(tiles),
      .room_for_weights = static_cast<std::int32_t>(room_for_weights(compute_units))};
  const std::vector<std::uint8_t>& skip = input.admission.skip_tile;
  if (std::find(skip.begin(), skip.end(), 1) != skip.end()) {
    const Lists lists = admitted_lists(plan, skip);
    std::array<Address, 2> at{};
    if (MaybeError bad =
            keep(input.device, "admitted reduce_indptr", lists.indptr, launch.owned, at[0]))
      return *bad;
    if (MaybeError bad = keep(input.device, "admitted reduce_partial_map", lists.partial_map,
                              launch.owned, at[1]))
      return *bad;
    a.reduce_indptr = std::bit_cast<const int*>(at[0]);
    a.reduce_partial_map = std::bit_cast<const int*>(at[1]);
  }
  const std::int64_t spilled =
      std::max<std::int64_t>(0, room_for_weights(compute_units) - 4 * kWave);
  launch.size = {.threads = kReduceThreads,
                 .lds_bytes = static_cast<std::uint32_t>(
                     4 * (compute_units + room_for_weights(compute_units) + spilled))};
  if (loops) {
    launch.size.grid_x = static_cast<std::uint32_t>(resident);
  } else {
    launch.size.grid_x = static_cast<std::uint32_t>(heads);
    launch.size.grid_y = static_cast<std::uint32_t>(groups);
    launch.size.grid_z = static_cast<std::uint32_t>(tiles);
  }
  const auto bytes = argument_bytes(a);
  launch.arguments.assign(bytes.begin(), bytes.end());
  return launch;
}

}  // namespace mla::hip::aiter
