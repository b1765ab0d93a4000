// fa::Hooks: what may look at, and change, the values between the stages of an FA step. See
// core/engine/step_hooks.hpp.
#pragma once

namespace mla {
struct ThreeWaySplit;
}

namespace mla::device {
class Stream;
}

namespace mla::fa {

struct DecodeCall;
struct Layer;
struct Metadata;
struct OrderedBatch;
struct StepInput;
struct StepParts;

class Hooks {
 public:
  Hooks() = default;
  Hooks(const Hooks&) = delete;
  Hooks& operator=(const Hooks&) = delete;
  virtual ~Hooks() = default;

  // The engine's driver, MetadataBuilder, queue_forward().
  virtual void on_fa_order(OrderedBatch&) const {}
  virtual void on_fa_input(StepInput&, device::Stream&) const {}
  virtual void on_fa_build(const StepInput&, device::Stream&) const {}  // while the host builds
  virtual void on_fa_split(const StepInput&, ThreeWaySplit&) const {}
  virtual void on_fa_parts(StepParts&) const {}
  virtual void on_fa_metadata(Metadata&) const {}
  virtual void on_fa_decode_call(const Layer&, DecodeCall&) const {}
};

}  // namespace mla::fa
