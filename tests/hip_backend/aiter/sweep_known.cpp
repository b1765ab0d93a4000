#include "tests/hip_backend/aiter/sweep.hpp"

namespace mla::hip::aiter::test {
namespace {

constexpr Known kKnown[] = {
    {Arch::gfx942, "none", "", "", "", ""},
};

}  // namespace

const Known* known_of(Arch arch, const ManifestRow& row, const std::string& line) {
  for (const Known& known : kKnown)
    if (known.arch == arch && row.file.find(known.kernel) != std::string::npos &&
        line.find(known.where) != std::string::npos)
      return &known;
  return nullptr;
}

}  // namespace mla::hip::aiter::test
