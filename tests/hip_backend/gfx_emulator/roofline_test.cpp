// Claims about statistics: matrix work is counted by type, and a roofline follows from the peaks.
#include "hip_backend/gfx_emulator/report/roofline.hpp"

#include "tests/catch.hpp"
#include "tests/hip_backend/gfx_emulator/device.hpp"

using namespace mla::gfx;

TEST_CASE("statistics: a matrix instruction counts two operations a product, by type",
          "[gfx][matrix]") {
  struct Row {
    const char* kernel;
    MatrixType type;
    std::uint64_t flops;
  };
  const Row rows[] = {{"bf16_16x16x16", MatrixType::half, 2 * 16 * 16 * 16},
                      {"fp8_fp8_16x16x32", MatrixType::byte, 2 * 16 * 16 * 32}};
  gfx_test::Device device("matrix", {"gfx942", 3});
  for (const Row& row : rows) {
    INFO(row.kernel);
    const auto a = device.upload(std::vector<std::uint32_t>(128, 0), "a");
    const auto c = device.upload(std::vector<float>(256, 0), "c");
    const auto d = device.buffer<float>(256, "d");
    const LaunchReport report =
        device.report(row.kernel, gfx_test::Arguments().add(a).add(a).add(c).add(d), {});
    const auto products = report.statistics.by_class[static_cast<std::size_t>(Class::mfma)];
    REQUIRE(products > 0);
    for (std::size_t k = 0; k < report.statistics.matrix_flops.size(); ++k)
      CHECK(report.statistics.matrix_flops[k] ==
            (k == static_cast<std::size_t>(row.type) ? products * row.flops : 0));
    Statistics twice = report.statistics;
    twice.add(report.statistics);
    CHECK(twice.matrix_flops[static_cast<std::size_t>(row.type)] == 2 * products * row.flops);
  }
}

TEST_CASE("roofline: each type runs at its own rate, and the slower resource binds", "[gfx]") {
  Statistics s;
  s.matrix_flops[static_cast<std::size_t>(MatrixType::half)] = 1'307'400'000;
  s.matrix_flops[static_cast<std::size_t>(MatrixType::byte)] = 2'614'900'000;
  s.bytes_read = 5'300'000;
  s.bytes_written = 5'300'000;
  const Roofline r = roofline(s, Arch::gfx942);
  CHECK(r.matrix == Approx(2e-6));
  CHECK(r.memory == Approx(2e-6));
  s.bytes_written = 0;
  CHECK(statistics_text(s, Arch::gfx942).find("on MI300X: bound by the matrix units") !=
        std::string::npos);
  CHECK(roofline(s, Arch::gfx950).memory == Approx(5.3e6 / 8e12));
  s.matrix_flops = {};
  CHECK(statistics_text(s, Arch::gfx950).find("bound by memory") != std::string::npos);
}
