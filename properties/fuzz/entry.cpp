// The entry of libFuzzer and AFL++ for one target, MLA_FUZZ_TARGET. A finding ends the process, as
// a crash does, so that the fuzzer keeps the input.
#include <cstdio>
#include <cstdlib>

#include "properties/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const mla::prop::fuzz::Target* const target =
      mla::prop::fuzz::find_target(MLA_FUZZ_TARGET);
  if (target == nullptr) std::abort();
  const auto finding = target->run({data, size});
  if (!finding) return 0;
  std::fprintf(stderr, "FAIL %s %s\n  %s\n  %s\n", MLA_FUZZ_TARGET, finding->input.c_str(),
               std::string(target->sentence).c_str(), finding->what.c_str());
  std::abort();
}
