// The matrices of `mla-testbed support`: which kernel runs which shape, and why not.
//
// Those of prefill and FA steps, and of an installation, are lists of rows, each a shape and its
// answer; both printers read the same list. A refused shape is a row with its reason.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/arch.hpp"
#include "core/result.hpp"
#include "core/row_widths.hpp"

namespace mla::app {

// One shape of decode steps: requests that are alike.
struct SupportShape {
  Arch arch = Arch::gfx942;
  DtypePair dtype;
  std::int64_t heads = 16;  // of one rank
  bool causal = true;
  bool lse = false;     // the final LSE is asked for
  bool planned = true;  // false: a step that an engine launches without a plan
  RowWidths widths = {};
  std::int64_t requests = 1;
  std::int64_t rows = 1;  // of each request
};

// The route of a shape that is neither taken nor refused: what was asked broke.
inline constexpr const char* kFails = "fails";

struct SupportAnswer {
  bool ok = false;
  std::string route;
  std::string kernel;
  std::string reason;
};

// Who is asked: AITER as the core knows it, where nothing else is said.
using SupportOracle = std::function<SupportAnswer(const SupportShape&)>;
SupportAnswer answer_of_the_core(const SupportShape& shape);
// The tree of AITER in `directory` is: each shape is planned and launched there, over a few keys.
// `arch` empty: both. Fails: the tree cannot be imported.
Result<SupportOracle> tree_support(const std::string& directory, const std::string& arch);

struct SupportRequest {
  std::string arch;           // empty: all
  std::string dtype;          // "<q>/<kv>"; empty: all
  std::int64_t heads = 0;     // 0: every padded count
  std::int64_t rows = 0;      // of each request; 0: every length that some kernel tells apart
  std::int64_t requests = 1;  // of the batch
  RowWidths widths = {};      // of the cache
  bool planned = true;        // false: steps that an engine launches without a plan
  SupportOracle oracle = answer_of_the_core;
};

// Whether there is such a dtype.
bool has_support_rows(const SupportRequest& request);
// Whether it asks about one shape: architecture, dtype, heads and rows.
bool is_one_shape(const SupportRequest& request);
// The answer for one shape in words, and where a mask or an LSE changes it.
std::string decode_support_sentence(const SupportRequest& request);
// A row for query lengths with the same answer.
std::string decode_support_table(const SupportRequest& request);
// Every query length, or the one that is asked for.
std::string decode_support_json(const SupportRequest& request);

struct SupportRow {
  std::vector<std::pair<std::string, std::string>> shape;  // column and value
  bool ok = false;
  std::string route;  // path or kernel; "refused"
  std::string reason;
};

// Path of a prefill step for each architecture, cache dtype, context and planner. `arch` empty:
// all.
std::vector<SupportRow> prefill_support(const std::string& arch);
// Kernel of FA decodes for each head size, window, number of rows and mask.
std::vector<SupportRow> fa_support();
// The rows of an AITER installation's manifests: `directory` is its hsa, `arch` empty for both. A
// code object that the directory does not have is no support.
Result<std::vector<SupportRow>> aiter_support(const std::string& directory,
                                              const std::string& arch);

std::string support_table(const std::vector<SupportRow>& rows);
nlohmann::ordered_json support_json(const std::vector<SupportRow>& rows);

}  // namespace mla::app
