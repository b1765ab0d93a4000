#include "properties/c_api/aiter/decode_device.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/say.hpp"
#include "core/units.hpp"
#include "hip_backend/aiter/kernarg_range.hpp"
#include "hip_backend/aiter/kernargs.hpp"
#include "hip_backend/gfx_emulator/launch.hpp"
#include "hip_backend/gfx_emulator/load.hpp"

namespace mla::c_api::aiter {
namespace {

using hip::Address;
using hip::aiter::DecodeKernargs;
using hip::aiter::Selection;

constexpr std::uint32_t kThreads = 256;  // of every decode kernel
// What a kernel that rounds its tile up may read after an operand: torch's allocator has memory
// there on a GPU.
constexpr std::size_t kRoom = std::size_t{1} << 20U;

// Copies of a call's tensors in memory that an emulated kernel may touch.
class DeviceMemory {
 public:
  // A copy of `bytes`; 0 for none.
  Address input(const char* name, std::span<const std::byte> bytes) {
    if (bytes.empty() || bad_) return 0;
    auto memory = memory_.allocate(bytes.size() + kRoom, name);
    if (!memory) {
      bad_ = memory.error();
      return 0;
    }
    std::memcpy(memory->data(), bytes.data(), bytes.size());
    return std::bit_cast<Address>(memory->data());
  }
  // The same, copied back by finish().
  Address output(const char* name, std::span<std::byte> bytes) {
    const Address at = input(name, bytes);
    if (at != 0) outputs_.push_back({at, bytes});
    return at;
  }
  template <class T>
  Address list(const char* name, std::span<const T> values) {
    return input(name, std::as_bytes(values));
  }
  void finish() {
    for (const Output& o : outputs_)
      std::memcpy(o.to.data(), std::bit_cast<const void*>(o.from), o.to.size());
  }
  [[nodiscard]] gfx::Memory& memory() { return memory_; }
  [[nodiscard]] const MaybeError& failed() const { return bad_; }

