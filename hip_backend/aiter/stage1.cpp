#include "hip_backend/aiter/stage1.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "hip_backend/aiter/launches.hpp"
#include "hip_backend/device/resources.hpp"

namespace mla::hip::aiter {
namespace {

template <class T>
Address address(T* pointer) {
  return std::bit_cast<Address>(pointer);
}

// Where a row that was asked for a second time lies: kernel row, and partial row of that launch.
struct Asked {
  std::int64_t row = 0;
  std::int64_t partial = 0;
};

class AiterStage1 final : public Stage1 {
 public:
  AiterStage1(const Stage1Input& input, Selection selection, KernelHandle kernel,
              const AiterOptions& options)
      : device_(input.device),
        selection_(std::move(selection)),
        kernel_(kernel),
        heads_(input.rows.row_heads()),
        buffers_(input.buffers),
        options_(options),
        launches_(input.launches) {
    owned_.reserve(16);
  }

  Status prepare(const Stage1Input& input) {
    size_ = grid_of(selection_, input);
    second_size_ = size_;
    Address q_scale = 0;
    Address kv_scale = 0;
    const DecodeTensors& t = input.launch.tensors;
    if (Status bad = bring("q_scale", std::span(&t.q_scale, 1), q_scale)) return bad;
    if (Status bad = bring("kv_scale", std::span(&t.kv_scale, 1), kv_scale)) return bad;
    first_ = common_kernargs(selection_, input, q_scale, kv_scale);
    if (!options_.global_kv_indptr.empty()) {
      Address global = 0;
      if (Status bad = bring("global kv_indptr", options_.global_kv_indptr, global)) return bad;
      first_.global_kv_indptr = global;
      first_.ranks = options_.ranks;
      first_.rank = options_.rank;
    }
    if (!options_.packed_cache.empty()) {
      Address packed = 0;
      if (Status bad = bring("the packed cache", options_.packed_cache, packed)) return bad;
      first_.kv = packed;
      first_.page_stride =
          static_cast<std::uint32_t>(input.launch.metadata.shape.page_size * kPackedTokenBytes);
    }
    return input.launch.metadata.shape.route == Route::split ? prepare_split(input)
                                                             : prepare_works(input);
  }

  Status run(StreamHandle stream) override {
    if (Status bad = device_.launch(stream, kernel_, size_, argument_bytes(first_))) return bad;
    launches_.add({"aiter", device_.properties().label, StepKind::decode, "stage 1"});
    return std::nullopt;
  }

  Status finish() override {
    if (asks_again_) {
      if (Status bad = device_.launch({}, kernel_, second_size_, argument_bytes(second_)))
        return bad;
      launches_.add({"aiter", device_.properties().label, StepKind::decode, "stage 1 for the LSE"});
      if (Status bad = device_.synchronize({})) return bad;
    }
    if (!asked_.empty())
      if (Status bad = keep_lse()) return bad;
    return rounds_ ? round_partials() : std::nullopt;
  }

 private:
  template <class Values>
  Status bring(const char* name, const Values& values, Address& to) {
    return keep(device_, name, values, owned_, to);
  }
  Status bring_works(const WorkList& works, Address& to) {
    std::array<Address, 2> meta{};
    if (Status bad = bring("works of slots", works.indptr, meta[0])) return bad;
    if (Status bad = bring("works", works.items, meta[1])) return bad;
    return bring("addresses of works", meta, to);
  }
  // Partial outputs and LSE of `rows` rows that only the adapter reads.
  Status scratch(std::int64_t rows, DecodeKernargs& kernargs) {
    auto out = Buffer::filled(device_, "scratch partial outputs", rows * heads_ * kValueDim * 4,
                              kPoisonF32);
    if (!out) return out.error();
    auto lse = Buffer::filled(device_, "scratch partial LSE", rows * heads_ * 4, kPoisonF32);
    if (!lse) return lse.error();
    kernargs.partial_out = out->address();
    kernargs.partial_lse = lse->address();
    scratch_ = owned_.size();
    owned_.push_back(std::move(*out));
    owned_.push_back(std::move(*lse));
    return std::nullopt;
  }

