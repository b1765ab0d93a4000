#include "hip_backend/gfx_emulator/run/start.hpp"

#include <algorithm>
#include <limits>

#include "hip_backend/gfx_emulator/exec/assumptions.hpp"
#include "hip_backend/gfx_emulator/isa/registers.hpp"
#include "hip_backend/gfx_emulator/object/lds_limit.hpp"

namespace mla::gfx {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr std::size_t packet_size = 64;
// The scratch of a wave is counted in 13 bits of KiB: 8 MiB for its 64 lanes.
constexpr u32 scratch_limit = 128 * 1024;
constexpr u32 kernarg_limit = 1024 * 1024;

Error refused(const std::string& message) {
  return {ErrorCode::usage, message, {}};
}

u32 block_size(const LaunchRequest& request) {
  const u64 product = u64{request.block[0]} * request.block[1] * request.block[2];
  return static_cast<u32>(std::min<u64>(product, std::numeric_limits<u32>::max()));
}

MaybeError check(const CodeObject& object, const LaunchRequest& request, const Kernel& kernel) {
  const u32 threads = block_size(request);
  const u32 most =
      kernel.max_workgroup_size != 0 ? std::min(1024U, kernel.max_workgroup_size) : 1024;
  if (threads == 0 || threads > most) {
    return refused("a block of " + std::to_string(threads) + " threads, the kernel " + kernel.name +
                   " takes 1 to " + std::to_string(most));
  }
  const u64 groups = u64{request.grid[0]} * request.grid[1] * request.grid[2];
  if (groups == 0) return refused("the grid has no workgroup");
  const u64 lds = u64{kernel.group_segment_size} + request.dynamic_lds;
  const u64 limit = lds_limit(object.arch());
  if (lds > limit) {
    return refused(std::to_string(lds) + " bytes of LDS, a workgroup has at most " +
                   std::to_string(limit));
  }
  if (kernel.kernarg_size > kernarg_limit) {
    return refused("the kernel " + kernel.name + " asks for " +
                   std::to_string(kernel.kernarg_size) + " bytes of arguments, at most " +
                   std::to_string(kernarg_limit) + " are given");
  }
  if (kernel.private_segment_size > scratch_limit) {
    return refused("the kernel " + kernel.name + " asks for " +
                   std::to_string(kernel.private_segment_size) +
                   " bytes of scratch, a lane has at most " + std::to_string(scratch_limit));
  }
  if (request.options.mfma == MfmaMode::exact && object.arch() != Arch::gfx942) {
    return Error{ErrorCode::unsupported,
                 "no bit model of the matrix instructions of gfx950 has been published",
                 {}};
  }
  const RunOptions& options = request.options;
  if (options.arrival.mode != Arrival::Mode::early && options.checks.any_per_instruction()) {
    return refused(
        "memory that answers late and checks of each instruction are two witnesses, "
        "for two launches");
  }
  if (options.arrival.mode != Arrival::Mode::early && (options.profile || options.trace)) {
    return refused("a profile or a trace needs memory that answers at once");
  }
  return std::nullopt;
}

template <class T>
void put(std::vector<std::byte>& bytes, std::size_t offset, std::size_t size, T value) {
  if (offset + size > bytes.size()) return;
  std::memcpy(bytes.data() + offset, &value, std::min(size, sizeof value));
}

u64 hidden_value(const std::string& kind, const LaunchRequest& request) {
  const char last = kind.back();
  const unsigned axis = last == 'y' ? 1 : last == 'z' ? 2 : 0;
  if (kind.starts_with("hidden_block_count")) return request.grid[axis];
  if (kind.starts_with("hidden_group_size")) return request.block[axis];
  if (kind == "hidden_grid_dims") {
    for (unsigned k = 3; k > 1; --k) {
      if (request.grid[k - 1] * request.block[k - 1] > 1) return k;
    }
    return 1;
  }
  if (kind == "hidden_dynamic_lds_size") return request.dynamic_lds;
  if (kind == "hidden_shared_base") return assumed::shared_aperture;
  if (kind == "hidden_private_base") return assumed::private_aperture;
  return 0;
}

void make_kernarg(const LaunchRequest& request, const Kernel& kernel, Launch& launch) {
  const std::size_t size = std::max<std::size_t>(request.kernarg.size(), kernel.kernarg_size);
  launch.kernarg_bytes.assign(size + packet_size + 64, std::byte{0});
  std::copy(request.kernarg.begin(), request.kernarg.end(), launch.kernarg_bytes.begin());
  for (const Argument& argument : kernel.arguments) {
    if (!argument.kind.starts_with("hidden_")) continue;
    put(launch.kernarg_bytes, argument.offset, argument.size, hidden_value(argument.kind, request));
  }
  const std::size_t packet = (size + 63) / 64 * 64;
  for (std::size_t k = 0; k < 3; ++k) {
    put(launch.kernarg_bytes, packet + 4 + 2 * k, 2, static_cast<std::uint16_t>(request.block[k]));
    put(launch.kernarg_bytes, packet + 12 + 4 * k, 4, request.grid[k] * request.block[k]);
  }
  put(launch.kernarg_bytes, packet + 24, 4, launch.scratch_size);
  put(launch.kernarg_bytes, packet + 28, 4, launch.lds_size);
  const auto base = reinterpret_cast<u64>(launch.kernarg_bytes.data());
  launch.kernarg = base;
  launch.packet = base + packet;
  put(launch.kernarg_bytes, packet + 40, 8, base);
  if (size != 0) launch.ranges.push_back({base, size, Rights::read, "kernel arguments"});
  launch.ranges.push_back({launch.packet, packet_size, Rights::read, "dispatch packet"});
}

// User registers in the order of the descriptor's bits, then the kernel arguments preloaded.
unsigned set_user_registers(const Launch& launch, Wave& w) {
  const Kernel& kernel = *launch.kernel;
  static constexpr unsigned sizes[] = {4, 2, 2, 2, 2, 2, 1};
  const u64 values[] = {0, launch.packet, 0, launch.kernarg, 1, 0, launch.scratch_size};
  unsigned at = 0;
  for (unsigned bit = 0; bit < std::size(sizes); ++bit) {
    if ((kernel.properties >> bit & 1) == 0) continue;
    w.s[at] = static_cast<u32>(values[bit]);
    if (sizes[bit] >= 2) w.s[at + 1] = static_cast<u32>(values[bit] >> 32);
    at += sizes[bit];
  }
  for (unsigned k = 0; k < kernel.preload_length && at < 16; ++k, ++at) {
    const std::size_t offset = 4 * (std::size_t{kernel.preload_offset} + k);
    if (offset + 4 <= launch.kernarg_bytes.size()) {
      std::memcpy(&w.s[at], launch.kernarg_bytes.data() + offset, 4);
    }
  }
  return std::max(at, kernel.user_sgprs);
}

void reset_rows(Wave& w, u32 first, u32 count) {
  std::fill_n(&w.v[first][0], std::size_t{count} * lanes, assumed::unwritten);
}

void reset_vectors(Wave& w, EffectsTable& effects) {
  const Kernel& kernel = *w.group->launch->kernel;
  if (w.opening_only) {
    for (u64 k = 0; k < w.executed; ++k) {
      const Effects& of = effects.of(w.opened[k], w.code[w.opened[k]]);
      for (unsigned n = 0; n < of.spans; ++n)
        reset_rows(w, of.vectors[n].first, of.vectors[n].count);
    }
    return;
  }
  // Vector and accumulation registers beyond those of the kernel are never asked for.
  const u32 vectors = std::min(256U, kernel.accum_offset);
  reset_rows(w, 0, vectors);
  reset_rows(w, 256, kernel.vgprs > vectors ? std::min(256U, kernel.vgprs - vectors) : 0);
}

}  // namespace

