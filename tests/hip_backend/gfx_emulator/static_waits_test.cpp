// Missing waits along all paths: small programs in machine words, each with what must be found.
#include "hip_backend/gfx_emulator/check/static_waits.hpp"
#include "hip_backend/gfx_emulator/load.hpp"

#include <vector>

#include "elf_writer.hpp"
#include "tests/catch.hpp"

namespace {

using mla::gfx::load_code_object;
using mla::gfx::MissingWait;
using mla::gfx::StaticReport;
using Words = std::vector<std::uint32_t>;

// Pieces of programs. v[2:3] is an address, v1 or v5 takes what is loaded.
const Words load_v1 = {0xdc508000, 0x017f0002}, load_v5 = {0xdc508000, 0x057f0002};
const Words load_v1_from_v1 = {0xdc508000, 0x017f0000};  // address v[0:1]
const Words flat_v1 = {0xdc500000, 0x01000002}, lds_v1 = {0xd86c0000, 0x01000000};
const Words lds_v5 = {0xd86c0000, 0x05000000}, store_v6 = {0xdc708000, 0x007f0602};
const Words scalar_s4 = {0xc0020100, 0};
const Words use_v1 = {0x7e080301}, set_v1 = {0x7e020280}, use_s4 = {0xbe850004};
const Words vm0 = {0xbf8c0f70}, vm1 = {0xbf8c0f71}, vm2 = {0xbf8c0f72}, lgkm0 = {0xbf8cc07f};
const Words lgkm1 = {0xbf8cc17f}, both0 = {0xbf8c0070}, end = {0xbf810000}, nop = {0xbf800000};
const Words gpr_index_on = {0xbf118006}, gpr_index_off = {0xbf9c0000};
const Words leave = {0xbe801d1e}, call = {0xbe9e1e04};  // s_setpc_b64 and s_swappc_b64

Words branch(int words) {
  return {0xbf820000 | (static_cast<std::uint32_t>(words) & 0xffff)};
}
Words branch_if(int words) {
  return {0xbf850000 | (static_cast<std::uint32_t>(words) & 0xffff)};
}

Words call_over(int words) {  // s_call_b64 s[30:31]
  return {0xba9e0000 | (static_cast<std::uint32_t>(words) & 0xffff)};
}

StaticReport report_of(const std::vector<Words>& parts) {
  Words words;
  for (const Words& part : parts) words.insert(words.end(), part.begin(), part.end());
  const auto object = load_code_object(gfx_test::write_elf({.words = words}), {});
  INFO((object ? "" : object.error().message));
  REQUIRE(object);
  return mla::gfx::check_waits(*object, object->kernels()[0]);
}

// "8<-0 s_waitcnt vmcnt(0) v1": offsets from the kernel's begin.
std::vector<std::string> found(const std::vector<Words>& parts) {
  Words words;
  for (const Words& part : parts) words.insert(words.end(), part.begin(), part.end());
  const auto object = load_code_object(gfx_test::write_elf({.words = words}), {});
  INFO((object ? "" : object.error().message));
  REQUIRE(object);
  const auto& kernel = object->kernels()[0];
  std::vector<std::string> out;
  for (const MissingWait& m : mla::gfx::check_waits(*object, kernel).missing) {
    out.push_back(std::to_string(m.use - kernel.entry) + "<-" +
                  std::to_string(m.load - kernel.entry) + " " + m.wait + " " + m.registers +
                  (m.overwritten ? " overwritten" : ""));
  }
  return out;
}
using Found = std::vector<std::string>;

}  // namespace