  Status prepare_works(const Stage1Input& input) {
    first_.partial_out = address(buffers_.partial_out);
    first_.partial_lse = address(buffers_.partial_lse);
    first_.out = address(buffers_.out);
    if (selection_.row.key.lse) first_.lse = address(buffers_.lse);
    if (input.admission.as_planned) {
      first_.work = address(buffers_.work_meta_data);
      return std::nullopt;
    }
    const WorkList works = admitted_works(input);
    Address list = 0;
    if (Status bad = bring_works(works, list)) return bad;
    first_.work = list;
    if (selection_.row.key.lse) return std::nullopt;
    const WorkList again = direct_works_as_partials(works);
    if (again.items.empty()) return std::nullopt;
    asks_again_ = true;
    second_ = first_;
    if (Status bad = bring_works(again, list)) return bad;
    second_.work = list;
    if (Status bad = scratch(again.partial_rows, second_)) return bad;
    for (const plan::WorkItem& item : again.items)
      for (std::int64_t row = item.q_begin; row < item.q_end; ++row)
        asked_.push_back({row, item.partial_row + row - item.q_begin});
    return std::nullopt;
  }

  Status prepare_split(const Stage1Input& input) {
    const DecodeMetadata& md = input.launch.metadata;
    if (!input.admission.faults.empty())
      return Error{ErrorCode::fault,
                   "nothing can be left out of a launch without a plan: " +
                       input.admission.faults.front().what,
                   ""};
    std::vector<std::int32_t> splits;
    for (std::int64_t r = 0; r <= md.requests().count(); ++r)
      splits.push_back(static_cast<std::int32_t>(r * md.shape.kv_splits));
    Address list = 0;
    if (Status bad = bring("num_kv_splits_indptr", splits, list)) return bad;
    first_.work = list;
    first_.partial_out = address(buffers_.partial_out);
    first_.partial_lse = address(buffers_.partial_lse);
    if (md.shape.kv_splits > 1) return std::nullopt;
    // One split: the kernel writes the output as bf16, or f32 that are rounded afterwards.
    const std::int64_t rows = input.rows.kernel_rows();
    for (std::int64_t row = 0; row < rows; ++row) asked_.push_back({row, row});
    if (merges_single_split(md.shape)) {
      rounds_ = true;
      return scratch(rows, first_);
    }
    // It writes an LSE only of partial results, so it is asked for those of two splits.
    first_.partial_out = address(buffers_.out);
    for (std::int32_t& s : splits) s *= 2;
    if (Status bad = bring("num_kv_splits_indptr of two", splits, list)) return bad;
    asks_again_ = true;
    asked_splits_ = 2;
    second_ = first_;
    second_.work = list;
    second_.kv_splits = 2U;
    second_.single_split = 0U;
    second_size_.grid_z = 2;
    return scratch(2 * rows, second_);
  }

  // Splits that nobody wrote take no part, nor NaN, which stands where a row sees no key of a split
  // (BUG-012); where nothing is left the LSE stays unwritten.
  [[nodiscard]] float merged(std::span<const float> lse, std::size_t first) const {
    float sum = std::bit_cast<float>(kPoisonF32);
    for (std::size_t split = 0; split < asked_splits_; ++split) {
      const float l = lse[first + split * static_cast<std::size_t>(heads_)];
      if (std::isnan(l)) continue;  // the poison is one as well
      const bool alone = std::bit_cast<std::uint32_t>(sum) == kPoisonF32;
      sum = alone ? l : std::max(l, sum) + std::log1p(std::exp(-std::fabs(l - sum)));
    }
    return sum;
  }

