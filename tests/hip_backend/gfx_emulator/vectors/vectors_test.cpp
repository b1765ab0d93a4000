// Every operation against arithmetic of its own, on every host path of both architectures.
#include "control.hpp"
#include "families.hpp"
#include "hip_backend/gfx_emulator/exec/handlers.hpp"
#include "runner.hpp"
#include "tests/catch.hpp"

using namespace gfx_test;
using mla::gfx::Arch;
using mla::gfx::HostPath;

TEST_CASE("the vectors of every family hold") {
  const auto family = GENERATE(from_range(all_families().begin(), all_families().end()));
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    const Vectors vectors = family.vectors(arch);
    INFO(family.name << (arch == Arch::gfx942 ? ", gfx942" : ", gfx950"));
    for (const HostPath path : mla::gfx::every_host_path)
      if (mla::gfx::has_host_path(path)) check(vectors, arch, path);
  }
}

TEST_CASE("waves end, stop and wait where they must") {
  for (const Control& control : all_controls()) {
    for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
      for (const HostPath path : mla::gfx::every_host_path) {
        if (!mla::gfx::has_host_path(path)) continue;
        INFO(control.operation << ": " << control.claim);
        REQUIRE(control.holds(arch, path));
      }
    }
  }
}
