// Time of one wave-instruction, by kind, on one host thread: a loop of 64 of the same operation
// whose registers go round a small file (24 live ones, which stay in the first cache) or the whole
// one (256, 64 KiB a wave). `each` is the time of one, `of_fma` how many of v_fma_f32 take as long
// (where that ran before).
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "hip_backend/gfx_emulator/launch.hpp"
#include "hip_backend/gfx_emulator/load.hpp"
#include "tests/hip_backend/gfx_emulator/elf_writer.hpp"
#include "tests/hip_backend/gfx_emulator/vectors/encode.hpp"

namespace {

using namespace gfx_test;
using mla::gfx::HostPath;

constexpr unsigned in_loop = 64, rounds = 2000, counter = 8;
constexpr unsigned offset = vgpr + 1;  // 16 times the lane: of LDS and of memory

// The k-th of the loop: its registers are among those from `first` on, four at a time.
using Maker = std::function<Words(unsigned a, unsigned b, unsigned c)>;

struct Kind {
  const char* name;
  Maker make;
};

const std::vector<Kind> kinds = {
    {"salu", [](unsigned, unsigned, unsigned) { return encode::sop2(0, 10, 11, 12); }},
    {"v_and_b32", [](unsigned a, unsigned b, unsigned c) { return encode::vop2(0x13, a, b, c); }},
    {"v_add_f32", [](unsigned a, unsigned b, unsigned c) { return encode::vop2(0x01, a, b, c); }},
    {"v_fma_f32", [](unsigned a, unsigned b,
                     unsigned c) { return encode::vop3(0x1cb, {.dst = a, .src = {b, c, a}}); }},
    {"v_pk_fma_f32", [](unsigned a, unsigned b,
                        unsigned c) { return encode::vop3p(0x30, {.dst = a, .src = {b, c, a}}); }},
    {"v_pk_fma_f16", [](unsigned a, unsigned b,
                        unsigned c) { return encode::vop3p(0x0e, {.dst = a, .src = {b, c, a}}); }},
    {"v_cvt_f32_f16", [](unsigned a, unsigned b, unsigned) { return encode::vop1(0x0b, a, b); }},
    {"v_cvt_f16_f32", [](unsigned a, unsigned b, unsigned) { return encode::vop1(0x0a, a, b); }},
    {"v_exp_f32", [](unsigned a, unsigned b, unsigned) { return encode::vop1(0x20, a, b); }},
    {"v_cmp_lt_f32", [](unsigned, unsigned b, unsigned c) { return encode::vopc(0x41, b, c); }},
    {"ds_read_b128", [](unsigned a, unsigned,
                        unsigned) { return encode::ds(0xff, {.dst = a, .address = offset}); }},
    {"ds_write_b128", [](unsigned a, unsigned,
                         unsigned) { return encode::ds(0xdf, {.address = offset, .data0 = a}); }},
    {"ds_bpermute_b32",
     [](unsigned a, unsigned b, unsigned) {
       return encode::ds(0x3f, {.dst = a, .address = offset, .data0 = b});
     }},
    {"global_load_dwordx4",
     [](unsigned a, unsigned, unsigned) {
       return encode::flat(0x17, encode::Segment::global,
                           {.dst = a, .address = offset, .saddr = 2});
     }},
    {"v_mfma_f32_16x16x16_bf16",
     [](unsigned a, unsigned b, unsigned c) {
       return encode::mfma(0x61, {.dst = a, .src = {b, c, a}});
     }},
    {"v_mfma_f32_16x16x32_fp8_fp8",
     [](unsigned a, unsigned b, unsigned c) {
       return encode::mfma(0x73, {.dst = a, .src = {b, c, a}});
     }},
};

Words kernel_of(const Kind& kind, unsigned live) {
  std::vector<Words> parts = {encode::smem(1, {.data = 2, .base = 0, .offset = 0}),
                              encode::vop2(0x12, offset, zero + 4, vgpr),
                              encode::sopp(12, 0),
                              encode::sop1(0, counter, literal),
                              {rounds}};
  std::size_t words = 0;
  for (unsigned k = 0; k < in_loop; ++k) {
    const unsigned groups = live / 4 - 1;  // the first holds the lane and the offset
    const auto at = [&](unsigned j) { return vgpr + 4 + 4 * ((3 * k + j) % groups); };
    parts.push_back(kind.make(at(0), at(1), at(2)));
    words += parts.back().size();
  }
  parts.push_back(encode::sop2(1, counter, counter, one));  // s_sub_u32
  parts.push_back(encode::sopc(7, counter, zero));          // s_cmp_lg_u32
  parts.push_back(encode::sopp(5, -static_cast<int>(words) - 3));
  parts.push_back(encode::sopp(1, 0));
  return join(parts);
}

void run_kind(benchmark::State& state, const Kind& kind, HostPath path) {
  const auto live = static_cast<unsigned>(state.range(0));
  std::vector<std::uint32_t> data(1024, 0x3f800000);
  mla::gfx::Memory memory;
  const auto bytes = std::as_writable_bytes(std::span(data));
  const auto object = mla::gfx::load_code_object(
      write_elf({.words = kernel_of(kind, live), .lds = 4096}), {.path = path});
  if (!object || memory.add(bytes, "data", mla::gfx::Rights::read_write)) {
    std::fprintf(stderr, "%s: %s\n", kind.name,
                 object ? "no memory" : object.error().message.c_str());
    std::exit(3);
  }
  const std::byte* const argument = bytes.data();
  std::uint64_t instructions = 0;
  const std::clock_t begin = std::clock();
  for (auto _ : state) {
    const auto report = mla::gfx::run(*object,
                                      {.kernel = "hand",
                                       .block = {64, 1, 1},
                                       .kernarg = std::as_bytes(std::span(&argument, 1)),
                                       .options = {.threads = 1}},
                                      memory);
    if (!report || !report->faults.empty()) {
      std::fprintf(stderr, "%s: %s\n", kind.name,
                   report ? report->faults[0].line().c_str() : report.error().message.c_str());
      std::exit(3);
    }
    instructions += report->statistics.instructions;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(instructions));
  state.counters["each"] = benchmark::Counter(
      static_cast<double>(instructions), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  static std::map<std::pair<HostPath, unsigned>, double> fma;  // CPU time of one
  const double each = static_cast<double>(std::clock() - begin) / static_cast<double>(instructions);
  if (std::string_view(kind.name) == "v_fma_f32") fma[{path, live}] = each;
  if (const auto known = fma.find({path, live}); known != fma.end())
    state.counters["of_fma"] = each / known->second;
}

// Registered by hand: the names are data.
const bool registered = [] {
  for (const HostPath path : {mla::gfx::best_host_path(), HostPath::portable}) {
    const std::string folder = path == HostPath::portable ? "class_portable/" : "class/";
    for (const Kind& kind : kinds) {
      auto* const made = benchmark::RegisterBenchmark(
          (folder + kind.name).c_str(),
          [&kind, path](benchmark::State& state) { run_kind(state, kind, path); });
      made->Arg(24)->Unit(benchmark::kMillisecond);
      if (path != HostPath::portable) made->Arg(256);
    }
  }
  return true;
}();

}  // namespace
