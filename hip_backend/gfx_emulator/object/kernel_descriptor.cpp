#include "hip_backend/gfx_emulator/object/kernel_descriptor.hpp"

#include <algorithm>
#include <cstring>
#include <map>

namespace mla::gfx {
namespace {

template <class T>
T at(std::span<const std::byte> bytes, std::size_t offset) {
  T value{};
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::uint32_t field(std::uint32_t word, unsigned low, unsigned bits) {
  return word >> low & ((1U << bits) - 1);
}

std::uint32_t unsigned_of(const Document& item, std::string_view key) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(item.number_of(key), 0, 0xffffffff));
}

void apply(const Document& entry, Kernel& kernel) {
  kernel.kernarg_size = std::max(kernel.kernarg_size, unsigned_of(entry, ".kernarg_segment_size"));
  kernel.max_workgroup_size = unsigned_of(entry, ".max_flat_workgroup_size");
  kernel.stated_vgprs = unsigned_of(entry, ".vgpr_count");
  kernel.stated_agprs = unsigned_of(entry, ".agpr_count");
  kernel.stated_sgprs = unsigned_of(entry, ".sgpr_count");
  kernel.spilled_vgprs = unsigned_of(entry, ".vgpr_spill_count");
  kernel.spilled_sgprs = unsigned_of(entry, ".sgpr_spill_count");
  kernel.dynamic_stack = kernel.dynamic_stack || entry.number_of(".uses_dynamic_stack") != 0;
  const Document* arguments = entry.find(".args");
  if (arguments == nullptr) return;
  for (const Document& item : arguments->items) {
    kernel.arguments.push_back(
        {item.text_of(".value_kind"), unsigned_of(item, ".offset"), unsigned_of(item, ".size")});
  }
}

}  // namespace

Kernel read_kernel_descriptor(std::span<const std::byte> bytes, std::uint64_t offset) {
  const auto rsrc3 = at<std::uint32_t>(bytes, 44), rsrc1 = at<std::uint32_t>(bytes, 48);
  const auto rsrc2 = at<std::uint32_t>(bytes, 52), preload = at<std::uint32_t>(bytes, 56) >> 16;
  Kernel kernel;
  kernel.group_segment_size = at<std::uint32_t>(bytes, 0);
  kernel.private_segment_size = at<std::uint32_t>(bytes, 4);
  kernel.kernarg_size = at<std::uint32_t>(bytes, 8);
  kernel.entry = offset + at<std::uint64_t>(bytes, 16);
  kernel.vgprs = (field(rsrc1, 0, 6) + 1) * 8;
  kernel.accum_offset = (field(rsrc3, 0, 6) + 1) * 4;
  kernel.float_mode = field(rsrc1, 12, 8);
  kernel.dx10_clamp = field(rsrc1, 21, 1) != 0;
  kernel.ieee = field(rsrc1, 23, 1) != 0;
  kernel.user_sgprs = field(rsrc2, 1, 5);
  kernel.workgroup_id = {field(rsrc2, 7, 1) != 0, field(rsrc2, 8, 1) != 0, field(rsrc2, 9, 1) != 0};
  kernel.workitem_id = field(rsrc2, 11, 2);
  kernel.properties = at<std::uint16_t>(bytes, 56);
  kernel.dynamic_stack = field(kernel.properties, 11, 1) != 0;
  kernel.preload_length = field(preload, 0, 7);
  kernel.preload_offset = field(preload, 7, 9);
  return kernel;
}

void apply_metadata(const Document& note, std::span<Kernel> kernels) {
  const Document* entries = note.find("amdhsa.kernels");
  if (entries == nullptr) return;
  std::map<std::string, Kernel*> by_symbol;
  for (Kernel& kernel : kernels) by_symbol.emplace(kernel.name + ".kd", &kernel);
  for (const Document& entry : entries->items) {
    const auto found = by_symbol.find(entry.text_of(".symbol"));
    if (found != by_symbol.end()) apply(entry, *found->second);
  }
}

}  // namespace mla::gfx
