// Claims about what `replay --statistics` prints of several backends.
#include "properties/app/launch_log.hpp"

#include "tests/catch.hpp"

using mla::app::LaunchLog;
using mla::gfx::Arch;
using mla::gfx::LaunchReport;

namespace {

LaunchReport report(std::uint64_t instructions, std::uint64_t read, std::uint64_t lds_written) {
  LaunchReport r;
  r.statistics.instructions = instructions;
  r.statistics.bytes_read = read;
  r.statistics.bytes_written = 1;
  r.statistics.lds_bytes_written = lds_written;
  return r;
}

}  // namespace

TEST_CASE("statistics: stages of two backends stand side by side, launches added up", "[cli]") {
  LaunchLog log;
  log.begin("cpu");
  log.begin("hip");
  log.note("decode_bf16_bf16_r16", report(100, 999, 7));
  log.note("decode_bf16_bf16_r16", report(50, 999, 7));
  log.note("reduce", report(10, 99, 0));
  log.begin("aiter");
  log.note("theirs", report(300, 1999, 0));
  const std::string text = log.text(mla::gfx::Arch::gfx942);
  CHECK(text.find("kernel decode_bf16_bf16_r16, 2 launches\n") != std::string::npos);
  CHECK(text.substr(text.find("stage 1")) ==
        "stage 1                           hip          aiter   ratio\n"
        "  launches                          2              1    2.00\n"
        "  wave instructions               150            300    0.50\n"
        "  memory bytes                   2000           2000    1.00\n"
        "  LDS bytes                        14              0    0.00\n");
}

TEST_CASE("statistics: one backend is compared with none", "[cli]") {
  LaunchLog log;
  log.begin("hip");
  log.note("reduce", report(10, 99, 0));
  CHECK(log.text(mla::gfx::Arch::gfx950).find("ratio") == std::string::npos);
}
