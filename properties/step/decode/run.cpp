#include "properties/step/decode/run.hpp"

#include <utility>

#include "core/engine/run_decode.hpp"

namespace mla::prop {

Result<Step> run_step(const Subject& subject, const Case& c, const Batch& batch,
                      const DecodeTensors& tensors) {
  const DecodeMetadataBuilder builder = subject.builder();
  Result<ResolvedShape> shape = builder.shape(c, batch);
  if (!shape) return shape.error();
  DecodeBuffers buffers = make_decode_buffers(c, batch, *shape);
  Result<DecodeMetadata> metadata = builder.build(batch, *shape, buffers);
  if (!metadata) return metadata.error();
  Result<DecodeResult> result = run_decode(
      subject.backend(), {*metadata, tensors},
      {.schedule_seed = c.schedule_seed, .threads = 0, .record_stages = true}, subject.hooks());
  if (!result) return result.error();
  return Step{std::move(*shape), std::move(buffers), std::move(*metadata), std::move(*result)};
}

}  // namespace mla::prop
