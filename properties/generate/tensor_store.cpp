#include "properties/generate/tensor_store.hpp"

#include <algorithm>
#include <utility>

namespace mla::prop {

std::shared_ptr<const DecodeTensors> TensorStore::get(const Case& c, const Batch& batch) {
  TensorSpec spec = tensor_spec(c, batch);
  const auto known = std::ranges::find(entries_, spec, &Entry::spec);
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
    return known->tensors;
  }
  auto tensors = std::make_shared<const DecodeTensors>(make_tensors(spec));
  const std::size_t bytes = tensors->q.size() + tensors->cache.bytes.size();
  if (bytes > kMostBytes) return tensors;
  while (bytes_ + bytes > kMostBytes) {
    bytes_ -= entries_.back().bytes;
    entries_.pop_back();
  }
  entries_.push_front({std::move(spec), tensors, bytes});
  bytes_ += bytes;
  return tensors;
}

}  // namespace mla::prop
