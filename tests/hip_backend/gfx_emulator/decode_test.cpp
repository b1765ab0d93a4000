// The decoder: words of every encoding against their text, and what the tables do not execute.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "hip_backend/gfx_emulator/exec/handlers.hpp"
#include "hip_backend/gfx_emulator/isa/decode.hpp"
#include "hip_backend/gfx_emulator/isa/format.hpp"
#include "hip_backend/gfx_emulator/isa/registers.hpp"
#include "tests/catch.hpp"

using mla::gfx::Arch;
using mla::gfx::HostPath;
using mla::gfx::Operations;

namespace {

struct Sample {
  std::vector<std::uint32_t> words;
  std::string text;
};

const std::vector<Sample> samples = {
    {{0xbe8500ff, 0x12345678}, "s_mov_b32 s5, 0x12345678"},
    {{0x8005c306}, "s_add_u32 s5, s6, -3"},
    {{0xbf04c003}, "s_cmp_lt_i32 s3, 64"},
    {{0xb007fff0}, "s_movk_i32 s7, 0xfff0"},
    {{0xbf8c0073}, "s_waitcnt vmcnt(3) lgkmcnt(0)"},
    {{0xc00a0201, 0x00000040}, "s_load_dwordx4 s[8:11], s[2:3], 0x40"},
    {{0xc0024201, 0x12000010}, "s_load_dword s8, s[2:3], s9 offset:0x10"},
    {{0x020204f0}, "v_add_f32 v1, 0.5, v2"},
    {{0x30020702, 0x3f800000}, "v_fmaak_f32 v1, v2, v3, 0x3f800000"},
    {{0x32020702}, "v_add_co_u32 v1, vcc, v2, v3"},
    {{0x7d980501}, "v_cmp_gt_u32 vcc, v1, v2"},
    {{0xd0cc000a, 0x00000501}, "v_cmp_gt_u32 s[10:11], v1, s2"},
    {{0xd1000001, 0x00120702}, "v_cndmask_b32 v1, v2, v3, s[4:5]"},
    {{0x7e0202fa, 0xff015702}, "v_mov_b32 v1, v2 row_newbcast:7 row_mask:0xf bank_mask:0xf"},
    {{0x7e04acf9, 0x00050601}, "v_cvt_pk_f32_fp8 v[2:3], v1 src0_sel:WORD_1"},
    {{0x7e0a0501}, "v_readfirstlane_b32 s5, v1"},
    {{0xd3d84001, 0x18000102}, "v_accvgpr_read_b32 v1, a2"},
    {{0xd3d94002, 0x18000101}, "v_accvgpr_write_b32 a2, v1"},
    {{0xd1cb0201, 0x24120702}, "v_fma_f32 v1, -v2, |v3|, v4"},
    {{0xd2800000, 0x40020902}, "v_add_f64 v[0:1], v[2:3], -v[4:5]"},
    {{0xd1e80400, 0x041a0702}, "v_mad_u64_u32 v[0:1], s[4:5], v2, v3, v[6:7]"},
    {{0xd3b04000, 0x14180902}, "v_pk_fma_f32 v[0:1], v[2:3], s[4:5], v[6:7] op_sel_hi:[0,1,1]"},
    {{0xd38f4001, 0x18020702}, "v_pk_add_f16 v1, v2, v3"},
    {{0xd3e18000, 0x14020d04}, "v_mfma_f32_16x16x16_bf16 a[0:3], v[4:5], a[6:7], a[0:3]"},
    {{0xd3cc0000, 0x02022510}, "v_mfma_f32_32x32x8_f16 v[0:15], v[16:17], v[18:19], 0"},
    {{0xdbfe0400, 0x04000002}, "ds_read_b128 a[4:7], v2 offset:1024"},
    {{0xd81c0904, 0x00030201}, "ds_write2_b32 v1, v2, v3 offset0:4 offset1:9"},
    {{0xd87e0000, 0x01000302}, "ds_bpermute_b32 v1, v2, v3"},
    {{0xdc5c9ff0, 0x04020001}, "global_load_dwordx4 v[4:7], v1, s[2:3] offset:-16"},
    {{0xdc688004, 0x007f0502}, "global_store_short v[2:3], v5, off offset:4"},
    {{0xdd098000, 0x017f0502}, "global_atomic_add v1, v[2:3], v5, off sc0"},
    {{0xdc400000, 0x01000002}, "flat_load_ubyte v1, v[2:3]"},
    {{0xdc704008, 0x00030100}, "scratch_store_dword off, v1, s3 offset:8"},
    {{0xdc506000, 0x017f0002}, "scratch_load_dword v1, v2, off"},
    {{0xe05c1030, 0x02820004}, "buffer_load_dwordx4 a[0:3], v4, s[8:11], s2 offen offset:48"},
    {{0xe0511000, 0x80020004}, "buffer_load_dword v4, s[8:11], 0 offen lds"},
    {{0xbf110905}, "s_set_gpr_idx_on s5, gpr_idx(SRC0,DST)"},
    {{0xba000901, 0x00000003}, "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3"},
};

}  // namespace

TEST_CASE("words of every encoding decode to their text and length") {
  const Operations& operations = Operations::of(Arch::gfx942);
  for (const Sample& sample : samples) {
    auto words = sample.words;
    words.push_back(0xbf810000);
    const auto inst = mla::gfx::decode(operations, words, 64);
    INFO(sample.text);
    REQUIRE(inst.ok());
    REQUIRE(inst->words == sample.words.size());
    REQUIRE(mla::gfx::disassemble(operations, *inst) == sample.text);
  }
}

