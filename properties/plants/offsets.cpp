// Arithmetic on page ids and byte offsets that is too narrow for a large cache.
#include "properties/plants/groups.hpp"

namespace mla::prop {
namespace {

// Replaces every live page id by what the kernel makes of it.
template <class Kernel>
void readdress(const DecodeMetadata& md, DecodeBuffers& buffers, Kernel kernel) {
  for (std::int64_t i = 0; i < md.kv_indptr.back(); ++i) {
    std::int32_t& page = buffers.kv_indices[static_cast<std::size_t>(i)];
    page = static_cast<std::int32_t>(kernel(std::int64_t{page}));
  }
}

std::int64_t page_bytes(const DecodeMetadata& md) {
  return md.shape.page_size * md.shape.widths.key_bytes(md.shape.dtype.kv);
}

template <int Bits>
class NarrowId final : public Interposer {
  void on_index_lists(const Batch&, DecodeMetadata& md, DecodeBuffers& buffers) const override {
    readdress(md, buffers, [](std::int64_t page) { return page & ((1LL << Bits) - 1); });
  }
};

class UnsignedOffset final : public Interposer {
  void on_index_lists(const Batch&, DecodeMetadata& md, DecodeBuffers& buffers) const override {
    if (md.shape.dtype.kv != Dtype::fp8) return;
    const std::int64_t bytes = page_bytes(md);
    readdress(md, buffers, [bytes](std::int64_t page) {
      return static_cast<std::int64_t>(static_cast<std::uint32_t>(page * bytes)) / bytes;
    });
  }
};

class UnsignedOffsetBf16 final : public Interposer {
  void on_index_lists(const Batch&, DecodeMetadata& md, DecodeBuffers& buffers) const override {
    if (md.shape.dtype.kv != Dtype::bf16) return;
    const std::int64_t bytes = page_bytes(md);
    readdress(md, buffers, [bytes](std::int64_t page) {
      return static_cast<std::int64_t>(static_cast<std::uint32_t>(page * bytes)) / bytes;
    });
  }
};

class SignedOffset final : public Interposer {
  void on_index_lists(const Batch&, DecodeMetadata& md, DecodeBuffers& buffers) const override {
    const std::int64_t bytes = page_bytes(md);
    readdress(md, buffers, [bytes](std::int64_t page) {
      const auto offset = static_cast<std::uint32_t>(page * bytes);
      return std::int64_t{static_cast<std::int32_t>(offset)} / bytes;
    });
  }
};

constexpr Plant kOffsetsPlants[] = {
    {"BUG-055", "P17", "Page ids are cut to 16 bits.", "mla1:1q1s1;data=normal.1",
     plant_of<NarrowId<16>>},
    {"BUG-053", "P17", "Page ids are multiplied as 24-bit numbers.", "mla1:1q1s1;data=normal.2",
     plant_of<NarrowId<24>>},
    {"BUG-051", "P17", "Byte offsets into an fp8 cache are unsigned 32-bit numbers.",
     "mla1:1q1s1;dtype=fp8/fp8;data=normal.3", plant_of<UnsignedOffset>},
    {"BUG-052", "P17", "Byte offsets into a bf16 cache wrap at 4 GiB.", "mla1:1q1s1;data=normal.3",
     plant_of<UnsignedOffsetBf16>},
    {"BUG-054", "P17", "Byte offsets are signed 32-bit numbers, negative from 2 GiB on.",
     "mla1:1q1s1;data=normal.6", plant_of<SignedOffset>},
};

}  // namespace

std::span<const Plant> offset_plants() {
  return kOffsetsPlants;
}

}  // namespace mla::prop
