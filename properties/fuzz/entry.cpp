// The entry of libFuzzer and AFL++ for one target: MLA_FUZZ_RUN is its function, MLA_FUZZ_TARGET
// its name. Only what the target needs is linked, since the fuzzer looks at every counter after
// each input. A finding ends the process, as a crash does, so that the fuzzer keeps the input.
#include <cstdio>
#include <cstdlib>

#include "properties/fuzz/target.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto finding = mla::prop::fuzz::MLA_FUZZ_RUN({data, size});
  if (!finding) return 0;
  std::fprintf(stderr, "FAIL " MLA_FUZZ_TARGET " %s\n  %s\n", finding->input.c_str(),
               finding->what.c_str());
  std::abort();
}
