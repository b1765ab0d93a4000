// No operation executes without a vector.
#include <map>
#include <set>

#include "control.hpp"
#include "families.hpp"
#include "hip_backend/gfx_emulator/exec/handlers.hpp"
#include "tests/catch.hpp"

using namespace gfx_test;
using mla::gfx::Arch;
using mla::gfx::HostPath;
using mla::gfx::Operations;

namespace {

// Operations that change nothing that a vector could expect, and why.
const std::map<std::string, std::string> without_vectors = {
    {"s_nop", "time only"},
    {"s_sleep", "time only"},
    {"s_wakeup", "ends a sleep, which takes no time here"},
    {"s_setprio", "the order of waves is the schedule's"},
    {"s_waitcnt", "memory answers at once; the wait checks have tests of their own"},
    {"s_sethalt", "halts for a debugger, which is not there"},
    {"s_sendmsg", "no receiver"},
    {"s_sendmsghalt", "no receiver"},
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
    const Operations& operations = Operations::of(arch);
    std::size_t implemented = 0;
    std::string missing;
    for (unsigned n = 0; n < operations.size(); ++n) {
      const auto& operation = operations.at(n);
      std::vector<std::string> forms;
      const auto handlers = mla::gfx::handlers_of(operation, arch, HostPath::portable);
      if (handlers.run != nullptr) forms.push_back(operation.name);
      if (handlers.run_lds != nullptr) forms.push_back(operation.name + " lds");
      implemented += forms.size();
      for (const std::string& form : forms) {
        if (!names.contains(form) && !without_vectors.contains(form)) missing += " " + form;
      }
      const auto wide = mla::gfx::handlers_of(operation, arch, HostPath::avx2);
      REQUIRE((handlers.run == nullptr) == (wide.run == nullptr));
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

TEST_CASE("SCC and EXEC change in vectors of the operations whose rows say so, and in no others") {
  namespace traits = mla::gfx::traits;
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    const Operations& operations = Operations::of(arch);
    std::set<std::string> scc, exec;
    for (const Family& family : all_families()) {
      for (const Vector& vector : family.vectors(arch)) {
        for (const Expected& e : vector.after) {
          const bool flag = e.where == Expected::Where::scc;
          if (flag && (e.values[0] != 0) != vector.before.scc) scc.insert(vector.operation);
          if (e.where == Expected::Where::exec && e.values[0] != vector.before.exec)
            exec.insert(vector.operation);
        }
      }
    }
    for (unsigned n = 0; n < operations.size(); ++n) {
      const auto& operation = operations.at(n);
      // Vectors of branches and clocks have more instructions than the one under test.
      const bool alone =
          operation.kind != mla::gfx::Class::branch && !operation.name.starts_with("s_mem");
      if (!alone) continue;
      INFO(operation.name);
      CHECK(scc.contains(operation.name) == operation.has(traits::scc_out));
      const bool to_exec = operation.has(traits::exec_out) || operation.has(traits::with_exec);
      const bool keeps_it = operation.name.starts_with("v_cmpx_t");  // true for every lane
      CHECK(exec.contains(operation.name) == (to_exec && !keeps_it));
    }
  }
}
