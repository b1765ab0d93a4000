// TensorStore: tensors of the steps of a case, made once for all properties that execute them.
//
// Keeps the latest ones up to kMostBytes, so that large cases need no more memory than before. For
// one thread.
#pragma once

#include <cstddef>
#include <list>
#include <memory>

#include "properties/generate/tensors.hpp"

namespace mla::prop {

class TensorStore {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  // What make_tensors() makes of the case, perhaps made before.
  std::shared_ptr<const DecodeTensors> get(const Case& c, const Batch& batch);

 private:
  struct Entry {
    TensorSpec spec;
    std::shared_ptr<const DecodeTensors> tensors;
    std::size_t bytes = 0;
  };
  std::list<Entry> entries_;  // the latest first
  std::size_t bytes_ = 0;
};

}  // namespace mla::prop
