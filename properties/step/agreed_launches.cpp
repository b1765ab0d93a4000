#include "properties/step/agreed_launches.hpp"

#include <functional>
#include <span>
#include <string_view>
#include <utility>

#include "properties/generate/hash.hpp"

namespace mla::prop {
namespace {

class Sum {
 public:
  // The number of elements counts too, so that none moves from one list into the next.
  template <class T>
  void add(std::span<const T> values) {
    const std::string_view bytes(reinterpret_cast<const char*>(values.data()), values.size_bytes());
    sum_ = mix(mix(sum_, values.size()), std::hash<std::string_view>{}(bytes));
  }
  template <class T>
  void add(const std::vector<T>& values) {
    add(std::span<const T>(values));
  }
  template <class T>
  void add_value(const T& value) {
    add(std::span<const T>(&value, 1));
  }
  [[nodiscard]] std::uint64_t value() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

void add_metadata(const DecodeMetadata& md, Sum& sum) {
  for (const auto& list : {md.qo_indptr, md.kv_indptr, md.kv_indices, md.last_page_len})
    sum.add(list);
  sum.add(md.kv_lens);
  for (const RowRange& rows : md.keyless_rows) {
    sum.add_value(rows.begin);
    sum.add_value(rows.end);
  }
  if (!md.plan) return;
  for (const plan::PlanBuffer* list : md.plan->all()) sum.add(list->data());
}

void add_tensors(const DecodeTensors& t, Sum& sum) {
  sum.add(t.q);
  sum.add(t.cache.bytes);
  sum.add_value(t.cache.first_slot);
  for (const float scale : {t.softmax_scale, t.q_scale, t.kv_scale}) sum.add_value(scale);
}

}  // namespace

AgreedLaunches::Key AgreedLaunches::key(const DecodeLaunch& launch, const DecodeResult& result) {
  Sum sum;
  add_metadata(launch.metadata, sum);
  add_tensors(launch.tensors, sum);
  sum.add(result.partial_out);
  sum.add(result.partial_lse);
  sum.add(result.stage1_out);
  sum.add(result.stage1_lse);
  return {launch.metadata.shape, sum.value()};
}

std::optional<Launches> AgreedLaunches::find(const Key& key) const {
  const std::lock_guard lock(mutex_);
  for (const Noted& noted : noted_)
    if (noted.key.sum == key.sum && noted.key == key) return noted.launches;
  return std::nullopt;
}

void AgreedLaunches::note(Key key, Launches launches) {
  const std::lock_guard lock(mutex_);
  if (noted_.size() < kMost) return noted_.push_back({std::move(key), std::move(launches)});
  noted_[oldest_] = {std::move(key), std::move(launches)};
  oldest_ = (oldest_ + 1) % kMost;
}

}  // namespace mla::prop