bool wrote_memory(const Wave& w) {
  if (!w.opening_only) return true;
  return std::any_of(w.opened, w.opened + w.executed, [&w](u32 index) {
    const Class kind = w.code[index].kind;
    return counts_as_memory(kind) && kind != Class::smem;
  });
}

MaybeError start_launch(const CodeObject& object, const LaunchRequest& request,
                        const Memory& memory, Launch& launch) {
  launch.kernel = object.kernel(request.kernel);
  if (launch.kernel == nullptr) {
    return refused("the code object has no kernel '" + request.kernel + "'");
  }
  if (auto error = check(object, request, *launch.kernel)) return error;
  launch.object = &object;
  launch.request = &request;
  launch.lds_size = launch.kernel->group_segment_size + request.dynamic_lds;
  launch.scratch_size = launch.kernel->private_segment_size;
  if (launch.kernel->dynamic_stack) launch.scratch_size += request.options.dynamic_stack_size;
  launch.ranges = *memory.ranges();
  launch.ranges.insert(launch.ranges.end(), object.ranges().begin(), object.ranges().end());
  make_kernarg(request, *launch.kernel, launch);
  std::sort(launch.ranges.begin(), launch.ranges.end(),
            [](const Range& a, const Range& b) { return a.base < b.base; });
  return std::nullopt;
}

void start_wave(Wave& w, EffectsTable& effects) {
  const Launch& launch = *w.group->launch;
  const Kernel& kernel = *launch.kernel;
  const auto& block = launch.request->block;
  reset_vectors(w, effects);
  std::fill_n(w.s, 128, assumed::unwritten);
  unsigned at = set_user_registers(launch, w);
  for (unsigned axis = 0; axis < 3; ++axis) {
    if (kernel.workgroup_id[axis]) w.s[at++] = w.group->id[axis];
  }
  w.s[code::m0] = 0;
  w.set_pair(code::vcc, 0);
  const u32 threads = block[0] * block[1] * block[2], first = w.number * lanes;
  const u32 live = std::min(lanes, threads - first);
  w.set_pair(code::exec, live == lanes ? ~u64{0} : (u64{1} << live) - 1);
  for (unsigned l = 0; l < lanes; ++l) {
    const u32 thread = first + l;
    const u32 x = thread % block[0], y = thread / block[0] % block[1];
    const u32 z = thread / block[0] / block[1];
    w.v[0][l] =
        x | (kernel.workitem_id >= 1 ? y << 10 : 0) | (kernel.workitem_id >= 2 ? z << 20 : 0);
  }
  w.mask_of = 0;
  std::fill_n(w.mask, lanes, 0U);
  w.scc = 0;
  set_mode(w, kernel.float_mode | u32{kernel.dx10_clamp} << 8 | u32{kernel.ieee} << 9);
  w.gpr_index = 0;
  w.executed = 0;
  w.opening_only = true;
  w.state = WaveState::running;
  w.seen = Range{};
  // A kernel with preloaded arguments begins with 256 bytes that load them on older firmware.
  w.next = launch.object->index_at(kernel.entry + (kernel.preload_length != 0 ? 256 : 0));
  w.code = launch.object->instructions().data();
}

}  // namespace mla::gfx
