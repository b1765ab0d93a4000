#include "hip_backend/gfx_emulator/exec/handlers.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <array>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "hip_backend/gfx_emulator/exec/reporting.hpp"

namespace mla::gfx {

float opaque_one = 1.0F;  // declared in float-inl.hpp; never written

namespace {

using Table = std::map<std::string, Handler, std::less<>>;

void add(Table& table, Arch arch, Entries entries) {
  for (const Entry& entry : entries)
    if (is_on(entry.only, arch)) table.emplace(entry.name, entry.run);
}

Table make_table(Arch arch, [[maybe_unused]] HostPath path) {
  Table table;
  add(table, arch, scalar_alu_entries());
  add(table, arch, scalar_flow_entries());
  add(table, arch, scalar_memory_entries());
#if defined(__x86_64__)
  // The first of a name stays.
  if (path == HostPath::avx512_bf16) {
    add(table, arch, avx512_bf16::exp2_entries());
    add(table, arch, avx512_bf16::matrix_pairs_entries());
    add(table, arch, avx512_bf16::packed_half_entries());
  }
  if (path != HostPath::portable) {
#define MLA_GFX_FAMILY(name, folder) add(table, arch, avx2::name##_entries());
#include "hip_backend/gfx_emulator/exec/families.hpp"
#undef MLA_GFX_FAMILY
    return table;
  }
#endif
#define MLA_GFX_FAMILY(name, folder) add(table, arch, portable::name##_entries());
#include "hip_backend/gfx_emulator/exec/families.hpp"
#undef MLA_GFX_FAMILY
  return table;
}

// What `make` gives for each architecture and path, made once.
template <auto make>
const auto& made_once(Arch arch, HostPath path) {
  constexpr std::size_t paths = std::size(every_host_path);
  static const auto tables = [] {
    std::array<decltype(make(arch, path)), 2 * paths> out;
    for (const Arch a : {Arch::gfx942, Arch::gfx950})
      for (const HostPath p : every_host_path)
        out[paths * static_cast<std::size_t>(a) + static_cast<std::size_t>(p)] = make(a, p);
    return out;
  }();
  return tables[paths * static_cast<std::size_t>(arch) + static_cast<std::size_t>(path)];
}

Handler find_handler(std::string_view name, Arch arch, HostPath path) {
  const Table& table = made_once<make_table>(arch, path);
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

void not_implemented(Wave& wave, const Inst& inst) {
  report_fault(wave, inst, Problem::not_implemented, -1, 0, "the operation has no semantics here");
  wave.state = WaveState::ended;
}

void run_off_the_end(Wave& wave, const Inst& inst) {
  report_fault(wave, inst, Problem::bad_jump, -1, 0, "the wave ran past the end of the code");
  wave.state = WaveState::ended;
}

// By the number of the operation.
std::vector<Handlers> all_handlers(Arch arch, HostPath path) {
  const Operations& operations = Operations::of(arch);
  std::vector<Handlers> out;
  for (unsigned op = 0; op < operations.size(); ++op)
    out.push_back(handlers_of(operations.at(op), arch, path));
  return out;
}

#if defined(__x86_64__)
// Not every compiler's __builtin_cpu_supports() knows this one.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

}  // namespace

bool has_host_path(HostPath path) {
  if (path == HostPath::portable) return true;
#if defined(__x86_64__)
  static const bool avx2 =
      __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && has_f16c();
  // All of what the path is compiled for.
  static const bool avx512 =
      avx2 && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
      __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0 &&
      __builtin_cpu_supports("avx512vbmi") != 0 && __builtin_cpu_supports("avx512bf16") != 0 &&
      avx512_bf16::pairs_round_one_by_one();
  return path == HostPath::avx2 ? avx2 : avx512;
#else
  return false;
#endif
}

const char* name(HostPath path) {
  static constexpr const char* names[] = {"portable", "avx2", "avx512_bf16"};
  return names[static_cast<std::size_t>(path)];
}

// vdpbf16ps takes no longer than one multiply-add on AMD, on Intel (Emerald Rapids) longer than two
// (docs/findings/measurements.md).
HostPath best_host_path() {
#if defined(__x86_64__)
  if (__builtin_cpu_is("amd") != 0 && has_host_path(HostPath::avx512_bf16))
    return HostPath::avx512_bf16;
#endif
  return has_host_path(HostPath::avx2) ? HostPath::avx2 : HostPath::portable;
}

bool has_semantics(const Inst& inst) {
  return inst.run != not_implemented && inst.run != run_off_the_end;
}

Handlers handlers_of(const Operation& operation, Arch arch, HostPath path) {
  static constexpr std::string_view load = "buffer_load_";
  Handlers out = {.run = find_handler(operation.name, arch, path)};
  if (operation.name.starts_with(load))
    out.run_lds = find_handler("buffer_load_lds_" + operation.name.substr(load.size()), arch, path);
  return out;
}

void bind(Program& program, HostPath path) {
  const auto& table = made_once<all_handlers>(program.operations->arch(), path);
  for (Inst& inst : program.instructions) {
    const Handlers& mine = table[inst.op];
    inst.run = inst.words == 0 ? run_off_the_end : inst.lds ? mine.run_lds : mine.run;
    if (inst.run == nullptr) inst.run = not_implemented;
  }
}

}  // namespace mla::gfx