TEST_CASE("a load that is used without a wait is found, with the wait that it needs") {
  CHECK(found({load_v1, use_v1, end}) == Found{"8<-0 s_waitcnt vmcnt(0) v1"});
  CHECK(found({load_v1, load_v5, use_v1, end}) == Found{"16<-0 s_waitcnt vmcnt(1) v1"});
  CHECK(found({load_v1, store_v6, load_v5, vm1, use_v1, end}).empty());
  CHECK(found({load_v1, load_v5, vm2, use_v1, end}) == Found{"20<-0 s_waitcnt vmcnt(1) v1"});
  CHECK(found({lds_v1, lds_v5, use_v1, end}) == Found{"16<-0 s_waitcnt lgkmcnt(1) v1"});
  CHECK(found({scalar_s4, use_s4, end}) == Found{"8<-0 s_waitcnt lgkmcnt(0) s4"});
  CHECK(found({load_v1, load_v1_from_v1, vm0, end}) == Found{"8<-0 s_waitcnt vmcnt(0) v[0:1]"});
}

TEST_CASE("a wait covers the loads of its counter, and no others") {
  CHECK(found({load_v1, vm0, use_v1, end}).empty());
  CHECK(found({load_v1, lgkm0, use_v1, end}).size() == 1);
  CHECK(found({lds_v1, lgkm0, use_v1, end}).empty());
  CHECK(found({lds_v1, vm0, use_v1, end}).size() == 1);
  CHECK(found({lds_v1, lds_v5, lgkm1, use_v1, end}).empty());
  CHECK(found({scalar_s4, lgkm0, use_s4, end}).empty());
  CHECK(found({scalar_s4, lgkm1, use_s4, end}).size() == 1);
}

TEST_CASE("flat loads need both counts") {
  const Found both = {"12<-0 s_waitcnt vmcnt(0) lgkmcnt(0) v1"};
  CHECK(found({flat_v1, vm0, use_v1, end}) == both);
  CHECK(found({flat_v1, lgkm0, use_v1, end}) == both);
  CHECK(found({flat_v1, both0, use_v1, end}).empty());
  CHECK(found({flat_v1, vm0, lgkm0, use_v1, end}).empty());
  CHECK(found({flat_v1, load_v5, vm1, use_v1, end}).size() == 1);
}

TEST_CASE("a register may be taken over by a later load of the same kind only") {
  CHECK(found({load_v1, set_v1, end}) == Found{"8<-0 s_waitcnt vmcnt(0) v1 overwritten"});
  CHECK(found({load_v1, load_v1, vm0, use_v1, end}).empty());
  CHECK(found({lds_v1, lds_v1, lgkm0, use_v1, end}).empty());
  CHECK(found({lds_v1, load_v1, both0, end}) == Found{"8<-0 s_waitcnt lgkmcnt(0) v1 overwritten"});
  CHECK(found({load_v1, lds_v1, both0, end}) == Found{"8<-0 s_waitcnt vmcnt(0) v1 overwritten"});
}

TEST_CASE("one path without the wait is enough, wherever it joins the others") {
  // Over the wait, or through it.
  CHECK(found({load_v1, branch_if(1), vm0, use_v1, end}) == Found{"16<-0 s_waitcnt vmcnt(0) v1"});
  CHECK(found({load_v1, vm0, branch_if(1), nop, use_v1, end}).empty());
  // A second load on one path only: what counts is the path with fewer younger loads.
  CHECK(found({load_v1, branch_if(2), load_v5, vm1, use_v1, end}) ==
        Found{"24<-0 s_waitcnt vmcnt(0) v1"});
  // The same with blocks after the join, whichever arm the search takes first.
  CHECK(found({load_v1, branch_if(2), load_v5, branch_if(1), nop, vm1, use_v1, end}) ==
        Found{"32<-0 s_waitcnt vmcnt(0) v1"});
  CHECK(found({load_v1, branch_if(1), branch(2), load_v5, branch_if(1), nop, vm1, use_v1, end}) ==
        Found{"36<-0 s_waitcnt vmcnt(0) v1"});
  // Both arms wait.
  CHECK(found({load_v1, branch_if(2), vm0, branch(1), vm0, use_v1, end}).empty());
  // What no path reaches is not looked at.
  CHECK(found({load_v1, branch(1), use_v1, vm0, end}).empty());
}

