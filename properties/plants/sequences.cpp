// Order, lifetime and ownership between the steps of a sequence, and rows that a launch adds.
#include <algorithm>

#include "core/engine/decode_step.hpp"
#include "properties/plants/groups.hpp"

namespace mla::prop {
namespace {

class FreedBuffer final : public Interposer {
  void on_replay(engine::StepBuffers& buffers) const override {
    buffers.kv_indices = device::DeviceBuffer<std::int32_t>();
  }
};

class FreshBuffers final : public Interposer {
  [[nodiscard]] bool allocates_each_step() const override { return true; }
};

class SharedBuffers final : public Interposer {
  [[nodiscard]] bool groups_share_buffers() const override { return true; }
};

// The copy lands at once, before everything that is still queued.
class UnorderedUpload final : public Interposer {
  void upload(const char* name, std::span<const std::int32_t> source, std::vector<std::int32_t>&,
              device::DeviceView<std::int32_t> target, device::Stream&,
              device::TransferLedger& ledger) const override {
    device::Stream blocking(ledger);
    blocking.copy_to_device(name, source, target);
    blocking.advance();
  }
};

class SharedStaging final : public Interposer {
  void upload(const char* name, std::span<const std::int32_t> source,
              std::vector<std::int32_t>& staging, device::DeviceView<std::int32_t> target,
              device::Stream& stream, device::TransferLedger&) const override {
    staging.resize(target.size());
    std::copy(source.begin(), source.end(), staging.begin());
    stream.copy_to_device(name, std::span<const std::int32_t>(staging), target);
  }
};

class MaskInBuild final : public Interposer {
  void on_step(const engine::CommonStep&, device::Stream& stream) const override {
    stream.synchronise("boolean mask of the block table");
  }
};

class ItemInBuild final : public Interposer {
  void on_step(const engine::CommonStep& step, device::Stream& stream) const override {
    std::int32_t scalar = 0;
    stream.copy_to_host("seq_lens[0].item()", step.seq_lens, std::span(&scalar, 1));
  }
};

// The zero rows are taken off the end of each request, where they are not.
class CutAtTheEnd final : public Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata& md,
                 DecodeResult& result) const override {
    const ResolvedShape& shape = md.shape;
    if (shape.leading_rows == 0) return;
    const std::int64_t heads = shape.heads.model.count();
    const std::int64_t request = shape.uniform_qo_len * heads;
    const auto shift = [&](auto& values, std::int64_t width) {
      const std::int64_t lead = shape.leading_rows * heads * width;
      for (std::int64_t r = 0; r < md.requests().count(); ++r) {
        const auto begin = values.begin() + r * request * width;
        std::copy_backward(begin, begin + request * width - lead, begin + request * width);
      }
    };
    shift(result.out, shape.widths.value().count());
    shift(result.lse, 1);
  }
};

constexpr Plant kSequencesPlants[] = {
    {"BUG-068-decode", "P19", "A buffer that the captured launch reads is freed before the replay.",
     "mla1:1q1s1", plant_of<FreedBuffer>},
    {"BUG-083", "P19",
     "Later steps are planned into fresh buffers, which no captured launch reads.", "mla1:1q1s1",
     plant_of<FreshBuffers>},
    {"BUG-081", "P20", "Lengths and block table of the next step arrive before this one has run.",
     "mla1:1q1s1", plant_of<UnorderedUpload>},
    {"SEED-shared-staging", "P20", "All steps share one host buffer, refilled while copies wait.",
     "mla1:1q1s1", plant_of<SharedStaging>},
    {"BUG-038", "P21", "A boolean mask over the block table makes the host wait in every build.",
     "mla1:1q1s1", plant_of<MaskInBuild>},
    {"BUG-114", "P21", "The tail of a list is filled from a device scalar, by way of the host.",
     "mla1:1q1s1", plant_of<ItemInBuild>},
    {"SEED-shared-groups", "P30", "The draft's metadata is built into the buffers of the target.",
     "mla1:1q1s1", plant_of<SharedBuffers>},
    {"SEED-raised-rows", "P12", "The rows in front of a raised request are cut off its end.",
     "mla1:1q2s2;qpad=4", plant_of<CutAtTheEnd>, true},
};

}  // namespace

std::span<const Plant> sequence_plants() {
  return kSequencesPlants;
}

}  // namespace mla::prop
