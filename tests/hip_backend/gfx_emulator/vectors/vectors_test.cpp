// Every operation against arithmetic of its own, on both host paths of both architectures.
#include <catch2/catch.hpp>

#include "families.hpp"
#include "runner.hpp"

using namespace gfx_test;

TEST_CASE("vectors of SOP1, SOP2, SOPK and SOPC hold") {
  check_everywhere(sop_vectors);
}
TEST_CASE("vectors of VOP1 hold") {
  check_everywhere(vop1_vectors);
}
TEST_CASE("vectors of VOP2 hold") {
  check_everywhere(vop2_vectors);
}
TEST_CASE("vectors of VOP3 hold: integers") {
  check_everywhere(vop3_integer_vectors);
}
TEST_CASE("vectors of VOP3 hold: floating point") {
  check_everywhere(vop3_float_vectors);
}
TEST_CASE("vectors of VOPC hold") {
  check_everywhere(vopc_vectors);
}
TEST_CASE("vectors of carries, selections and division steps hold") {
  check_everywhere(mask_vectors);
}
TEST_CASE("vectors of packed operations hold") {
  check_everywhere(packed_vectors);
}
TEST_CASE("vectors of dot products and mixed multiply-adds hold") {
  check_everywhere(dot_vectors);
}
TEST_CASE("vectors of operations between lanes hold") {
  check_everywhere(lane_vectors);
}
TEST_CASE("vectors of SDWA and DPP hold") {
  check_everywhere(extended_vectors);
}
TEST_CASE("vectors of DS hold") {
  check_everywhere(ds_vectors);
}
TEST_CASE("vectors of DS between lanes hold") {
  check_everywhere(ds_lane_vectors);
}
TEST_CASE("vectors of FLAT, GLOBAL and MUBUF hold") {
  check_everywhere(vmem_vectors);
}
TEST_CASE("vectors of atomics of memory hold") {
  check_everywhere(vmem_atomic_vectors);
}
TEST_CASE("vectors of SCRATCH hold") {
  check_everywhere(scratch_vectors);
}
TEST_CASE("vectors of loads to LDS hold") {
  check_everywhere(to_lds_vectors);
}
TEST_CASE("vectors of SMEM hold") {
  check_everywhere(smem_vectors);
}
TEST_CASE("vectors of matrix instructions hold") {
  check_everywhere(matrix_vectors);
}
TEST_CASE("vectors of branches, jumps and modes hold") {
  check_everywhere(flow_vectors);
}