  Status keep_lse() {
    auto lse = owned_[scratch_ + 1].read_all<float>();
    if (!lse) return lse.error();
    const auto width = static_cast<std::size_t>(heads_);
    std::vector<float> row(width);
    for (const Asked& a : asked_) {
      const std::size_t first = static_cast<std::size_t>(a.partial) * asked_splits_ * width;
      for (std::size_t head = 0; head < width; ++head) row[head] = merged(*lse, first + head);
      const Address to = address(buffers_.lse) + static_cast<Address>(a.row * heads_ * 4);
      if (Status bad = device_.copy_in(to, std::as_bytes(std::span(row)))) return bad;
    }
    return std::nullopt;
  }

  Status round_partials() {
    auto out = owned_[scratch_].read_all<float>();
    if (!out) return out.error();
    std::vector<std::uint16_t> rounded;
    rounded.reserve(out->size());
    for (const float value : *out)
      rounded.push_back(std::bit_cast<std::uint32_t>(value) == kPoisonF32
                            ? kPoisonBf16
                            : bf16_from_float(value, Bf16Rounding::nearest_even));
    return device_.copy_in(address(buffers_.out), std::as_bytes(std::span(rounded)));
  }

  Device& device_;
  Selection selection_;
  KernelHandle kernel_;
  LaunchSize size_;
  LaunchSize second_size_;
  std::int64_t heads_;
  DecodeArguments buffers_;
  const AiterOptions& options_;
  Launches& launches_;
  std::vector<Buffer> owned_;
  DecodeKernargs first_;
  DecodeKernargs second_;  // if asks_again_
  bool asks_again_ = false;
  std::size_t asked_splits_ = 1;  // partial rows of an asked row
  bool rounds_ = false;
  std::size_t scratch_ = 0;  // of owned_: partial outputs, then LSE
  std::vector<Asked> asked_;
};

class AiterStage1Maker final : public Stage1Maker {
 public:
  AiterStage1Maker(std::shared_ptr<Installation> installation, AiterOptions options)
      : installation_(std::move(installation)), options_(std::move(options)) {}
  [[nodiscard]] Result<std::unique_ptr<Stage1>> make(const Stage1Input& input) const override {
    const ResolvedShape& shape = input.launch.metadata.shape;
    auto selection = select_for(*installation_, shape, options_);
    if (!selection) return selection.error();
    const auto code = installation_->code(shape.arch, selection->row.file);
    if (!code) return code.error();
    const auto kernel = input.device.find_kernel(*code, selection->row.kernel);
    if (!kernel) return kernel.error();
    auto stage1 = std::make_unique<AiterStage1>(input, std::move(*selection), *kernel, options_);
    if (Status bad = stage1->prepare(input)) return *bad;
    return std::unique_ptr<Stage1>(std::move(stage1));
  }

 private:
  std::shared_ptr<Installation> installation_;
  AiterOptions options_;
};

}  // namespace

Result<Selection> select_for(const Installation& installation, const ResolvedShape& shape,
                             const AiterOptions& options) {
  const Manifest* manifest = installation.manifest(shape.arch);
  if (manifest == nullptr)
    return Error{ErrorCode::unsupported,
                 say("the AITER directory has no manifest for ", mla::name(shape.arch)), ""};
  const DecodeQuery query = {.arch = shape.arch,
                             .q = element_type(shape.dtype.q),
                             .kv = element_type(shape.dtype.kv),
                             .heads = shape.row_heads().count(),
                             .qo_len = shape.max_qo_len,
                             .persistent = shape.route != Route::split,
                             .causal = shape.causal,
                             .lse = shape.final_lse,
                             .cprr = !options.global_kv_indptr.empty()};
  return options.row ? select_row(*options.row, query) : select_decode(*manifest, query);
}

std::unique_ptr<Stage1Maker> make_aiter_stage1(std::shared_ptr<Installation> installation,
                                               AiterOptions options) {
  return std::make_unique<AiterStage1Maker>(std::move(installation), std::move(options));
}

}  // namespace mla::hip::aiter
