// Claims about TensorStore: who shares tensors, and what it keeps.
#include "properties/generate/tensor_store.hpp"

#include <memory>
#include <string>
#include <vector>

#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

std::shared_ptr<const DecodeTensors> take(TensorStore& store, const Case& c) {
  return store.get(c, *make_batch(c));
}
bool equal(const DecodeTensors& a, const DecodeTensors& b) {
  return a.q == b.q && a.cache.bytes == b.cache.bytes && a.cache.dtype == b.cache.dtype &&
         a.cache.first_slot == b.cache.first_slot && a.cache.slots == b.cache.slots &&
         a.q_scale == b.q_scale && a.kv_scale == b.kv_scale;
}

constexpr const char* kLine = "mla1:1q1s40_1q2s30;heads=8;block=4;dtype=fp8/fp8;cu=8";

}  // namespace

TEST_CASE("tensor store: steps that differ in nothing their tensors depend on share them",
          "[judge]") {
  TensorStore store;
  const auto first = take(store, case_of(kLine));
  for (const char* more : {"", ";planner=v11", ";gran=1", ";split=2", ";causal=0", ";sched=5",
                           ";spare=9.huge", ";lse=1"}) {
    INFO(more);
    CHECK(take(store, case_of(std::string(kLine) + more)) == first);
  }
}

TEST_CASE("tensor store: a step has the tensors of make_tensors(), whatever was asked for before",
          "[judge]") {
  const std::string base = kLine;
  std::vector<std::string> lines = {
      base,
      "mla1:1q2s40_1q1s30;heads=8;block=4;dtype=fp8/fp8;cu=8",
      "mla1:1q1s40_1q2s31;heads=8;block=4;dtype=fp8/fp8;cu=8",
      "mla1:1q1s40_1q2s30;heads=9;block=4;dtype=fp8/fp8;cu=8",
      "mla1:1q1s40_1q2s30;heads=8;block=8;dtype=fp8/fp8;cu=8",
      "mla1:1q1s40_1q2s30;heads=8;block=4;dtype=bf16/fp8;cu=8",
      "mla1:1q1s40_1q2s30;heads=8;block=4;dtype=bf16/bf16;cu=8",
      "mla1:1q1s40;heads=8;block=4;cu=8;layout=contiguous",
      "mla1:1q1s40;heads=8;block=4;cu=8;layout=prefix.2",
  };
  for (const char* more :
       {"pad=1", "arch=gfx950", "scale=2/1", "scale=1/2", "data=normal.7", "data=spiky.42",
        "layout=contiguous", "layout=prefix.1", "layout=prefix.2", "origin=3"})
    lines.push_back(base + ";" + more);
  TensorStore store;
  for (const std::string& line : lines) {
    INFO(line);
    const Case c = case_of(line);
    CHECK(equal(*take(store, c), make_tensors(c, *make_batch(c))));
  }
}

TEST_CASE("tensor store: the oldest tensors go when the latest need their place", "[judge]") {
  // Three of these are more than the store keeps, and one of twice the length alone is not.
  const auto line = [](int seed, const char* keys) {
    return case_of(std::string("mla1:1q1s") + keys + ";heads=1;data=normal." +
                   std::to_string(seed));
  };
  TensorStore store;
  const std::weak_ptr<const DecodeTensors> first = take(store, line(1, "24k"));
  REQUIRE_FALSE(first.expired());
  const std::weak_ptr<const DecodeTensors> second = take(store, line(2, "24k"));
  CHECK(take(store, line(1, "24k")) == first.lock());
  const std::weak_ptr<const DecodeTensors> third = take(store, line(3, "24k"));
  CHECK(second.expired());
  CHECK_FALSE(first.expired());
  CHECK_FALSE(third.expired());
  const std::weak_ptr<const DecodeTensors> too_large = take(store, line(4, "64k"));
  CHECK(too_large.expired());
  CHECK_FALSE(first.expired());
}
