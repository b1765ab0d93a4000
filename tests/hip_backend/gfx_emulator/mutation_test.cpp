// Our own kernels with one wait or barrier taken away, or exchanged with its neighbour: what the
// checks say, what only the numbers show, and what does no harm (docs/internals/emulator.md has the
// counts and why).
#include <algorithm>
#include <bit>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <sstream>

#include "hip_backend/hip_backend.hpp"
#include "hip_backend/kernels/code_objects.hpp"
#include "hip_backend/prefill/device_prefill.hpp"
#include "mutants.hpp"
#include "tests/catch.hpp"
#include "tests/hip_backend/crosscheck_step.hpp"
#include "tests/hip_backend/has_code.hpp"

using namespace mla;
using gfx_test::Mutant;
using gfx_test::Mutation;

namespace {

using Numbers = std::vector<std::uint16_t>;
using Run = std::function<Result<Numbers>(std::shared_ptr<hip::Device>)>;

// One kernel and a launch of it that reaches its loops and its tails.
struct Subject {
  Arch arch;
  const char* unit;
  const char* kernel;
  Run run;
};

Numbers all_of(const DecodeResult& result) {
  Numbers out = result.out;
  for (const auto* floats : {&result.lse, &result.partial_out, &result.partial_lse})
    for (const float x : *floats) {
      const auto bits = std::bit_cast<std::uint32_t>(x);
      out.push_back(static_cast<std::uint16_t>(bits));
      out.push_back(static_cast<std::uint16_t>(bits >> 16));
    }
  return out;
}

Run decode(const std::string& line) {
  const auto spec = parse_case(line);
  REQUIRE(spec.ok());
  std::string reason;
  const std::shared_ptr<hip::test::Step> step = hip::test::try_step(*spec, reason);
  INFO(line << ": " << reason);
  REQUIRE(step != nullptr);
  return [step](std::shared_ptr<hip::Device> device) -> Result<Numbers> {
    const auto result =
        hip::make_hip_backend(std::move(device), {})->run(step->launch(), {.record_stages = true});
    if (!result) return result.error();
    return all_of(*result);
  };
}

// Two heads, two requests, flash attention; a value is NaN where rows see it and others do not.
Run prefill(Arch arch) {
  static constexpr std::size_t rows = 90, keys = 150, heads = 2;
  std::mt19937 random(3);
  const auto tensor = [&](std::size_t values) {
    std::vector<std::byte> bytes;
    for (std::size_t n = 0; n < values; ++n) {  // bf16 between 1/2 and 1, either sign
      bytes.push_back(static_cast<std::byte>(random() & 0x7f));
      bytes.push_back(static_cast<std::byte>(0x3f | (random() & 0x80)));
    }
    return bytes;
  };
  const auto q = tensor(rows * heads * 192), k = tensor(keys * heads * 192);
  auto v = tensor(keys * heads * 128);
  v[2 * (60 * heads * 128 + 5) + 1] = std::byte{0x7f};
  v[2 * (60 * heads * 128 + 5)] = std::byte{0xc0};
  return [=](const std::shared_ptr<hip::Device>& device) -> Result<Numbers> {
    const std::vector<std::int32_t> qo = {0, 20, rows}, kv = {0, 70, keys};
    const auto out = hip::prefill_on_device(*device, {.q = q,
                                                      .k = k,
                                                      .v = v,
                                                      .dtype = Dtype::bf16,
                                                      .arch = arch,
                                                      .heads = heads,
                                                      .causal = true,
                                                      .score_scale = 0.07F,
                                                      .qo_indptr = qo,
                                                      .kv_indptr = kv,
                                                      .key_rows = {},
                                                      .plan = nullptr,
                                                      .partial_rows = 0});
    if (!out) return out.error();
    return out->out;
  };
}

std::vector<Subject> subjects(Arch arch) {
  const std::string tail = ";arch=" + std::string(name(arch));
  const Run bf16 = decode("mla1:1q1s40_1q1s200;heads=16;cu=3" + tail);
  const Run fp8 = decode("mla1:1q1s200;heads=16;cu=2;dtype=fp8/fp8;scale=0.5/2" + tail);
  const Run many = decode("mla1:1q1s400;heads=16;cu=6" + tail);
  return {{arch, "decode", "decode_bf16_bf16_r16", bf16},
          {arch, "decode", "decode_fp8_fp8_r16", fp8},
          {arch, "reduce", "reduce", many},
          {arch, "prefill", "prefill_bf16", prefill(arch)}};
}

struct Tally {
  int mutants = 0, unreached = 0, reported = 0, numbers = 0;
  int witnessed = 0;  // reported, and the numbers are wrong as well
  std::vector<std::string> harmless;
};

bool reached(const Subject& s, std::span<const std::byte> original, const Mutant& mutant) {
  const auto device = gfx_test::make_mutated_device(s.arch, {.checks = false, .schedule = 0},
                                                    original, mutant.trapped);
  return !s.run(device).ok();
}

bool reported(const Subject& s, std::span<const std::byte> original, const Mutant& mutant) {
  for (const std::uint64_t schedule : {0, 7}) {
    const auto device = gfx_test::make_mutated_device(
        s.arch, {.checks = true, .schedule = schedule}, original, mutant.bytes);
    if (!s.run(device).ok()) return true;
  }
  return false;
}

// Memory that answers at once, late, and at random times.
bool visible(const Subject& s, std::span<const std::byte> original, const Mutant& mutant,
             const Numbers& right) {
  using Mode = gfx::Arrival::Mode;
  for (const std::uint64_t schedule : {0, 3, 11}) {
    for (const gfx::Arrival& arrival : {gfx::Arrival{.mode = Mode::late}, gfx::Arrival{},
                                        gfx::Arrival{.mode = Mode::random, .number = schedule}}) {
      const auto device = gfx_test::make_mutated_device(
          s.arch, {.checks = false, .schedule = schedule, .arrival = arrival}, original,
          mutant.bytes);
      const auto got = s.run(device);
      if (!got.ok() || *got != right) return true;
    }
  }
  return false;
}

using Tallies = std::map<Mutation, Tally>;
// Every `step`-th mutant.
Tallies judge(const Subject& s, std::size_t step) {
  const auto original = hip::code_object(name(s.arch), s.unit);
  const auto plain = s.run(
      gfx_test::make_mutated_device(s.arch, {.checks = true, .schedule = 0}, original, original));
  INFO(s.kernel << ": " << (plain ? "" : plain.error().message));
  REQUIRE(plain.ok());
  // The kernel waits for everything it uses: late memory changes no bit.
  CHECK_FALSE(visible(s, original,
                      {.place = {}, .bytes = {original.begin(), original.end()}, .trapped = {}},
                      *plain));
  Tallies tallies;
  const auto mutants = gfx_test::mutants_of(original, s.kernel);
  REQUIRE(!mutants.empty());
  for (std::size_t n = step / 2; n < mutants.size(); n += step) {
    Tally& tally = tallies[mutants[n].kind];
    ++tally.mutants;
    if (!reached(s, original, mutants[n])) {
      ++tally.unreached;
    } else if (reported(s, original, mutants[n])) {
      ++tally.reported;
      if (visible(s, original, mutants[n], *plain)) ++tally.witnessed;
    } else if (visible(s, original, mutants[n], *plain)) {
      ++tally.numbers;
    } else {
      tally.harmless.push_back(mutants[n].place);
    }
  }
  return tallies;
}

const char* word_of(Mutation kind) {
  switch (kind) {
    case Mutation::no_wait:
      return "waits";
    case Mutation::no_barrier:
      return "barriers";
    case Mutation::wait_after_barrier:
      return "wait-barrier";
    case Mutation::wait_before_access:
      break;
  }
  return "access-wait";
}

void print(const Subject& s, const Tallies& tallies) {
  for (const auto& [kind, tally] : tallies) {
    std::cout << name(s.arch) << " " << s.kernel << " " << word_of(kind) << " " << tally.mutants
              << ": not reached " << tally.unreached << ", reported " << tally.reported
              << " (in numbers too " << tally.witnessed << "), only in numbers " << tally.numbers
              << ", harmless " << tally.harmless.size();
    for (const std::string& place : tally.harmless) std::cout << " " << place;
    std::cout << "\n";
  }
}

// The rows of fixtures/gfx_mutants.txt, by "gfx942 reduce waits" or "sample gfx942 reduce waits".
using Table = std::map<std::string, std::array<int, 6>>;

std::string key_of(const Subject& s, Mutation kind) {
  return std::string(name(s.arch)) + " " + s.kernel + " " + word_of(kind);
}

bool is_kind(const std::string& word) {
  return word == "waits" || word == "barriers" || word == "wait-barrier" || word == "access-wait";
}

Table recorded() {
  std::ifstream file(MLA_FIXTURES "/gfx_mutants.txt");
  Table table;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::istringstream words(line);
    std::string part, arch, kernel, instruction;
    words >> part >> arch >> kernel >> instruction;
    auto& row = table[(part == "all" ? "" : part + " ") + arch + " " + kernel + " " + instruction];
    for (int& number : row) words >> number;
    INFO(line);
    REQUIRE(words);
    REQUIRE(row[0] == row[1] + row[2] + row[4] + row[5]);
    REQUIRE(row[3] <= row[2]);
  }
  return table;
}