TEST_CASE("operands that leave their register file, or have no meaning, are no instruction") {
  const Operations& operations = Operations::of(Arch::gfx950);
  const std::vector<std::vector<std::uint32_t>> leaving = {
      {0xdc5c8000, 0xfe7f0002},  // global_load_dwordx4 v[254:257]
      {0xdc5c8000, 0xfeff0002},  // the same with a[254:257]
      {0xdbfe0400, 0xfe000002},  // ds_read_b128 a[254:257]
      {0xc0061fc1, 0x00000000},  // s_load_dwordx2 s[127:128]
      {0xd3e18000, 0x14020dff},  // v_mfma_f32_16x16x16_bf16 with A in v[255:256]
      {0x7e00a205, 0x00000000},  // v_swap_b32 v0, s5
      {0xbe8000d1, 0x00000000},  // s_mov_b32 s0 from source 209, which is reserved
      {0x7e0002ef, 0x00000000},  // v_mov_b32 v0 from 239
      {0xbe8000fe, 0x00000000},  // s_mov_b32 s0 from 254
      {0xd1010000, 0x000202f9},  // v_add_f32 v0 from 249, the mark of SDWA, in VOP3
      {0x7e0030fa, 0xff011180},  // v_ceil_f64 of another lane's 64 bits: row_shr
      {0xd11c0004, 0x06f30980},  // v_addc_co_u32 with its carry in v[188:189]
      {0x7e00a450, 0x00000000},  // v_accvgpr_mov_b32 a0, s80
      {0xd3d84010, 0x18000000},  // v_accvgpr_read_b32 v16, s0
      {0xd2520014, 0x041a140c},  // v_cvt_scalef32_2xpk16_fp6_f32 from s[12:27]
      {0xd23e0000, 0x04160802},  // v_cvt_scalef32_sr_pk_fp4_f32 from s[2:3]
      // v_mfma_scale: the matrix instruction does not say that it takes the scales
      {0xd3ac0000, 0x00023f14, 0xd3ad0000, 0x04121904},
  };
  for (const auto& words : leaving) {
    const auto inst = mla::gfx::decode(operations, words, 0x40);
    INFO(std::hex << words[0] << " " << words[1]);
    REQUIRE(!inst.ok());
    REQUIRE(inst.error().message.find("0x40") != std::string::npos);
  }
  // With the bit it is one, and one register less fits.
  REQUIRE(
      mla::gfx::decode(
          operations, std::vector<std::uint32_t>{0xd3ac0000, 0x00023f14, 0xd3ad0800, 0x04121904}, 0)
          .ok());
  REQUIRE(mla::gfx::decode(operations, std::vector<std::uint32_t>{0xdc5c8000, 0xfc7f0002}, 0).ok());
  REQUIRE(mla::gfx::decode(operations, std::vector<std::uint32_t>{0x7e00a305, 0}, 0).ok());
}

TEST_CASE("a sparse matrix instruction reads its destination too, all of it") {
  const Operations& operations = Operations::of(Arch::gfx942);
  // v_smfmac_f32_16x16x32_f16 a[8:11], v[4:5], v[6:9], v1
  const auto inst =
      mla::gfx::decode(operations, std::vector<std::uint32_t>{0xd3e28008, 0x04060d04}, 0);
  REQUIRE(inst.ok());
  REQUIRE(inst->src[3] == mla::gfx::code::agpr + 8);
  REQUIRE(mla::gfx::source_width(*inst, 3) == 4);
  REQUIRE(inst->src[2] == mla::gfx::code::vgpr + 1);
}

TEST_CASE("an encoding cut short is an error") {
  const Operations& operations = Operations::of(Arch::gfx950);
  for (const Sample& sample : samples) {
    for (std::size_t size = 0; size < sample.words.size(); ++size) {
      INFO(sample.text << " with " << size << " words");
      REQUIRE(!mla::gfx::decode(operations, std::span(sample.words).first(size), 0).ok());
    }
  }
}

TEST_CASE("every operation executes") {
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    for (const HostPath path : mla::gfx::every_host_path) {
      const Operations& operations = Operations::of(arch);
      std::size_t executed = 0;
      for (unsigned n = 0; n < operations.size(); ++n) {
        const auto& operation = operations.at(n);
        INFO(operation.name);
        REQUIRE(mla::gfx::handlers_of(operation, arch, path).run != nullptr);
        ++executed;
      }
      REQUIRE(executed > 900);
    }
  }
}

TEST_CASE("no word makes the decoder read past its input") {
  // The words end where the memory ends: one more would be a fault, with or without a sanitizer.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const pages =
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(pages != MAP_FAILED);
  auto* const end = static_cast<std::byte*>(pages) + page;
  REQUIRE(mprotect(end, page, PROT_NONE) == 0);

  const Operations& operations = Operations::of(Arch::gfx950);
  std::uint32_t word = 1;
  std::size_t decoded = 0;
  for (int n = 0; n < 200000; ++n) {
    word = word * 1664525 + 1013904223;
    for (const std::size_t words : {1U, 2U}) {
      auto* const begin = reinterpret_cast<std::uint32_t*>(end) - words;
      begin[0] = word;
      if (words == 2) begin[1] = word ^ 0x5a5a5a5a;
      const auto inst = mla::gfx::decode(operations, std::span(begin, words), 0);
      if (!inst.ok()) continue;
      ++decoded;
      REQUIRE(inst->words <= words);
      REQUIRE(!mla::gfx::disassemble(operations, *inst).empty());
    }
  }
  CHECK(decoded > 0);
  munmap(pages, 2 * page);
}
