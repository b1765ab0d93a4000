// Claims about the subject: each stage once, errors kept, defects planted, the reference untouched.
#include <utility>

#include "properties/judge/judge.hpp"
#include "properties/step/compare_subject.hpp"
#include "properties/step/decode/compare.hpp"
#include "properties/step/forwarding_backend.hpp"
#include "properties/step/subject.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

// Counts executions, and remembers the options of the last one.
class Counting final : public ForwardingBackend {
 public:
  Counting() : ForwardingBackend(cpu_backend()) {}
  [[nodiscard]] std::string_view name() const override { return "counting"; }
  [[nodiscard]] Result<DecodeResult> run(const DecodeLaunch& launch,
                                         const ExecutionOptions& options) const override {
    ++runs;
    last = options;
    return cpu_backend().run(launch, options);
  }
  mutable int runs = 0;
  mutable ExecutionOptions last;
};

// The last key of the last request is read from the page before it.
struct WrongPage final : Interposer {
  void on_index_lists(const Batch&, DecodeMetadata& md, DecodeBuffers& buffers) const override {
    const auto last = static_cast<std::size_t>(md.kv_indptr.back()) - 1;
    buffers.kv_indices[last] = buffers.kv_indices[last - 1];
  }
};

struct ZeroResult final : Interposer {
  void on_result(const ExecutionOptions&, const DecodeMetadata&,
                 DecodeResult& result) const override {
    for (auto& bits : result.out) bits = 0;
  }
};

struct NoiseInCache final : Interposer {
  void on_tensors(const Case&, DecodeTensors& t) const override {
    for (auto& byte : t.cache.bytes) byte ^= std::byte{0x40};
  }
};

// A step of 33 keys that follows another one reads its last key from the page before it.
struct RemembersTheLastStep final : Interposer {
  void on_index_lists(const Batch& batch, DecodeMetadata& md,
                      DecodeBuffers& buffers) const override {
    const std::int64_t keys = batch.requests.front().kv_len;
    const auto end = static_cast<std::size_t>(md.kv_indptr.back());
    if (keys == 33 && last != 33) buffers.kv_indices[end - 1] = buffers.kv_indices[end - 2];
    last = keys;
  }
  mutable std::int64_t last = 33;
};

}  // namespace

TEST_CASE("P03: every step of a sequence is rebuilt, not the first alone", "[judge][P03]") {
  const RemembersTheLastStep defect;
  const Property& p03 = *find_property("P03");
  for (const char* line : {"mla1:1q1s9+1q1s33", "mla1:1q1s9+1q1s40+1q1s33"}) {
    Subject subject(case_of(line), cpu_backend(), &defect);
    const Outcome outcome = p03.check(subject);
    INFO(line << ": " << outcome.message);
    CHECK(outcome.verdict == Verdict::fail);
    CHECK(outcome.message.find("the step mla1:1q1s33;") != std::string::npos);
  }
  Subject sound(case_of("mla1:1q1s9+1q1s40+1q1s33"), cpu_backend(), nullptr);
  CHECK(p03.check(sound).verdict == Verdict::pass);
}

TEST_CASE("subject: a sequence has no metadata if a later step is refused, and names the step",
          "[judge]") {
  Subject subject(case_of("mla1:1q1s9+1q2s9+1q5s3"), cpu_backend(), nullptr);
  REQUIRE_FALSE(subject.metadata().ok());
  CHECK(subject.metadata().error().message.starts_with("step 2: request 0 has 3 keys for 5"));
  CHECK(subject.metadata().error().bug == "BUG-075");
  // Of its first step alone something can be said.
  Subject first = subject.sibling(case_of("mla1:1q1s9+1q5s3"));
  CHECK(first.metadata().ok());
}

TEST_CASE("subject: a case is executed once, with its schedule seed and footprint", "[judge]") {
  const Counting backend;
  Subject subject(case_of("mla1:2q1s9;sched=77"), backend, nullptr);
  CHECK(compare_with_reference(subject).verdict == Verdict::pass);
  CHECK(subject.result()->footprint.size() > 0);
  CHECK(backend.runs == 1);
  CHECK(backend.last.schedule_seed == 77);
  CHECK(backend.last.record_stages);
}

TEST_CASE("subject: moving it leaves its metadata valid", "[judge]") {
  Subject first(case_of("mla1:2q1s9"), cpu_backend(), nullptr);
  REQUIRE(first.metadata().ok());
  Subject second = std::move(first);
  CHECK(second.metadata()->kv_indptr.back() == 18);
  CHECK(compare_with_reference(second).verdict == Verdict::pass);
}

TEST_CASE("subject: a stage's error comes back from every later stage", "[judge]") {
  Subject subject(case_of("mla1:1q1s9;dtype=fp8/bf16"), cpu_backend(), nullptr);
  REQUIRE_FALSE(subject.shape().ok());
  const std::string why = subject.shape().error().message;
  CHECK(subject.metadata().error().message == why);
  CHECK(subject.result().error().message == why);
  CHECK(subject.tensors().ok());
  CHECK(compare_with_reference(subject).verdict == Verdict::skip);
}

TEST_CASE("subject: a planted defect shows, and the reference does not follow it", "[judge]") {
  const Case c = case_of("mla1:2q1s40;heads=16;cu=3;gran=1");
  const WrongPage wrong_page;
  const ZeroResult zero;
  const NoiseInCache noise;
  for (const Interposer* planted :
       {static_cast<const Interposer*>(&wrong_page), static_cast<const Interposer*>(&zero),
        static_cast<const Interposer*>(&noise)}) {
    Subject healthy(c, cpu_backend(), nullptr);
    Subject sick(c, cpu_backend(), planted);
    CHECK(compare_with_reference(healthy).verdict == Verdict::pass);
    CHECK(compare_with_reference(sick).verdict == Verdict::fail);
    CHECK(sick.reference()->out == healthy.reference()->out);
  }
}

TEST_CASE("subject: an interposer that plants nothing changes no bit", "[judge]") {
  const Case c = case_of("mla1:1q1s40_1q3s90_1q1s0;heads=64;cu=3;gran=1");
  const Interposer none;
  Subject plain(c, cpu_backend(), nullptr);
  Subject with(c, cpu_backend(), &none);
  CHECK(*plain.metadata()->plan == *with.metadata()->plan);
  CHECK(bitwise_equal(*plain.result(), *with.result(), c.heads));
}

TEST_CASE("subject: a sibling has the same backend and the same defect", "[judge]") {
  const ZeroResult zero;
  const Subject subject(case_of("mla1:1q1s4"), cpu_backend(), &zero);
  Subject sibling = subject.sibling(case_of("mla1:3q1s4"));
  CHECK(sibling.spec().requests.size() == 3);
  CHECK(&sibling.hooks() == &zero);
  CHECK(sibling.backend().device(StepKind::decode) == cpu_backend().device(StepKind::decode));
  CHECK(&sibling.log() == &subject.log());
}