// The rows of the table in docs/internals/emulator.md, which names a kernel once for waits and
// barriers.
Table documented() {
  std::ifstream file(MLA_FIXTURES "/../docs/internals/emulator.md");
  Table table;
  std::string kernel;
  for (std::string line; std::getline(file, line);) {
    for (char& c : line)
      if (c == '|' || c == '`') c = ' ';
    std::istringstream words(line);
    std::string first, second;
    words >> first;
    if (first.starts_with("gfx9") && words >> second) {
      kernel = first + " " + second;
      words >> first;
    }
    if (kernel.empty() || !is_kind(first)) continue;
    std::array<int, 6> row{};
    for (int& number : row) words >> number;
    if (words) table[kernel + " " + first] = row;
  }
  return table;
}

bool built(Arch arch) {
  return hip::test::has_code(arch, "decode");
}

// Nothing got worse since the row was written.
void check_no_worse(const Tally& tally, const std::array<int, 6>& row) {
  const auto& [mutants, unreached, reported, witnessed, numbers, harmless] = row;
  CHECK(tally.mutants == mutants);
  CHECK(tally.unreached <= unreached);
  CHECK(tally.reported >= reported);
  CHECK(tally.witnessed >= witnessed);
  CHECK(tally.numbers <= numbers);
  CHECK(tally.numbers == 0);  // nothing that changes a bit goes unreported
  CHECK(static_cast<int>(tally.harmless.size()) <= harmless);
}

// Every `step`-th mutant of all kernels that this build has; `part` begins the keys of their rows.
void judge_all(std::size_t step, const std::string& part) {
  const Table table = recorded();
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    if (!built(arch)) continue;
    for (const Subject& subject : subjects(arch)) {
      const auto tallies = judge(subject, step);
      print(subject, tallies);
      for (const auto& [kind, tally] : tallies) {
        INFO(part << key_of(subject, kind));
        const auto row = table.find(part + key_of(subject, kind));
        CHECK(row != table.end());
        if (row != table.end()) check_no_worse(tally, row->second);
      }
    }
  }
}

}  // namespace

TEST_CASE("mutants: the table of docs/internals/emulator.md is fixtures/gfx_mutants.txt",
          "[docs]") {
  Table table = recorded();
  std::erase_if(table, [](const auto& row) { return row.first.starts_with("sample "); });
  CHECK(table.size() == 28);
  CHECK(documented() == table);
}

TEST_CASE("mutants: a sample fares no worse than in fixtures/gfx_mutants.txt", "[sample]") {
  judge_all(7, "sample ");
}

TEST_CASE("mutants: all fare no worse than in fixtures/gfx_mutants.txt", "[.nightly]") {
  judge_all(1, "");
}
