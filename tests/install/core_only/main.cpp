// Plans a batch with the core alone.
#include <cstdio>

#include "core/engine/decode_builder.hpp"
#include "core/engine/step_hooks.hpp"

int main() {
  const auto c = mla::parse_case("mla1:2q4s900_1q1s513;heads=8;cu=4");
  if (!c) return std::fprintf(stderr, "%s\n", c.error().message.c_str()), 2;
  const auto batch = mla::make_batch(*c);
  const auto shape = mla::resolve_shape(*c, *batch);
  mla::DecodeBuffers buffers = mla::make_decode_buffers(*c, *batch, *shape);
  const auto metadata =
      mla::DecodeMetadataBuilder({}, mla::StepHooks::none()).build(*batch, *shape, buffers);
  if (!metadata) return std::fprintf(stderr, "%s\n", metadata.error().message.c_str()), 2;
  std::printf("%s planned\n", metadata->plan ? "6 buffers" : "nothing");
  return metadata->plan ? 0 : 1;
}
