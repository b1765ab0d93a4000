// Lines of inlined code: the user's first, then that of the header.
#include <fstream>
#include <iterator>
#include <optional>

#include "hip_backend/gfx_emulator/load.hpp"
#include "tests/catch.hpp"

using namespace mla::gfx;

namespace {

CodeObject object_with_lines(const std::string& format) {
  std::ifstream file(std::string(MLA_GFX_KERNELS) + "/inlined." + format + ".co", std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  auto object = load_code_object(std::as_bytes(std::span(bytes)), {});
  INFO(format << ": " << (object ? "" : object.error().message));
  REQUIRE(object);
  return std::move(object).value();
}

// Of the first instruction whose name begins so.
std::optional<SourceLine> line_of(const CodeObject& object, const std::string& name) {
  for (const Inst& inst : object.instructions()) {
    if (object.operations().at(inst.op).name.starts_with(name)) return object.source(inst.at);
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("code from a header of HIP has the line of the user's that called it, and its own") {
  const std::string format = GENERATE("dwarf5", "dwarf4", "lines");
  INFO(format);
  const CodeObject object = object_with_lines(format);
  const auto atomic = line_of(object, "global_atomic_add");
  REQUIRE(atomic);
  CHECK(atomic->text().ends_with("kernels/inlined.hip:5"));
  CHECK(atomic->inlined.ends_with("kernels/hip/inlined.h:7"));
  CHECK(atomic->full_text().find("inlined.hip:5, inlined from ") != std::string::npos);
  const auto store = line_of(object, "global_store_dword");
  REQUIRE(store);
  CHECK(store->text().ends_with("kernels/inlined.hip:6"));
  CHECK(store->inlined.empty());
}
