#include "hip_backend/decode/decode_execution.hpp"

#include <utility>

#include "hip_backend/device/resources.hpp"

namespace mla::hip {
namespace {

MaybeError replay_kernels(Device& device, DecodeRun& run) {
  Result<Stream> stream = make_stream(device);
  if (!stream) return stream.error();
  if (MaybeError bad = device.begin_capture(stream->get())) return bad;
  if (MaybeError bad = run.stage1(stream->get())) return bad;
  if (MaybeError bad = run.reduce(stream->get())) return bad;
  const Result<GraphHandle> handle = device.end_capture(stream->get());
  if (!handle) return handle.error();
  const Graph graph(device, *handle);
  if (MaybeError bad = device.replay(stream->get(), graph.get())) return bad;
  return device.synchronize(stream->get());
}

MaybeError run_kernels(Device& device, DecodeRun& run, bool through_graph, DecodeResult& result) {
  if (MaybeError bad = run.stage1({})) return bad;
  if (MaybeError bad = device.synchronize({})) return bad;
  if (MaybeError bad = run.read_stage1(result)) return bad;
  // A graph runs both kernels in one go, over what stage 1 has already written.
  if (through_graph) return replay_kernels(device, run);
  if (MaybeError bad = run.reduce({})) return bad;
  return device.synchronize({});
}

MaybeError execute(Device& device, const DecodeLaunch& launch, const DecodeExecution& execution,
                   DecodeResult& result) {
  auto run = DecodeRun::prepare(device, launch, execution.run);
  if (!run) return run.error();
  if (MaybeError bad = run_kernels(device, **run, execution.through_graph, result)) return bad;
  if (MaybeError bad = (*run)->read(launch, result)) return bad;
  result.launches = (*run)->launches();
  return std::nullopt;
}

}  // namespace

Result<DecodeResult> execute_decode(Device& device, const DecodeLaunch& launch,
                                    const DecodeExecution& execution) {
  const auto turn = device.take_turn();
  DecodeResult result;
  MaybeError bad = execute(device, launch, execution, result);
  if (!bad) return result;
  if (bad->code != ErrorCode::fault) return *bad;
  return recovered(device, std::move(*bad));
}

}  // namespace mla::hip
