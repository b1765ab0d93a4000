// Modules that a program loads itself, and handles that are none.
#include <hip/hip_testbed.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "hip_backend/hip_runtime/runtime.hpp"
#include "program.hpp"
#include "tests/catch.hpp"

namespace hip = mla::hip_runtime;

namespace {

using Ints = std::vector<std::int32_t>;
constexpr std::size_t kThreads = 64;

std::string program() {
  std::ifstream file(MLA_PROGRAM, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void append(std::string& to, std::uint64_t number) {
  to.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// A bundle of nothing for the host and of `code` for `target`, as clang writes it.
std::string bundle(const std::string& target, const std::string& code) {
  const std::string host = "host-x86_64-unknown-linux-gnu-";
  const std::uint64_t begin = 4096;
  std::string out = "__CLANG_OFFLOAD_BUNDLE__";
  append(out, 2);
  for (const auto& [name, size] :
       {std::pair(host, std::uint64_t{0}), std::pair(target, code.size())}) {
    append(out, begin);
    append(out, size);
    append(out, name.size());
    out += name;
  }
  out.resize(begin);
  return out + code;
}

hipModule_t loaded(const void* image) {
  hipModule_t module = nullptr;
  REQUIRE(hipModuleLoadData(&module, image) == hipSuccess);
  return module;
}

// factor * i + offset
Ints expected(std::int32_t factor, std::int32_t offset) {
  Ints out(kThreads);
  std::iota(out.begin(), out.end(), 0);
  for (std::int32_t& value : out) value = factor * value + offset;
  return out;
}

Ints run(hipModule_t module, std::int32_t factor, bool one_block) {
  hipFunction_t function = nullptr;
  REQUIRE(hipModuleGetFunction(&function, module, "module_kernel") == hipSuccess);
  void* device = nullptr;
  REQUIRE(hipMalloc(&device, kThreads * sizeof(std::int32_t)) == hipSuccess);
  struct {
    void* out;
    std::int32_t factor;
  } block{device, factor};
  std::size_t size = sizeof block;
  void* pointers[] = {&block.out, &block.factor};
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &block, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  REQUIRE(hipModuleLaunchKernel(function, 1, 1, 1, kThreads, 1, 1, 0, nullptr,
                                one_block ? nullptr : pointers,
                                one_block ? extra : nullptr) == hipSuccess);
  Ints out(kThreads);
  REQUIRE(hipMemcpy(out.data(), device, kThreads * sizeof(std::int32_t), hipMemcpyDeviceToHost) ==
          hipSuccess);
  REQUIRE(hipFree(device) == hipSuccess);
  return out;
}

std::string only_fault() {
  const auto faults = hip::take_launched().faults;
  REQUIRE(faults.size() == 1);
  return faults.front();
}

}  // namespace

TEST_CASE("a kernel of a module runs, its arguments given one by one or as one block") {
  (void)hip::take_launched();
  hipModule_t module = nullptr;
  REQUIRE(hipModuleLoad(&module, MLA_PROGRAM) == hipSuccess);
  CHECK(run(module, 3, false) == expected(3, 5));
  CHECK(run(module, -7, true) == expected(-7, 5));
  CHECK(hip::take_launched().launches == 2);
  REQUIRE(hipModuleUnload(module) == hipSuccess);
}

TEST_CASE("a kernel of a module that has no arguments is launched without any") {
  const std::string image = program();
  const hipModule_t module = loaded(image.data());
  hipFunction_t function = nullptr;
  REQUIRE(hipModuleGetFunction(&function, module, "count_blocks_kernel") == hipSuccess);
  REQUIRE(hipModuleLaunchKernel(function, 3, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) ==
          hipSuccess);
  void* blocks = nullptr;
  REQUIRE(hipModuleGetGlobal(&blocks, nullptr, module, "module_blocks") == hipSuccess);
  std::int32_t count = 0;
  REQUIRE(hipMemcpy(&count, blocks, sizeof count, hipMemcpyDeviceToHost) == hipSuccess);
  CHECK(count == 3);
  REQUIRE(hipModuleUnload(module) == hipSuccess);
  (void)hip::take_launched();
}

TEST_CASE("each loaded module has variables of its own, and a copy past one is refused") {
  const std::string image = program();
  const hipModule_t first = loaded(image.data()), second = loaded(image.data());
  void* offset = nullptr;
  std::size_t bytes = 0;
  REQUIRE(hipModuleGetGlobal(&offset, &bytes, first, "module_offset") == hipSuccess);
  REQUIRE(bytes == 4);
  const std::int32_t values[2] = {40, 41};
  REQUIRE(hipMemcpy(offset, values, 4, hipMemcpyHostToDevice) == hipSuccess);
  CHECK(run(first, 1, false) == expected(1, 40));
  CHECK(run(second, 1, false) == expected(1, 5));
  REQUIRE(hipModuleUnload(first) == hipSuccess);
  CHECK(run(second, 2, true) == expected(2, 5));
  REQUIRE(hipModuleUnload(second) == hipSuccess);
  (void)hip::take_launched();
}

TEST_CASE("of a bundle the code for the program's architecture is taken") {
  const std::string bytes = bundle("hipv4-amdgcn-amd-amdhsa--" MLA_ARCH, program());
  const hipModule_t module = loaded(bytes.data());
  CHECK(run(module, 2, false) == expected(2, 5));
  REQUIRE(hipModuleUnload(module) == hipSuccess);
  (void)hip::take_launched();
}

TEST_CASE("a bundle without code for this device says what it has code for") {
  const std::string bytes = bundle("hipv4-amdgcn-amd-amdhsa--gfx1100", program());
  hipModule_t module = nullptr;
  REQUIRE(hipModuleLoadData(&module, bytes.data()) == hipErrorInvalidImage);
  CHECK(only_fault().find("only for host-x86_64-unknown-linux-gnu-, hipv4-amdgcn-amd-amdhsa--gfx11"
                          "00") != std::string::npos);
}

TEST_CASE("what is no code object, module, function or kernel is refused with a sentence") {
  (void)hip::take_launched();
  hipModule_t module = nullptr;
  const char text[64] = "this is a text of some length, and no code object at all";
  CHECK(hipModuleLoadData(&module, text) == hipErrorInvalidImage);
  CHECK(only_fault().find("neither a code object nor a bundle") != std::string::npos);
  CHECK(hipModuleLoad(&module, "/nowhere.co") == hipErrorFileNotFound);
  CHECK(only_fault().find("cannot read '/nowhere.co'") != std::string::npos);
  const std::string image = program();
  module = loaded(image.data());
  hipFunction_t function = nullptr;
  CHECK(hipModuleGetFunction(&function, module, "nothing") == hipErrorNotFound);
  CHECK(only_fault().find("no kernel 'nothing'") != std::string::npos);
  REQUIRE(hipModuleGetFunction(&function, module, "module_kernel") == hipSuccess);
  CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr) ==
        hipErrorInvalidValue);
  CHECK(only_fault().find("module_kernel needs its arguments once") != std::string::npos);
  std::size_t short_of_one = 8;
  std::uint64_t block[2] = {};
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, block, HIP_LAUNCH_PARAM_BUFFER_SIZE,
                   &short_of_one, HIP_LAUNCH_PARAM_END};
  CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra) ==
        hipErrorInvalidValue);
  CHECK(only_fault().find("has 12 bytes of arguments, the block 8") != std::string::npos);
  REQUIRE(hipModuleUnload(module) == hipSuccess);
  CHECK(hipModuleUnload(module) == hipErrorInvalidHandle);
  CHECK(only_fault().find("no module that is loaded") != std::string::npos);
  CHECK(hipModuleLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr) ==
        hipErrorInvalidHandle);
  CHECK(only_fault().find("no function of a loaded module") != std::string::npos);
}

