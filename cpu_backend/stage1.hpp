// Stage 1: runs checked tasks, each writing only its own rows.
//
// A task that is split writes normalised f32 partial outputs and their natural-log LSE; one that is
// not writes the output in bf16, rounded as the architecture's stage 1 does, and the LSE.
#pragma once

#include <span>

#include "cpu_backend/buffers.hpp"
#include "cpu_backend/data_path/data_path.hpp"
#include "cpu_backend/task.hpp"

namespace mla::cpu {

struct Stage1 {
  const DecodeLaunch& launch;
  const RowMap& rows;
  const DataPath& path;
  int threads = 1;
};

// Runs tasks[order[0]], tasks[order[1]], ... on `threads` threads.
void run_stage1(const Stage1& stage, std::span<const Task> tasks,
                std::span<const std::int64_t> order, KernelBuffers& buffers);

}  // namespace mla::cpu
