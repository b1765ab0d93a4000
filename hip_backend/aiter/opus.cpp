#include "hip_backend/aiter/opus.hpp"

#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/say.hpp"
#include "hip_backend/aiter/kernarg_range.hpp"
#include "hip_backend/aiter/launches.hpp"
#include "hip_backend/device/resources.hpp"

namespace mla::hip::aiter {
namespace {

constexpr std::uint32_t kOpusThreads = 512;
// A buffer descriptor reaches so far; a larger cache is read through addresses.
constexpr std::int64_t kDescriptorBytes = std::int64_t{1} << 32U;

// mla_kargs: elements, not bytes.
struct Arguments {
  const void* q = nullptr;
  Address q_scale = 0;
  Address kv = 0;
  Address kv_scale = 0;
  float* partial_out = nullptr;
  float* partial_lse = nullptr;
  unsigned short* out = nullptr;
  float* lse = nullptr;
  const int* qo_indptr = nullptr;
  const int* kv_indptr = nullptr;
  const int* kv_indices = nullptr;
  Address work_indptr = 0;
  Address work_info = 0;
  std::int32_t heads = 0;
  std::int32_t tokens = 0;  // of the cache
  std::int32_t q_row = 0;
  std::int32_t q_head = kBuiltIn.key().count();
  std::int32_t out_row = 0;
  std::int32_t out_head = kBuiltIn.value().count();
  std::int32_t page = kBuiltIn.key().count();
  float softmax_scale = 1;
};
static_assert(sizeof(Arguments) == 136);

std::string kernel_name(bool masks, bool large_cache) {
  return say(
      "_Z45mla_decode_fwd_16mx8_32nx1_fp8fp8_opus_kernelI32mla_16mx8_32nx1_fp8fp8_ps_traits"
      "ILi16ELi32ELi8EDB8_S1_DF16bLb",
      masks ? 1 : 0, "ELb", large_cache ? 1 : 0, "EEEv9mla_kargs");
}

class OpusStage1 final : public Stage1 {
 public:
  explicit OpusStage1(const Stage1Input& input)
      : device_(input.device), launches_(input.launches) {}

  MaybeError prepare(const Stage1Input& input, KernelHandle kernel) {
    kernel_ = kernel;
    const DecodeTensors& t = input.launch.tensors;
    const DecodeArguments& b = input.buffers;
    const WorkList works = admitted_works(input);
    size_ = {.grid_x = static_cast<std::uint32_t>(works.indptr.size() - 1),
             .threads = kOpusThreads};
    const auto heads = static_cast<std::int32_t>(input.rows.row_heads());
    a_.q = b.q;
    a_.kv = page_zero(input);
    a_.partial_out = b.partial_out;
    a_.partial_lse = b.partial_lse;
    a_.out = b.out;
    a_.lse = b.lse;
    a_.qo_indptr = b.qo_indptr;
    a_.kv_indptr = b.kv_indptr;
    a_.kv_indices = b.kv_indices;
    a_.heads = heads;
    if (MaybeError bad =
            fits_kernarg("the number of slots of the cache", t.cache.first_slot + t.cache.slots, 1,
                         std::numeric_limits<std::int32_t>::max()))
      return bad;
    a_.tokens = static_cast<std::int32_t>(t.cache.first_slot + t.cache.slots);
    a_.q_row = heads * a_.q_head;
    a_.out_row = heads * a_.out_head;
    a_.softmax_scale = t.softmax_scale;
    if (MaybeError bad = keep(device_, "q_scale", std::array{t.q_scale}, kept_, a_.q_scale))
      return bad;
    if (MaybeError bad = keep(device_, "kv_scale", std::array{t.kv_scale}, kept_, a_.kv_scale))
      return bad;
    if (MaybeError bad = keep(device_, "works of slots", works.indptr, kept_, a_.work_indptr))
      return bad;
    return keep(device_, "works", works.items, kept_, a_.work_info);
  }

  MaybeError run(StreamHandle stream) override {
    if (MaybeError bad = device_.launch(stream, kernel_, size_, argument_bytes(a_))) return bad;
    launches_.add({"aiter", device_.properties().label, StepKind::decode, "stage 1"});
    return std::nullopt;
  }
  MaybeError finish() override { return std::nullopt; }

 private:
  Device& device_;
  Launches& launches_;
  KernelHandle kernel_;
  LaunchSize size_;
  Arguments a_;
  std::vector<Buffer> kept_;
};

}  // namespace

Support OpusStage1Maker::supports(Device& device, const ResolvedShape& shape) const {
  const auto refused = [](const std::string& why) {
    return Support{false, "AITER's OPUS kernel " + why};
  };
  if (shape.arch != Arch::gfx950) return refused("is for gfx950");
  if (shape.route == Route::split) return refused("needs a plan");
  if (shape.dtype.q != Dtype::fp8 || shape.dtype.kv != Dtype::fp8)
    return refused("takes fp8 alone");
  if (shape.page_size != 1)
    return refused(say("takes pages of one token, not of ", shape.page_size));
  const auto turn = device.take_turn();
  const auto kernel = device.find_kernel(code_, kernel_name(false, false));
  return kernel ? Support{true, {}} : refused("is not there: " + kernel.error().message);
}

Result<std::unique_ptr<Stage1>> OpusStage1Maker::make(const Stage1Input& input) const {
  const ResolvedShape& shape = input.launch.metadata.shape;
  const KvCache& cache = input.launch.tensors.cache;
  const bool masks = shape.causal && shape.max_qo_len > 1;
  const bool large = (cache.first_slot + cache.slots) * cache.row_bytes() >= kDescriptorBytes;
  const auto kernel = input.device.find_kernel(code_, kernel_name(masks, large));
  if (!kernel) return kernel.error();
  auto stage1 = std::make_unique<OpusStage1>(input);
  if (MaybeError bad = stage1->prepare(input, *kernel)) return *bad;
  return std::unique_ptr<Stage1>(std::move(stage1));
}

}  // namespace mla::hip::aiter
