// Stage 1: runs checked tasks, each writing only its own rows.
//
// A task that is split writes normalised f32 partial outputs and their natural-log LSE; one that is
// not writes the output in bf16, rounded as the architecture's stage 1 does, and the LSE.
#pragma once

#include <span>

#include "cpu_backend/data_path/data_path.hpp"
#include "cpu_backend/decode/task.hpp"

namespace mla::cpu {

struct Stage1 {
  const DecodeMetadata& metadata;
  CacheView cache;
  const std::byte* q = nullptr;  // contiguous
  float softmax_scale = 0;
  float q_scale = 1;
  float kv_scale = 1;
  const RowMap* rows = nullptr;  // null: Q has the kernel's rows and heads
  const DataPath& path;
  int threads = 1;
};

// Where results go; every row and partial row that a task names lies inside.
struct Stage1Output {
  std::int64_t heads = 0;
  float* partial_out = nullptr;  // [partial rows, heads, value]
  float* partial_lse = nullptr;  // [partial rows, heads]
  std::uint16_t* out = nullptr;  // [kernel rows, heads, value]
  float* lse = nullptr;          // [kernel rows, heads]; null: not wanted
};

// Runs tasks[order[0]], tasks[order[1]], ... on `threads` threads.
void run_stage1(const Stage1& stage, std::span<const Task> tasks,
                std::span<const std::int64_t> order, const Stage1Output& output);

}  // namespace mla::cpu
