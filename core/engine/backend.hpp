// Backend: the interface that every executor of steps implements.
//
// A launch is data: resolved shape, metadata, tensors. A result is data: final output and LSE,
// every intermediate buffer, a list of faults, and what was launched; a backend never decides
// whether a result is good. Every backend executes decode steps; it says for the other kinds
// whether it does. Layouts of decode: q [rows, model heads, key] and cache rows [slot, key] in
// their dtype, row-major; out [rows, model heads, value] as bf16 bits, `key` and `value` being the
// widths of the shape; lse [rows, model heads] f32, natural log. Fails: supports() gives the
// reason; run() returns an error only when nothing could be executed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/engine/decode_metadata.hpp"
#include "core/engine/launches.hpp"
#include "core/result.hpp"

namespace mla {

namespace prefill {
struct Kernels;  // core/engine/prefill/kernels.hpp
}
namespace fa {
struct Kernels;  // core/engine/fa/kernels.hpp
}
namespace plan {
class StepPlanner;  // core/plan/step_planner.hpp
}

// A window of the physical KV cache. Slot s lies at bytes + (s - first_slot) * row_bytes(), and
// slots outside [first_slot, first_slot + slots) are not backed: reading one is a fault.
struct KvCache {
  Dtype dtype = Dtype::bf16;
  std::int64_t first_slot = 0;
  std::int64_t slots = 0;
  std::vector<std::byte> bytes;  // slots that no request owns hold NaN
  RowWidths widths;
  [[nodiscard]] std::int64_t row_bytes() const { return widths.key_bytes(dtype); }
};

struct DecodeTensors {
  std::vector<std::byte> q;
  KvCache cache;
  float softmax_scale = 0;
  float q_scale = 1;   // 1 unless q is fp8
  float kv_scale = 1;  // 1 unless the cache is fp8
};

struct DecodeLaunch {
  const DecodeMetadata& metadata;
  const DecodeTensors& tensors;
};

// Something that no correct launch does: an index outside its buffer, a row written twice, a
// damaged canary. The execution skips the guilty access and goes on.
struct Fault {
  std::string what;        // a sentence with the values
  std::int64_t work = -1;  // work item, or -1
  std::int64_t slot = -1;  // compute unit slot, or -1
};

// What one work item touched, in units of the buffers: pages of kv_indices read, rows written.
struct Footprint {
  std::int64_t work = 0;
  std::int64_t slot = 0;
  RowRange q_rows;        // kernel rows of Q read
  RowRange kv_entries;    // entries of kv_indices read
  RowRange partial_rows;  // partial rows written; empty if it wrote the output
  RowRange output_rows;   // kernel rows of the output written
};

// Bits that no computation produces: what a buffer holds before it is written.
inline constexpr std::uint32_t kPoisonF32 = 0x7FA5A5A5U;  // a NaN
inline constexpr std::uint16_t kPoisonBf16 = 0x7FA5U;     // a NaN

struct DecodeResult {
  // Final, un-padded and un-folded.
  std::vector<std::uint16_t> out;
  std::vector<float> lse;
  std::int64_t kernel_heads = 0;  // heads of a kernel row
  // Intermediate, in the kernel's layout; empty if not asked for.
  std::vector<float> partial_out;         // [partial rows, kernel heads, value], normalised
  std::vector<float> partial_lse;         // [partial rows, kernel heads]
  std::vector<std::uint16_t> stage1_out;  // [kernel rows, kernel heads, value] after stage 1
  std::vector<float> stage1_lse;          // [kernel rows, kernel heads] after stage 1
  std::vector<Footprint> footprint;       // by work item
  std::vector<Fault> faults;
  Launches launches;
};

struct ExecutionOptions {
  std::uint64_t schedule_seed = 0;  // order of slots and pieces; 0: ascending
  // The turns of the waves and when memory answers, on an emulated device. 0: its default, but for
  // this project's kernels that of schedule_seed.
  std::uint64_t timing_seed = 0;
  int threads = 0;             // 0: as many as the runtime gives
  bool record_stages = false;  // partial results, those of stage 1, and the footprint
  // On an emulated device a result that is used before it is waited for, or a race in LDS, is an
  // error.
  bool checked = false;
};

struct Support {
  bool ok = false;
  std::string reason;  // why not; empty when ok
};

class Backend {
 public:
  Backend() = default;
  Backend(const Backend&) = delete;
  Backend& operator=(const Backend&) = delete;
  virtual ~Backend() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // What executes steps of a kind, as its launches name it: "avx512", "emulated:gfx942". Empty: the
  // backend has no such step, and no other backend may execute one in its name.
  [[nodiscard]] virtual std::string_view device(StepKind kind) const = 0;
  [[nodiscard]] virtual Support supports(const ResolvedShape& shape) const = 0;
  [[nodiscard]] virtual Result<DecodeResult> run(const DecodeLaunch& launch,
                                                 const ExecutionOptions& options) const = 0;
  // What a seed of schedule and timing stands for, in words; empty: it changes nothing here.
  [[nodiscard]] virtual std::string timing(std::uint64_t) const { return {}; }
  // What a prefill or an FA step launches; null without such a step.
  [[nodiscard]] virtual const prefill::Kernels* prefill_kernels() const { return nullptr; }
  [[nodiscard]] virtual const fa::Kernels* fa_kernels() const { return nullptr; }
  // What plans the decode steps that this backend executes; null: the core does.
  [[nodiscard]] virtual const plan::StepPlanner* planner() const { return nullptr; }
};

}  // namespace mla
