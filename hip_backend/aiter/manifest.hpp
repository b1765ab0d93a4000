// Manifest: the rows of AITER's mla_asm.csv, which say what code objects an installation has.
//
// Columns are found by their names in the header line: qType, kvType, Gqa, ps, qSeqLen, prefill,
// causal, knl_name, co_name, and lse and cprr, which older files lack: no such kernel, 0. Others
// are ignored. Files from before 10 August 2026 have the same columns with another `causal`
// (ManifestRow::asked_for).
// Source of the meaning: aiter.md 4 and gfx_emulator.md 2.4. Fails: parse_manifest() with file,
// line, column and value; text of any kind is safe to read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/arch.hpp"
#include "core/result.hpp"

namespace mla::hip::aiter {

// What a tensor holds; `bytes` is the packed cache of 512 fp8 latents, scales and bf16 rope.
enum class ElementType : std::uint8_t { bf16, fp8, bytes };
std::string_view name(ElementType type);
ElementType element_type(Dtype dtype);

// What a row is looked up by. Equality of all of it is the whole rule of AITER's look-up.
struct RowKey {
  ElementType q = ElementType::bf16;
  ElementType kv = ElementType::bf16;
  std::int64_t heads = 16;  // of one KV head ("Gqa")
  bool persistent = false;
  std::int64_t qo_len = 1;  // rows of the kernel's tile; 0: not distinguished
  bool prefill = false;
  bool causal = true;
  bool lse = false;   // returns the final LSE
  bool cprr = false;  // keys dealt out to context-parallel ranks in turns
  bool operator==(const RowKey&) const = default;
};
std::string text_of(const RowKey& key);

struct ManifestRow {
  RowKey key;
  std::string kernel;  // the symbol
  std::string file;    // a plain file name, beside the manifest
  std::int64_t line = 0;
  // Only of decode rows in files from before 10 August 2026: what the column `causal` says. All
  // those kernels have the mask (key.causal is true). Dispatch asked for 0 then, and for 1 only
  // where one kernel took one row and another took several.
  std::optional<bool> asked_for = {};
};

using Manifest = std::vector<ManifestRow>;

// `source` names the text in messages.
Result<Manifest> parse_manifest(std::string_view text, const std::string& source);

}  // namespace mla::hip::aiter
