// Device code as a program brings it: a code object, or bitcode of which each kernel is compiled
// when it is launched for the first time. Private to hip_runtime.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "hip_backend/gfx_emulator/load.hpp"

namespace mla::hip_runtime {

// What hipcc embeds in place of a code object where MLA_TESTBED_LAZY_KERNELS is set: this word,
// then `arch NAME` and `compiler PATH` on a line each, lines for that compiler, an empty line, and
// the bitcode.
inline constexpr std::string_view kBitcode = "MLA-TESTBED BITCODE 1\n";

class Unit {
 public:
  // Code that cannot run, and why: said when a kernel of it is launched.
  explicit Unit(Error refused) : refused_(std::move(refused)) {}
  // Fails as load_code_object() does; usage for bitcode without its lines.
  static Result<Unit> of(std::span<const std::byte> code);

  // Nothing for code that cannot run.
  [[nodiscard]] std::optional<gfx::Arch> arch() const;
  // The object that has this kernel, compiled now if it is not yet. It stays where it is as long as
  // this does. Fails: usage without such a kernel, else with the compiler's first error.
  Result<const gfx::CodeObject*> code_of(const std::string& kernel);
  // Empty if there is none, or if the code is bitcode.
  [[nodiscard]] std::span<std::byte> variable(const std::string& name) const;
  // What is loaded so far.
  [[nodiscard]] std::vector<const gfx::CodeObject*> objects() const;

 private:
  struct Bitcode {
    gfx::Arch arch;
    std::string compiler;
    std::span<const std::byte> entry;  // with its lines; stays in the program
  };
  explicit Unit(gfx::CodeObject whole) : whole_(std::move(whole)) {}
  explicit Unit(Bitcode bitcode) : bitcode_(std::move(bitcode)) {}

  std::optional<Error> refused_;
  std::optional<gfx::CodeObject> whole_;
  std::optional<Bitcode> bitcode_;
  std::map<std::string, gfx::CodeObject> compiled_;  // by kernel
};

}  // namespace mla::hip_runtime
