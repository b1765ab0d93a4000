// Owns: what a code object says of one of its kernels.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace mla::gfx {

// One argument as the metadata names it; kinds "by_value", "global_buffer", "hidden_group_size_x".
struct Argument {
  std::string kind;
  std::uint32_t offset = 0, size = 0;  // bytes in the kernel argument block
};

struct Kernel {
  std::string name;
  std::uint64_t entry = 0;                 // offset of the first instruction in the image
  std::uint32_t group_segment_size = 0;    // LDS bytes known at compile time
  std::uint32_t private_segment_size = 0;  // scratch bytes for each lane
  std::uint32_t kernarg_size = 0;          // the larger of descriptor and metadata
  std::uint32_t vgprs = 0;                 // unified registers of a wave
  std::uint32_t accum_offset = 0;          // first accumulation register in them
  std::uint32_t float_mode = 0;            // round and denormal bits, MODE[7:0]
  bool dx10_clamp = false, ieee = false;
  bool dynamic_stack = false;
  std::uint32_t user_sgprs = 0;
  std::uint16_t properties = 0;                          // which user registers are set up
  std::uint32_t preload_length = 0, preload_offset = 0;  // kernel arguments in registers, dwords
  std::array<bool, 3> workgroup_id = {};                 // which id registers are set up
  std::uint32_t workitem_id = 0;                         // 0: x, 1: x and y, 2: all
  std::uint32_t max_workgroup_size = 0;                  // 0: not stated
  // What the compiler says of its registers; 0 where it says nothing.
  std::uint32_t stated_vgprs = 0, stated_agprs = 0, stated_sgprs = 0;
  std::uint32_t spilled_vgprs = 0, spilled_sgprs = 0;
  std::vector<Argument> arguments;
};

}  // namespace mla::gfx