 private:
  struct Output {
    Address from = 0;
    std::span<std::byte> to;
  };
  gfx::Memory memory_;
  std::vector<Output> outputs_;
  MaybeError bad_;
};

// Code objects stay loaded; an installation keeps their bytes.
Result<const gfx::CodeObject*> loaded(const Machine& machine, const std::string& file) {
  static std::mutex mutex;
  static std::map<const std::byte*, gfx::CodeObject> objects;
  static std::vector<std::shared_ptr<hip::aiter::Installation>> kept;
  const auto bytes = machine.installation->code(machine.arch, file);
  if (!bytes) return bytes.error();
  const std::scoped_lock lock(mutex);
  auto found = objects.find(bytes->data());
  if (found == objects.end()) {
    auto object = gfx::load_code_object(*bytes, {});
    if (!object) return object.error();
    found = objects.emplace(bytes->data(), std::move(*object)).first;
    kept.push_back(machine.installation);
  }
  return &found->second;
}

template <class T>
std::span<std::byte> writable(T* at, std::int64_t count) {
  return std::as_writable_bytes(std::span(at, static_cast<std::size_t>(count)));
}

hip::aiter::DecodeQuery query_of(const DecodeStep& step) {
  return {.arch = step.machine.arch,
          .q = hip::aiter::element_type(step.q_dtype),
          .kv = hip::aiter::element_type(step.kv_dtype),
          .heads = step.heads,
          .qo_len = step.max_qo_len,
          .persistent = step.persistent,
          .causal = step.causal,
          .lse = step.lse != nullptr,
          .cprr = !step.global_kv_indptr.empty()};
}

void set_operands(const DecodeStep& step, DeviceMemory& memory, DecodeKernargs& k) {
  const std::int64_t q_row = step.heads * kBuiltIn.key_bytes(step.q_dtype);
  k.q = memory.list("Q", std::span(step.q, static_cast<std::size_t>(step.q_rows * q_row)));
  // Pages may lie apart: the last one ends where its tokens end.
  const std::int64_t page = step.page_size * kBuiltIn.key_bytes(step.kv_dtype);
  const std::int64_t cache = step.pages == 0 ? 0 : (step.pages - 1) * step.page_bytes + page;
  k.kv = memory.list("KV", std::span(step.kv, static_cast<std::size_t>(cache)));
  k.q_stride = static_cast<std::uint32_t>(q_row * step.max_qo_len);
  k.page_stride = static_cast<std::uint32_t>(step.page_bytes);
  k.log2_page =
      static_cast<std::uint32_t>(std::countr_zero(static_cast<std::uint64_t>(step.page_size)));
  k.qo_indptr = memory.list("qo_indptr", step.qo_indptr);
  k.kv_indptr = memory.list("kv_indptr", step.kv_indptr);
  k.kv_indices = memory.list("kv_page_indices", step.kv_indices);
  k.last_page_len = memory.list("kv_last_page_lens", step.last_page_len);
  k.softmax_scale = step.softmax_scale;
  if (step.q_dtype == Dtype::fp8) k.q_scale = memory.list("q_scale", std::span(&step.q_scale, 1));
  if (step.q_dtype == Dtype::fp8 || step.kv_dtype == Dtype::fp8)
    k.kv_scale = memory.list("kv_scale", std::span(&step.kv_scale, 1));
  k.ranks = static_cast<std::uint32_t>(step.ranks);
  k.rank = static_cast<std::uint32_t>(step.rank);
  k.global_kv_indptr = memory.list("g_kv_indptr", step.global_kv_indptr);
}

void set_outputs(const DecodeStep& step, DeviceMemory& memory, DecodeKernargs& k) {
  const std::int64_t partials = step.partial_rows * step.heads;
  const std::int64_t bytes = step.bf16_partials ? 2 : 4;
  k.partial_out = memory.output(
      "splitData", writable(step.split_data, partials * kBuiltIn.value().count() * bytes));
  k.partial_lse = memory.output("splitLse", writable(step.split_lse, partials));
  const std::int64_t rows = step.q_rows * step.heads;
  if (step.lse != nullptr) k.lse = memory.output("lse", writable(step.lse, rows));
  if (step.persistent)
    k.out = memory.output("output", writable(step.output, rows * kBuiltIn.value().count()));
}

void set_work(const DecodeStep& step, DeviceMemory& memory, DecodeKernargs& k) {
  if (!step.persistent) {
    k.work = memory.list("num_kv_splits_indptr", step.splits_indptr);
    k.kv_splits = static_cast<std::uint32_t>(step.splits);
    k.single_split = step.splits == 1 ? 1U : 0U;
    return;
  }
  const std::array<Address, 2> meta = {memory.list("work_indptr", step.work_indptr),
                                       memory.list("work_info_set", step.work_info)};
  k.work = memory.list("work_meta_data", std::span<const Address>(meta));
  k.kv_splits = static_cast<std::uint32_t>(step.splits);
  k.single_split = static_cast<std::uint32_t>(step.splits);
}

std::array<std::uint32_t, 3> grid_of(const DecodeStep& step, const Selection& selection) {
  if (step.persistent) return {static_cast<std::uint32_t>(step.work_indptr.size() - 1), 1, 1};
  const std::int64_t packed = step.heads * step.max_qo_len;
  return {static_cast<std::uint32_t>(ceil_div(packed, selection.rows_per_workgroup)),
          static_cast<std::uint32_t>(step.requests), static_cast<std::uint32_t>(step.splits)};
}

std::optional<Failure> launch(const DecodeStep& step, const Selection& selection,
                              const DecodeKernargs& kernargs, DeviceMemory& memory) {
  const auto object = loaded(step.machine, selection.row.file);
  if (!object) return failure_of(object.error());
  gfx::LaunchRequest request;
  request.kernel = selection.row.kernel;
  request.grid = grid_of(step, selection);
  request.block = {kThreads, 1, 1};
  request.kernarg = std::as_bytes(std::span(&kernargs, 1));
  const auto report = gfx::run(**object, request, memory.memory());
  if (!report) return failure_of(report.error());
  if (report->clean()) return std::nullopt;
  const auto& events = report->faults.empty() ? report->findings : report->faults;
  Failure failure{MLA_FAULT, selection.row.kernel + ": " + events.front().line(), "", ""};
  for (const gfx::Event& event : events) failure.report += event.line() + "\n";
  return failure;
}

}  // namespace

Result<Selection> select_kernel(const DecodeStep& step) {
  const std::int64_t q_row = step.heads * kBuiltIn.key_bytes(step.q_dtype);
  if (const MaybeError bad = hip::aiter::fits_kernarg(
          "the bytes of a request in 'Q', of max_seqlen_q times those of a row,", step.max_qo_len,
          q_row))
    return *bad;
  const hip::aiter::DecodeQuery query = query_of(step);
  if (step.machine.installation == nullptr) return hip::aiter::dispatch_decode(query);
  const hip::aiter::Manifest* manifest = step.machine.installation->manifest(step.machine.arch);
  if (manifest == nullptr)
    return Error{ErrorCode::unsupported, say("'", step.machine.installation->directory(),
                                             "' has no manifest for ", name(step.machine.arch))};
  return hip::aiter::select_decode(*manifest, query);
}

std::optional<Failure> run_on_device(const DecodeStep& step, const Selection& selection) {
  DeviceMemory memory;
  DecodeKernargs k;
  k.packed_rows = static_cast<std::uint32_t>(selection.packed_rows);
  set_operands(step, memory, k);
  set_outputs(step, memory, k);
  set_work(step, memory, k);
  if (memory.failed()) return failure_of(*memory.failed());
  if (auto bad = launch(step, selection, k, memory)) return bad;
  memory.finish();
  return std::nullopt;
}

}  // namespace mla::c_api::aiter
