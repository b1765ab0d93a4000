// No operation executes without a vector.
#include <map>
#include <set>

#include "control.hpp"
#include "families.hpp"
#include "tests/catch.hpp"

using namespace gfx_test;
using mla::gfx::Arch;
using mla::gfx::HostPath;
using mla::gfx::Operations;

namespace {

// Operations that leave nothing behind that a vector could expect, and why.
const std::map<std::string, std::string> without_vectors = {
    {"s_nop", "time only"},
    {"s_sleep", "time only"},
    {"s_wakeup", "ends a sleep, which takes no time here"},
    {"s_setprio", "the order of waves is the schedule's"},
    {"s_waitcnt", "memory answers at once; the wait checks have tests of their own"},
    {"s_sethalt", "halts for a debugger, which is not there"},
    {"s_sendmsg", "nobody listens"},
    {"s_sendmsghalt", "nobody listens"},
    {"s_icache_inv", "no caches"},
    {"s_dcache_inv", "no caches"},
    {"s_dcache_inv_vol", "no caches"},
    {"s_dcache_wb", "no caches"},
    {"s_dcache_wb_vol", "no caches"},
    {"buffer_inv", "no caches"},
    {"buffer_wbl2", "no caches"},
    {"v_nop", "does nothing"},
    {"v_clrexcp", "no exceptions"},
};

std::set<std::string> covered(Arch arch) {
  std::set<std::string> names;
  for (const Family& family : all_families()) {
    for (const Vector& vector : family.vectors(arch)) names.insert(vector.operation);
  }
  for (const Control& control : all_controls()) names.insert(control.operation);
  return names;
}

}  // namespace

TEST_CASE("every implemented operation has vectors") {
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    const std::set<std::string> names = covered(arch);
    const Operations& operations = Operations::of(arch, HostPath::portable);
    std::size_t implemented = 0;
    std::string missing;
    for (unsigned n = 0; n < operations.size(); ++n) {
      const auto& operation = operations.at(n);
      std::vector<std::string> forms;
      if (operation.run != nullptr) forms.push_back(operation.name);
      if (operation.run_lds != nullptr) forms.push_back(operation.name + " lds");
      implemented += forms.size();
      for (const std::string& form : forms) {
        if (!names.contains(form) && !without_vectors.contains(form)) missing += " " + form;
      }
      const bool same =
          operation.run == nullptr == (Operations::of(arch, HostPath::avx2).at(n).run == nullptr);
      REQUIRE(same);
    }
    INFO("without vectors:" << missing);
    REQUIRE(missing.empty());
    REQUIRE(implemented > 980);
    for (const auto& [name, reason] : without_vectors) {
      INFO(name << ": " << reason);
      REQUIRE(operations.named(name) >= 0);
      REQUIRE(!names.contains(name));
    }
    // No vector is for an operation that does not execute.
    REQUIRE(implemented == names.size() + without_vectors.size());
  }
}
