// Case: everything a run depends on, as one small value and one line of text.
//
// Owns: the value, its defaults, and the words of its fields. The line has no hidden state: two
// runs of one line do the same. Grammar and defaults: docs/reference/cases.md. Lengths are tokens,
// `block` and `page` tokens of cache, `granularity` pages. Fails: parse_case() names the field and
// the value it does not take, or the kinds that have the field.
#pragma once

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/arch.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "core/row_widths.hpp"
#include "core/units.hpp"

namespace mla {

struct RequestSpec {
  std::int64_t qo_len = 1;  // query rows
  std::int64_t kv_len = 1;  // cached keys, the new rows' own keys included
  bool operator==(const RequestSpec&) const = default;
};

// Where the logical blocks of the requests lie in the physical cache.
enum class Layout : std::uint8_t {
  contiguous,   // request after request, ascending
  shuffled,     // a permutation drawn from the parameter
  interleaved,  // block j of every request before block j+1 of any
  descending,   // request after request, every request backwards
  prefix,       // contiguous, but the first `parameter` blocks are shared by all requests
};

struct LayoutSpec {
  Layout kind = Layout::shuffled;
  std::uint64_t parameter = 7;
  bool operator==(const LayoutSpec&) const = default;
};

// What the Q and KV elements look like before they are rounded to their dtype.
enum class Distribution : std::uint8_t {
  normal,    // standard normal
  spiky,     // mostly small, one element in 64 is 16 times larger
  large,     // magnitudes over several powers of two
  constant,  // every element the same
  onehot,    // one non-zero element a row
};

struct DataSpec {
  Distribution kind = Distribution::normal;
  std::uint64_t seed = 42;
  bool operator==(const DataSpec&) const = default;
};

// What the capacity of kv_indices beyond the live entries holds.
enum class TailFill : std::uint8_t {
  minus_one,  // what a full-graph build leaves
  stale,      // indices of an earlier, longer step
  random,     // any int32
  huge,       // the largest int32
};

struct SpareSpec {
  std::int64_t entries = 0;
  TailFill fill = TailFill::minus_one;
  bool operator==(const SpareSpec&) const = default;
};

// Which of an engine's steps the case is.
enum class StepKind : std::uint8_t {
  decode,   // absorbed MLA decode over the paged latent cache
  prefill,  // MLA prefill over expanded heads, 192 by 128 a head
  fa,       // the AITER FA backend: grouped-query attention, decode | extend | prefill
};

enum class PlannerChoice : std::uint8_t {
  automatic,     // what an engine gets: v1.2, or no plan where AITER would ignore one
  v12,           // v1.2 with the kernel that AITER launches
  v12_serial,    // v1.2, the serial kernel
  v12_parallel,  // v1.2, the parallel kernel
  v11,
  v10,
  none,  // the non-persistent path
};

// Beyond what all kinds share: how a decode step is planned and what its kernel gets.
struct DecodeSpec {
  std::int64_t granularity = 16;
  std::int64_t max_split = -1;
  SpareSpec spare;
  float q_scale = 1.0F;          // read only for an fp8 query
  float kv_scale = 1.0F;         // read only for an fp8 cache
  bool need_lse = false;         // demand a kernel that can return the final LSE
  std::int64_t kernel_rows = 0;  // rows that short requests are raised to; 0: they stay
  std::int64_t kv_splits = 0;    // of a step without a plan; 0: as many as AITER's wrapper chooses
  std::int64_t latent = 512;     // elements of a row's latent part
  std::int64_t rope = 64;        // and of its rope part
  std::int64_t value = 0;        // elements of a value, the row's first; 0: the latent part
  [[nodiscard]] RowWidths widths() const {
    return {LatentDims(latent), RopeDims(rope), ValueDims(value > 0 ? value : latent)};
  }
  bool operator==(const DecodeSpec&) const = default;
};

struct PrefillSpec {
  std::int64_t workspace_tokens = 65536;  // context tokens that a chunk holds
  bool operator==(const PrefillSpec&) const = default;
};

struct FaSpec {
  std::int64_t workspace_tokens = 65536;  // context tokens that a chunk of an extend holds
  std::int64_t kv_heads = 1;              // divides `heads`
  std::int64_t head_dim = 128;            // elements of a head
  std::int64_t window = -1;               // keys to the left of a row's own; -1: all
  std::int64_t draft_tokens = 0;          // a decode has up to draft_tokens + 1 rows
  bool operator==(const FaSpec&) const = default;
};

// In the order of StepKind.
using StepSpec = std::variant<DecodeSpec, PrefillSpec, FaSpec>;
inline constexpr StepKind kStepKinds[] = {StepKind::decode, StepKind::prefill, StepKind::fa};
static_assert(std::size(kStepKinds) == std::variant_size_v<StepSpec>);

// The fields of a kind at their defaults.
StepSpec default_step(StepKind kind);

struct Case {
  std::vector<RequestSpec> requests;
  std::int64_t heads = 16;
  std::int64_t block_size = 1;
  std::int64_t page_size = 1;
  Arch arch = Arch::gfx942;
  std::int64_t compute_units = 304;
  DtypePair dtype;
  bool causal = true;
  LayoutSpec layout;
  DataSpec data;
  // Fields below are printed only where they differ from these defaults.
  PlannerChoice planner = PlannerChoice::automatic;
  std::int64_t pad_requests = 0;    // graph padding after the requests
  std::int64_t origin_block = 0;    // id of the first physical block that is backed by memory
  std::uint64_t schedule_seed = 0;  // order in which slots and pieces run; 0: ascending
  StepSpec step;                    // its alternative is the kind
  // Steps that follow on the same buffers, each with its own requests (docs/reference/cases.md,
  // "sequences").
  std::vector<std::vector<RequestSpec>> later_steps;

  [[nodiscard]] StepKind kind() const { return static_cast<StepKind>(step.index()); }
  // The fields of the kind; the case is of that kind.
  [[nodiscard]] const DecodeSpec& decode() const MLA_LIFETIME_BOUND {
    return std::get<DecodeSpec>(step);
  }
  [[nodiscard]] const PrefillSpec& prefill() const MLA_LIFETIME_BOUND {
    return std::get<PrefillSpec>(step);
  }
  [[nodiscard]] const FaSpec& fa() const MLA_LIFETIME_BOUND { return std::get<FaSpec>(step); }
  DecodeSpec& decode() MLA_LIFETIME_BOUND { return std::get<DecodeSpec>(step); }
  PrefillSpec& prefill() MLA_LIFETIME_BOUND { return std::get<PrefillSpec>(step); }
  FaSpec& fa() MLA_LIFETIME_BOUND { return std::get<FaSpec>(step); }
  // Of the latent rows; kinds without them have the widths of kBuiltIn.
  [[nodiscard]] RowWidths widths() const {
    return kind() == StepKind::decode ? decode().widths() : kBuiltIn;
  }
  bool operator==(const Case&) const = default;
};

// The canonical line: format_case(parse_case(s)) == s for every s that format_case() made.
std::string format_case(const Case& c);

// Reads a line. Fields may come in any order and be left out; a repeated or unknown field, a number
// that is none or lies outside its range is an error that names field and value.
Result<Case> parse_case(std::string_view line);

std::string_view name(Layout layout);
std::string_view name(Distribution distribution);
std::string_view name(TailFill fill);
std::string_view name(PlannerChoice planner);
std::string_view name(StepKind kind);

}  // namespace mla