TEST_CASE(
    "a load on one arm only is outstanding in the blocks after the join, whichever comes first") {
  // Over the load or through it, then another branch, then the use.
  CHECK(found({branch_if(2), load_v1, branch_if(1), nop, use_v1, end}) ==
        Found{"20<-4 s_waitcnt vmcnt(0) v1"});
  CHECK(found({branch_if(1), branch(2), load_v1, branch_if(1), nop, use_v1, end}) ==
        Found{"24<-8 s_waitcnt vmcnt(0) v1"});
}

TEST_CASE("what follows a call, and what it leads to, is looked at") {
  CHECK(found({call, load_v1, use_v1, end}) == Found{"12<-4 s_waitcnt vmcnt(0) v1"});
  // The target of s_call_b64 is in the instruction: what is outstanding there is in the function.
  CHECK(found({load_v1, call_over(1), end, use_v1, leave}) == Found{"16<-0 s_waitcnt vmcnt(0) v1"});
  CHECK(found({load_v1, call_over(2), use_v1, end, vm0, leave}).empty());
  CHECK(report_of({load_v1, call_over(1), end, use_v1, leave}).calls == 1);
  // Nothing of what a jump to a register skips.
  CHECK(found({leave, load_v1, use_v1, end}).empty());
}

TEST_CASE("a load of the round before is outstanding at the head of a loop") {
  // use; load; loop back.
  CHECK(found({use_v1, load_v1, branch_if(-4), vm0, end}) == Found{"0<-4 s_waitcnt vmcnt(0) v1"});
  CHECK(found({vm0, use_v1, load_v1, branch_if(-5), vm0, end}).empty());
  // Two rounds later: a younger load of each round is after it.
  CHECK(found({vm1, use_v1, load_v1, load_v5, branch_if(-7), vm0, end}).empty());
  CHECK(found({vm2, use_v1, load_v1, load_v5, branch_if(-7), vm0, end}) ==
        Found{"4<-8 s_waitcnt vmcnt(1) v1"});
}

TEST_CASE("a full counter has waited for the oldest load") {
  std::vector<Words> parts = {load_v1};
  for (int k = 0; k < 62; ++k) parts.push_back(load_v5);
  std::vector<Words> full = parts;
  for (auto* const list : {&parts, &full}) {
    if (list == &full) list->push_back(load_v5);
    list->push_back(use_v1);
    list->push_back(vm0);
    list->push_back(end);
  }
  CHECK(found(parts) == Found{"504<-0 s_waitcnt vmcnt(62) v1"});
  CHECK(found(full).empty());
  std::vector<Words> lds = {lds_v1};
  for (int k = 0; k < 14; ++k) lds.push_back(lds_v5);
  std::vector<Words> lds_full = lds;
  lds_full.push_back(lds_v5);
  for (auto* const list : {&lds, &lds_full}) list->insert(list->end(), {use_v1, lgkm0, end});
  CHECK(found(lds) == Found{"120<-0 s_waitcnt lgkmcnt(14) v1"});
  CHECK(found(lds_full).empty());
}

TEST_CASE("what is not followed is counted") {
  CHECK(report_of({load_v1, leave, use_v1, end}).indirect_jumps == 1);
  CHECK(report_of({load_v1, leave, use_v1, end}).missing.empty());
  const StaticReport called = report_of({load_v1, call, use_v1, end});
  CHECK(called.calls == 1);
  CHECK(called.missing.empty());
  const StaticReport indexed = report_of({load_v1, gpr_index_on, use_v1, gpr_index_off, vm0, end});
  CHECK(indexed.indexed == 1);
  CHECK(indexed.missing.empty());
  CHECK(report_of({load_v1, gpr_index_on, gpr_index_off, use_v1, end}).missing.size() == 1);
  CHECK(report_of({load_v1, vm0, end, use_v1}).instructions == 3);
  CHECK(report_of({load_v1, vm0}).ends_in_no_code == 1);
  CHECK(report_of({load_v1, vm0, end}).ends_in_no_code == 0);
}
