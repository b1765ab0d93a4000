// Claims about cases that are judged at once on emulated devices, one for each thread.
#include <string>
#include <thread>
#include <vector>

#include "hip_backend/device/open_device.hpp"
#include "hip_backend/device/resources.hpp"
#include "hip_backend/hip_backend.hpp"
#include "hip_backend/kernels/code_objects.hpp"
#include "properties/judge/runner.hpp"
#include "tests/properties/judge_support.hpp"

using namespace mla;
using namespace mla::prop;

namespace {

std::shared_ptr<hip::Device> devices(Arch arch, const hip::EmulatedOptions& options) {
  auto device = hip::open_device("emulated:" + std::string(name(arch)), options);
  REQUIRE(device.ok());
  return std::move(*device);
}
hip::EmulatedOptions for_each_thread() {
  return {.run = {.threads = 1}, .one_for_each_thread = true};
}

// Launches, and fails where a case has more than 45 keys.
constexpr Property kFewKeys{"T1", "few_keys", "No case has more than 45 keys.", [](Subject& s) {
                              static_cast<void>(s.result());
                              std::int64_t keys = 0;
                              for (const RequestSpec& r : s.spec().requests) keys += r.kv_len;
                              return keys > 45 ? failed(std::to_string(keys) + " keys") : passed();
                            }};

std::string text_of(const RunReport& report) {
  std::string out;
  for (const PropertyTally& t : report.tallies)
    out += std::to_string(t.ran) + " " + std::to_string(t.skipped) + " " +
           std::to_string(t.failed) + " " + std::to_string(t.launches) + "\n";
  for (const std::string& line : report.launches.lines()) out += line + "\n";
  for (const Failure& failure : report.failures) out += failure_block(failure);
  return out;
}

}  // namespace

TEST_CASE("devices for each thread: memory of another thread is no memory of one's own", "[hip]") {
  for (const bool separate : {true, false}) {
    const auto device =
        devices(Arch::gfx942, separate ? for_each_thread() : hip::EmulatedOptions{});
    const auto memory = hip::Buffer::filled(*device, "of the first", 64, 7);
    REQUIRE(memory.ok());
    const auto readable = [&] {
      std::byte bytes[4];
      return !device->copy_out(memory->address(), bytes).has_value();
    };
    bool for_another = false;
    std::thread([&] { for_another = readable(); }).join();
    CHECK(readable());
    CHECK(for_another != separate);
  }
}

TEST_CASE("cases at once: on emulated devices the report is that of one case after the other",
          "[judge]") {
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    if (hip::code_object(name(arch), "decode").empty()) continue;
    RunOptions options;
    options.properties = {find_property("P05"), find_property("P18"), &kFewKeys};
    for (int keys = 1; keys <= 60; keys += 7)
      options.cases.push_back(case_of("mla1:1q1s" + std::to_string(keys) +
                                      "_1q3s5;cu=2;heads=8;arch=" + std::string(name(arch))));
    options.workers = 1;
    const auto alone = hip::make_hip_backend(devices(arch, {}), {});
    options.backend = alone.get();
    const std::string expected = text_of(run_properties(options));
    CHECK(expected.find("FAIL T1") != std::string::npos);
    CHECK(expected.find("hip on emulated") != std::string::npos);
    const auto together = hip::make_hip_backend(devices(arch, for_each_thread()), {});
    options.backend = together.get();
    for (const int workers : {2, 5}) {
      options.workers = workers;
      CHECK(text_of(run_properties(options)) == expected);
    }
  }
}
