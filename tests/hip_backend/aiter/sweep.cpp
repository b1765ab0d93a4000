// aiter_sweep [FILE]: judges every kernel of the AITER whose directory hsa AITER_HSA names, or
// those whose file name holds FILE. Exit codes: 0 all as expected, 1 not, 3 no such installation,
// 10 nothing to judge.
#include "tests/hip_backend/aiter/sweep.hpp"
#include "tests/hip_backend/aiter/installed.hpp"

#include <cstdio>

#include "hip_backend/kernels/code_objects.hpp"

using namespace mla;
using namespace mla::hip::aiter;
using namespace mla::hip::aiter::test;

namespace {

struct Totals {
  int rows = 0;
  int agree = 0;  // in every case
  int known = 0;  // where they do not, it is listed
  int wrong = 0;
};

// Prints the row's line and what does not fit.
void count_row(Arch arch, const ManifestRow& row, const std::vector<Verdict>& verdicts,
               Totals& totals) {
  bool agrees = true;
  bool expected = true;
  std::string lines;
  for (const Verdict& v : verdicts) {
    const Known* known = known_of(arch, row, v.line);
    const bool as_listed = known == nullptr
                               ? v.wrong.empty()
                               : !v.wrong.empty() && v.wrong.find(known->says) != std::string::npos;
    agrees = agrees && v.wrong.empty();
    expected = expected && as_listed;
    if (v.wrong.empty() && as_listed) continue;
    lines += "    " +
             std::string(as_listed         ? "known " + std::string(known->id)
                         : v.wrong.empty() ? "PASSES, though listed"
                                           : "FAIL") +
             " " + v.line + "\n      " + (v.wrong.empty() ? "" : v.wrong) + "\n";
  }
  ++totals.rows;
  totals.agree += agrees ? 1 : 0;
  totals.known += !agrees && expected ? 1 : 0;
  totals.wrong += expected ? 0 : 1;
  std::printf("%-8s%s %s: %s\n%s",
              !expected ? "FAIL"
              : agrees  ? "ok"
                        : "known",
              std::string(name(arch)).c_str(), row.file.c_str(), text_of(row.key).c_str(),
              lines.c_str());
}

void print(const char* kind, const Totals& t) {
  std::printf("%d %s rows: %d agree in every case, %d fail as listed, %d otherwise\n", t.rows, kind,
              t.agree, t.known, t.wrong);
}

}  // namespace

int main(int argc, char** argv) {
  int exit = 0;
  const auto installation = installed(exit);
  if (installation == nullptr) return exit;
  const std::string_view only = argc > 1 ? argv[1] : "";
  Totals decode;
  Totals prefill;
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    const Manifest* manifest = installation->manifest(arch);
    if (manifest == nullptr || hip::code_object(name(arch), "reduce").empty()) continue;
    for (const ManifestRow& row : *manifest) {
      if (row.file.find(only) == std::string::npos) continue;
      if (!installation->code(arch, row.file)) {
        std::printf("missing %s %s\n", std::string(name(arch)).c_str(), row.file.c_str());
      } else if (row.key.prefill) {
        count_row(arch, row, judge_prefill_row(arch, row, installation, {}), prefill);
      } else {
        count_row(arch, row, judge_decode_row(arch, row, installation, {}), decode);
      }
    }
  }
  if (decode.rows + prefill.rows == 0) return std::puts("skipped: nothing to judge"), 10;
  print("decode", decode);
  print("prefill", prefill);
  return decode.wrong + prefill.wrong == 0 ? 0 : 1;
}
