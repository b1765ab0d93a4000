// Claims about the manifest reader: it takes what AITER's tables look like, and says of everything
// else where it stands and what it is.
#include "hip_backend/aiter/manifest.hpp"

#include "tests/catch.hpp"

using namespace mla;
using namespace mla::hip::aiter;

namespace {

const std::string kHeader =
    "qType,kvType,Gqa,ps,qSeqLen,prefill,causal,lse,cprr,knl_name,co_name\n";
const std::string kRow = "fp8,fp8,16,1,2,0,1,0,1,kernel_a,a.co\n";

std::string complaint(const std::string& text) {
  const auto manifest = parse_manifest(text, "m.csv");
  REQUIRE_FALSE(manifest.ok());
  CHECK(manifest.error().code == ErrorCode::usage);
  return manifest.error().message;
}

}  // namespace

TEST_CASE("aiter manifest: a row has what its line says") {
  const auto manifest =
      parse_manifest(kHeader + kRow + "\nbf16,byte,128,0,0,1,0,1,0,k,b.co\r\n", "m");
  REQUIRE(manifest.ok());
  REQUIRE(manifest->size() == 2);
  const ManifestRow& first = manifest->front();
  CHECK(first.key == RowKey{.q = ElementType::fp8,
                            .kv = ElementType::fp8,
                            .heads = 16,
                            .persistent = true,
                            .qo_len = 2,
                            .prefill = false,
                            .causal = true,
                            .lse = false,
                            .cprr = true});
  CHECK(first.kernel == "kernel_a");
  CHECK(first.file == "a.co");
  CHECK(first.line == 2);
  CHECK(manifest->back().key.kv == ElementType::bytes);
  CHECK(manifest->back().key.prefill);
  CHECK(manifest->back().file == "b.co");
  CHECK(manifest->back().line == 4);
}

TEST_CASE("aiter manifest: columns are found by name, and an old table has no cprr") {
  const auto manifest = parse_manifest(
      "co_name,knl_name,lse,causal,prefill,qSeqLen,ps,Gqa,kvType,qType,new\n"
      "a.co,k,1,1,0,4,0,8,fp8,bf16,whatever\n",
      "m");
  REQUIRE(manifest.ok());
  CHECK(manifest->front().key.heads == 8);
  CHECK(manifest->front().key.lse);
  CHECK_FALSE(manifest->front().key.cprr);
  CHECK(manifest->front().key.q == ElementType::bf16);
}

TEST_CASE("aiter manifest: what is wrong is named by line, column and value") {
  const auto row = [](const char* text) { return kHeader + kRow + text; };
  CHECK(complaint("") == "m.csv, line 1: has no column 'qType'");
  CHECK(complaint("qType,qType\n") == "m.csv, line 1: column 'qType' appears twice");
  CHECK(complaint(kHeader) == "m.csv, line 1: no row after the header");
  CHECK(complaint(row("fp8,fp8,16\n")) == "m.csv, line 3: has 3 values, the header 11");
  CHECK(complaint(row("fp4,fp8,16,1,2,0,1,0,0,k,a.co\n")) ==
        "m.csv, line 3: qType is 'fp4', not bf16, fp8 or byte");
  CHECK(complaint(row("fp8,fp8,0,1,2,0,1,0,0,k,a.co\n")) ==
        "m.csv, line 3: Gqa is '0', not a number from 1 to 4096");
  CHECK(complaint(row("fp8,fp8,16x,1,2,0,1,0,0,k,a.co\n")) ==
        "m.csv, line 3: Gqa is '16x', not a number from 1 to 4096");
  CHECK(complaint(row("fp8,fp8,16,1,99999999999999999999,0,1,0,0,k,a.co\n")) ==
        "m.csv, line 3: qSeqLen is '99999999999999999999', not a number from 0 to 4096");
  CHECK(complaint(row("fp8,fp8,16,2,2,0,1,0,0,k,a.co\n")) ==
        "m.csv, line 3: ps is '2', not 0 or 1");
  CHECK(complaint(row("fp8,fp8,16,1,2,0,1,0,0,,a.co\n")) ==
        "m.csv, line 3: knl_name is '', not a symbol");
}

TEST_CASE("aiter manifest: no file name leads out of the directory, no byte into the message") {
  for (const char* file : {"../a.co", "/etc/a.co", "b/a.co", ".co", "a.so", "", "a\\b.co"})
    CHECK(complaint(kHeader + "fp8,fp8,16,1,2,0,1,0,0,k," + file + "\n") ==
          "m.csv, line 2: co_name is '" + std::string(file) +
              "', not the plain name of a .co file");
  CHECK(complaint(kHeader + "fp8,fp8,16,1,2,0,1,0,0,k\x1b[2J\n,a.co\n").find('\x1b') ==
        std::string::npos);
  CHECK(complaint(kHeader + std::string(5000, 'x')) == "m.csv, line 2: is longer than 4096 bytes");
  std::string many = kHeader;
  for (int i = 0; i < 4097; ++i) many += kRow;
  CHECK(complaint(many) == "m.csv, line 4098: more than 4096 rows");
}
