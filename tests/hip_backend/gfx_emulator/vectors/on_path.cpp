#include "on_path.hpp"

#include <span>

#include "tests/catch.hpp"
#include "tests/hip_backend/gfx_emulator/elf_writer.hpp"

namespace gfx_test {
namespace {

constexpr unsigned address = vgpr + 1;

// Loads or stores a register, and goes to the next row.
Words step(unsigned op, encode::Flat fields) {
  fields.address = address, fields.saddr = 2;
  return join({encode::flat(op, encode::Segment::global, fields),
               encode::vop2(0x34, address, literal, address),  // v_add_u32
               {OnPath::threads * 4}});
}

Words kernel(const Words& operation, const OnPath::Options& o) {
  std::vector<Words> parts = {encode::smem(1, {.data = 2, .base = 0, .offset = 0}),
                              encode::vop2(0x12, address, zero + 2, vgpr), encode::sopp(12, 0)};
  for (unsigned k = 0; k < o.sources; ++k) parts.push_back(step(0x14, {.dst = OnPath::first + k}));
  parts.push_back(encode::sopp(12, 0));
  parts.push_back(operation);
  for (unsigned k = 0; k < o.results; ++k) parts.push_back(step(0x1c, {.data = o.result + k}));
  parts.push_back(encode::sopp(1, 0));
  return join(parts);
}

}  // namespace

OnPath::OnPath(mla::gfx::HostPath path, const Words& operation, const Options& options)
    : results_(options.results),
      object_(*mla::gfx::load_code_object(
          write_elf({.words = kernel(operation, options),
                     .machine = options.arch == mla::gfx::Arch::gfx942 ? 0x54cU : 0x54fU,
                     .float_mode = options.mode}),
          {.path = path})) {}

Rows OnPath::run(Rows data) const {
  const std::size_t sources = data.size();
  data.resize(sources + std::size_t{results_} * threads);
  mla::gfx::Memory memory;
  const auto bytes = std::as_writable_bytes(std::span(data));
  REQUIRE(!memory.add(bytes, "data", mla::gfx::Rights::read_write));
  const std::byte* const argument = bytes.data();
  const auto report = mla::gfx::run(object_,
                                    {.kernel = "hand",
                                     .block = {threads, 1, 1},
                                     .kernarg = std::as_bytes(std::span(&argument, 1)),
                                     .options = {.threads = 1}},
                                    memory);
  REQUIRE(report);
  REQUIRE(report->faults.empty());
  return {data.begin() + static_cast<std::ptrdiff_t>(sources), data.end()};
}

}  // namespace gfx_test
