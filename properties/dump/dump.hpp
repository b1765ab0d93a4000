// Dump: one step as an engine dumped it, as a value: the planner's call, the plan that was found,
// and the kernel's launch where the dump has it.
//
// read/ makes it from JSON, .npy and .safetensors; check/, blame/ and replay/ are functions of it.
// A part that cannot be read holds the error: it matters only once what comes before it is right.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/io/raw_array.hpp"
#include "core/row_widths.hpp"
#include "properties/dump/calls.hpp"
#include "properties/dump/found_plan.hpp"

namespace mla::dump {

// What the dump says of the paged cache, and the page ids.
struct Cache {
  std::optional<Words> kv_indices;
  std::optional<std::int64_t> pages;
  RowWidths widths;             // of its rows; 512 + 64 where the dump does not say
  std::int64_t packed_row = 0;  // bytes of a row in segments, with its scales; 0: plain elements
  std::optional<bool> prefix_caching;
  std::optional<std::vector<std::int64_t>> dumped;  // ids of the pages that the dump holds
  bool of_engine = true;  // which keeps page 0 for padding; false: of a plan of ours
};

// The format whose rows have so many bytes, values in fp8 beside their scales; empty: none is
// known.
std::string_view packed_name(std::int64_t row_bytes);

// What the engine's scheduler says of a step: where the tokens of each request lie.
struct Schedule {
  Words seq_lens;               // keys of each request, those of this step among them
  Words query_lens;             // rows of each request; empty: not dumped
  Words block_table;            // [requests, width]; empty: not dumped
  std::int64_t block_size = 1;  // tokens of a block
  [[nodiscard]] std::int64_t requests() const { return std::ssize(seq_lens); }
};

// Of Q, the keys or the softmax.
struct Scale {
  float value = 1;    // NaN: not a finite number
  std::string text;   // what the dump has; empty: nothing
  std::string shape;  // of one that is no single number; empty: it is one
};

// A planned step without its launch.
struct Planning {
  PlannerCall call;
  Cache cache;
  std::optional<Result<FoundPlan>> plan;  // nothing: it was dumped without one
  Scale kv_scale;
  std::optional<Schedule> schedule;
};

// Where the buffers are at the launch, and where the two words of work_meta_data lead.
struct Addresses {
  std::array<std::uint64_t, 2> leads{};                   // to work_indptr and work_info
  std::array<std::optional<std::uint64_t>, 2> buffers{};  // those two
};

// Arguments, lists and buffers as the kernel got them (mla_decode_fwd of AITER); what the dump does
// not have is nothing. Heads are those of the tensors: padded if the engine pads, not yet folded.
struct Launch {
  std::optional<std::int64_t> max_qo_len, page_size, num_kv_splits;
  std::optional<std::int64_t> total_kv;  // length of its kv_indices
  std::optional<Heads> heads;
  std::optional<Dtype> dtype_q, dtype_kv;
  std::optional<bool> causal;
  std::optional<bool> persistent;  // whether AITER's wrapper took the plan
  std::optional<Words> num_kv_splits_indptr;
  std::optional<Words> qo_indptr, kv_indptr, last_page_len, kv_indices;
  std::optional<FoundPlan> plan;  // of a planned step; the planner's words where it lists none
  std::optional<Addresses> addresses;
};

struct DecodeDump {
  Planning planned;
  std::optional<Result<Launch>> launch;
  Scale softmax_scale, q_scale;
  std::vector<std::pair<std::string, std::string>> decisions;  // of a plan of ours
  std::map<std::string, io::RawArray> tensors;                 // what only a replay reads

  // The launch, if there is one that can be read.
  [[nodiscard]] const Launch* readable_launch() const MLA_LIFETIME_BOUND {
    return launch && launch->ok() ? &launch->value() : nullptr;
  }
};

struct PrefillPlan {
  PrefillCall call;
  FoundPlan found;
  [[nodiscard]] plan::PsCheckInput check_input() const MLA_LIFETIME_BOUND;
};

struct PrefillDump {
  std::optional<PrefillPlan> planned;  // nothing: a step without a plan
};

// Has no plan, and nothing of it is read.
struct FaDump {};

struct Dump {
  std::string name;
  std::variant<DecodeDump, PrefillDump, FaDump> step;
};

}  // namespace mla::dump
