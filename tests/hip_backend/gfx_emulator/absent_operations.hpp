// Owns: the operations that LLVM's disassembler knows for gfx942 or gfx950 and the decoder refuses.
#pragma once

#include <initializer_list>
#include <string_view>

namespace gfx_test {

// Why `name` ("buffer_load_format_x") is no instruction here; null where it is one.
[[nodiscard]] inline const char* why_absent(std::string_view name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string_view::npos; };
  const auto starts = [&](std::initializer_list<const char*> stems) {
    for (const char* const stem : stems) {
      if (name.starts_with(stem)) return true;
    }
    return false;
  };
  if (has("_format_")) return "typed buffer loads and stores";
  if (starts({"s_store", "s_buffer_store", "s_atomic", "s_buffer_atomic", "s_dcache_discard",
              "s_scratch"})) {
    return "scalar stores, atomics and scratch, which no compiler emits";
  }
  if (starts({"s_rfe", "s_cbranch_cdbg", "s_setkill", "s_setvskip", "s_incperf", "s_decperf",
              "s_ttrace", "s_endpgm_saved", "s_endpgm_ordered", "s_atc_probe"}) ||
      name == "v_screen_partition_4se_b32") {
    return "trap handlers, debuggers, tracing and graphics";
  }
  if (has("_fork") || has("_join")) return "branch stacks, which no compiler emits";
  if (name == "ds_nop" || name == "v_mfma_ld_scale_b32") return "parts of other instructions";
  return nullptr;
}

}  // namespace gfx_test
