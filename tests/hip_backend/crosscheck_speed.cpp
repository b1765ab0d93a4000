#include "tests/hip_backend/crosscheck_speed.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "core/case/batch.hpp"
#include "core/engine/decode_builder.hpp"
#include "core/engine/step_hooks.hpp"
#include "hip_backend/decode/decode_run.hpp"
#include "hip_backend/device/resources.hpp"
#include "tests/built_in_dims.hpp"

namespace mla::hip::test {
namespace {

constexpr int kRepeats = 20;

// Median time of `work` between two events, after two runs that do not count.
template <class Work>
Result<double> median_ms(Device& device, StreamHandle stream, Work work) {
  const auto begin = make_event(device);
  const auto end = make_event(device);
  if (!begin) return begin.error();
  if (!end) return end.error();
  std::vector<double> times;
  for (int i = 0; i < kRepeats + 2; ++i) {
    if (MaybeError bad = device.record(stream, begin->get())) return *bad;
    if (MaybeError bad = work()) return *bad;
    if (MaybeError bad = device.record(stream, end->get())) return *bad;
    const auto ms = device.elapsed_ms(begin->get(), end->get());
    if (!ms) return ms.error();
    if (i >= 2) times.push_back(*ms);
  }
  std::nth_element(times.begin(), times.begin() + kRepeats / 2, times.end());
  return times[kRepeats / 2];
}

// Bytes read plus bytes written, in a second.
Result<double> copy_bandwidth(Device& device, StreamHandle stream) {
  constexpr std::int64_t kBytes = std::int64_t{4} << 30;
  const auto from = Buffer::poisoned(device, "source", kBytes);
  if (!from) return from.error();
  const auto to = Buffer::poisoned(device, "target", kBytes);
  if (!to) return to.error();
  const auto ms = median_ms(device, stream, [&] {
    return device.copy_on(stream, to->address(), from->address(), kBytes);
  });
  if (!ms) return ms.error();
  return 2.0 * kBytes / (*ms * 1e-3);
}

// Random elements of magnitude 1/4 to 2, repeated; speed does not depend on more.
std::vector<std::byte> random_elements(std::int64_t bytes, Dtype dtype) {
  std::vector<std::byte> data(static_cast<std::size_t>(bytes));
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < data.size(); ++i) {
    state = state * 1664525U + 1013904223U;
    const std::uint32_t random = state >> 24U;
    std::uint32_t byte = random;
    if (dtype == Dtype::fp8) byte = (random & 0x87U) | (0x28U + (random & 0x18U));
    if (dtype == Dtype::bf16 && i % 2 == 1) byte = (random & 0x80U) | 0x3EU | (random & 1U);
    data[i] = static_cast<std::byte>(byte);
  }
  return data;
}

struct Measured {
  double stage1_ms = 0;
  double reduce_ms = 0;
  double bytes = 0;       // keys, queries and outputs, each once
  double operations = 0;  // multiplications and additions
};

Result<Measured> measure(Device& device, StreamHandle stream, const Case& spec) {
  const auto batch = make_batch(spec);
  if (!batch) return batch.error();
  const auto shape = resolve_shape(spec, *batch);
  if (!shape) return shape.error();
  DecodeBuffers buffers = make_decode_buffers(spec, *batch, *shape);
  const auto metadata =
      DecodeMetadataBuilder({.max_requests = 0}, StepHooks::none()).build(*batch, *shape, buffers);
  if (!metadata) return metadata.error();
  DecodeTensors t;
  t.softmax_scale = 0.07F;
  t.cache.dtype = shape->dtype.kv;
  t.cache.first_slot = batch->first_block * batch->block_size;
  t.cache.slots = batch->cache_blocks * batch->block_size;
  t.cache.bytes = random_elements(t.cache.slots * t.cache.row_bytes(), t.cache.dtype);
  const std::int64_t packed = metadata->rows().count() * spec.heads;
  t.q = random_elements(packed * kKeyDim * element_bytes(shape->dtype.q), shape->dtype.q);
  auto run = DecodeRun::prepare(device, {*metadata, t}, {.stage1 = own_stage1()});
  if (!run) return run.error();

  Measured m;
  const auto stage1 = median_ms(device, stream, [&] { return (*run)->stage1(stream); });
  if (!stage1) return stage1.error();
  const auto reduce = median_ms(device, stream, [&] { return (*run)->reduce(stream); });
  if (!reduce) return reduce.error();
  m.stage1_ms = *stage1;
  m.reduce_ms = *reduce;
  for (const RequestSpec& r : batch->requests) {
    m.bytes += static_cast<double>(r.kv_len * t.cache.row_bytes());
    m.operations += 2.0 * static_cast<double>(r.qo_len * r.kv_len * spec.heads) *
                    static_cast<double>(kKeyDim + kValueDim);
  }
  m.bytes += static_cast<double>(t.q.size()) + static_cast<double>(packed * kValueDim) * 2;
  return m;
}

}  // namespace

int measure_speed(Device& device) {
  const auto stream = make_stream(device);
  if (!stream) return 3;
  const auto copy = copy_bandwidth(device, stream->get());
  if (!copy) {
    std::fprintf(stderr, "%s\n", copy.error().message.c_str());
    return 3;
  }
  std::printf("copy: %.2f TB/s read and written\n", *copy * 1e-12);
  const std::int64_t units = device.properties().compute_units;
  const std::string full = ";cu=" + std::to_string(units);
  const std::string half = ";cu=" + std::to_string(units / 2);
  const std::string lines[] = {
      "mla1:64q1s8k;heads=16;arch=gfx950" + full,
      "mla1:64q1s8k;heads=16;arch=gfx950;block=64;layout=contiguous" + full,
      "mla1:1q1s128k;heads=16;arch=gfx950" + full,
      "mla1:64q2s8k;heads=16;arch=gfx950" + full,
      "mla1:64q4s8k;heads=16;arch=gfx950" + full,
      "mla1:64q1s8k;heads=64;arch=gfx950" + full,
      "mla1:64q1s8k;heads=128;arch=gfx950" + half,
      "mla1:64q1s8k;heads=16;arch=gfx950;dtype=bf16/fp8" + full,
      "mla1:64q1s8k;heads=16;arch=gfx950;dtype=fp8/fp8" + full,
      "mla1:64q1s8k;heads=128;arch=gfx950;dtype=fp8/fp8" + half,
  };
  std::printf("%-66s %9s %9s %7s %7s %8s\n", "case", "stage 1", "reduce", "TB/s", "of copy",
              "TFLOP/s");
  for (const std::string& line : lines) {
    const auto spec = parse_case(line);
    const auto m = spec ? measure(device, stream->get(), *spec) : Result<Measured>(spec.error());
    if (!m) {
      std::printf("%-66s %s\n", line.c_str(), m.error().message.c_str());
      continue;
    }
    const double rate = m->bytes / ((m->stage1_ms + m->reduce_ms) * 1e-3);
    std::printf("%-66s %6.3f ms %6.3f ms %7.2f %6.0f%% %8.1f\n", line.c_str(), m->stage1_ms,
                m->reduce_ms, rate * 1e-12, 100 * rate / *copy,
                m->operations / ((m->stage1_ms + m->reduce_ms) * 1e-3) * 1e-12);
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace mla::hip::test