TEST_CASE("blocks that have to run together are refused where the device has no room for them") {
  (void)hip::take_launched();
  hipDeviceProp_t properties;
  REQUIRE(hipGetDeviceProperties(&properties, 0) == hipSuccess);
  CHECK(properties.cooperativeLaunch == 1);
  CHECK(hip_program::launch_together(4) == hipSuccess);
  CHECK(hip_program::launch_together(1U << 20) == hipErrorCooperativeLaunchTooLarge);
  CHECK(only_fault().find("1048576 blocks of 64 threads") != std::string::npos);
  hip::set_device({.units = 1});  // four SIMDs of 8 waves
  CHECK(hip_program::launch_together(32) == hipSuccess);
  CHECK(hip_program::launch_together(33) == hipErrorCooperativeLaunchTooLarge);
  CHECK(only_fault().find("33 blocks of 64 threads; 32 fit") != std::string::npos);
  hip::set_device({});
}

TEST_CASE(
    "waves that end before a barrier are a note of what a handle launches, unless asked for") {
  (void)hip::take_launched();
  hip_program::barrier_for_half();
  const auto own = hip::take_launched();
  REQUIRE(own.findings.size() == 1);
  CHECK(own.findings[0].starts_with("divergent-barrier: "));
  CHECK(own.notes.empty());

  const std::string code = program();
  const hipModule_t module = loaded(code.data());
  hipFunction_t function = nullptr;
  REQUIRE(hipModuleGetFunction(&function, module, "barrier_for_half_kernel") == hipSuccess);
  void* device = nullptr;
  REQUIRE(hipMalloc(&device, kThreads * sizeof(std::int32_t)) == hipSuccess);
  void* pointers[] = {&device};
  const auto run_it = [&] {
    REQUIRE(hipModuleLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, nullptr, pointers, nullptr) ==
            hipSuccess);
    return hip::take_launched();
  };
  const auto theirs = run_it();
  CHECK(theirs.findings.empty());
  CHECK(theirs.faults.empty());
  REQUIRE(theirs.notes.size() == 1);
  CHECK(theirs.notes.at("barrier_for_half_kernel").starts_with("divergent-barrier: "));
  Ints out(kThreads);
  REQUIRE(hipMemcpy(out.data(), device, kThreads * sizeof(std::int32_t), hipMemcpyDeviceToHost) ==
          hipSuccess);
  CHECK(out == expected(1, 0));

  // AITER registers its code objects as a program's, and asks for the handle of each.
  hipFunction_t of_stub = nullptr;
  REQUIRE(hipGetFuncBySymbol(&of_stub, hip_program::barrier_for_half_stub()) == hipSuccess);
  std::swap(function, of_stub);
  CHECK(run_it().findings.empty());
  std::swap(function, of_stub);

  REQUIRE(hipTestbedSetRun("barriers", "", "", "") == hipSuccess);
  const auto asked = run_it();
  CHECK(asked.findings.size() == 1);
  CHECK(asked.notes.empty());
  REQUIRE(hipTestbedSetRun("", "", "", "") == hipSuccess);
  REQUIRE(hipFree(device) == hipSuccess);
  REQUIRE(hipModuleUnload(module) == hipSuccess);
}

TEST_CASE("memory of another process is refused by name") {
  (void)hip::take_launched();
  hipIpcMemHandle_t handle;
  CHECK(hipIpcGetMemHandle(&handle, nullptr) == hipErrorNotSupported);
  CHECK(only_fault() == "hipIpcGetMemHandle: one process has the device");
}

TEST_CASE("a pointer into an allocation knows where it begins") {
  void *device = nullptr, *begin = nullptr;
  REQUIRE(hipMalloc(&device, 4096) == hipSuccess);
  CHECK(hipPointerGetAttribute(&begin, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR,
                               static_cast<char*>(device) + 100) == hipSuccess);
  CHECK(begin == device);
  REQUIRE(hipFree(device) == hipSuccess);
  CHECK(hipPointerGetAttribute(&begin, HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR, device) ==
        hipErrorInvalidValue);
}
