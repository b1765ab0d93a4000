#include "properties/c_api/execution.hpp"

#include <algorithm>
#include <atomic>

#include "core/say.hpp"
#include "properties/c_api/tensors.hpp"

namespace mla::c_api {
namespace {

std::atomic<int>& thread_count() {
  static std::atomic<int> count{0};
  return count;
}

}  // namespace

int threads() {
  return thread_count().load();
}

std::optional<Failure> read_scale(const char* name, const aiter_tensor_t* tensor, bool needed,
                                  float& to) {
  if (tensor == nullptr && !needed) return std::nullopt;
  if (auto bad = check_tensor(tensor, {.name = name, .dtypes = {MLA_DTYPE_FP32}})) return bad;
  if (tensor->numel != 1) return bad_tensor(name, "1 element", say(tensor->numel, " elements"));
  to = elements<const float>(*tensor)[0];
  return std::nullopt;
}

std::optional<Failure> check_running_sum(const char* name, const aiter_tensor_t& list) {
  const auto values = elements<const std::int32_t>(list);
  std::int32_t before = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] < before)
      return usage(say(name, "[", i, "] is ", values[i], "; expected at least ", before));
    before = values[i];
  }
  return std::nullopt;
}

}  // namespace mla::c_api

extern "C" int mla_set_threads(int threads) {
  return mla::c_api::thread_count().exchange(std::max(threads, 0));
}
