#include "properties/app/gfx.hpp"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/say.hpp"
#include "core/text.hpp"
#include "hip_backend/gfx_emulator/exec/handlers.hpp"
#include "hip_backend/gfx_emulator/isa/format.hpp"
#include "hip_backend/gfx_emulator/load.hpp"
#include "hip_backend/gfx_emulator/report/profile.hpp"
#include "properties/app/gfx_findings.hpp"
#include "properties/files/terminal.hpp"
#include "properties/show/svg.hpp"

namespace mla::app {
namespace {

using Json = nlohmann::ordered_json;

const char* name_of(gfx::Arch arch) {
  return arch == gfx::Arch::gfx942 ? "gfx942" : "gfx950";
}

// The kernels that were asked for: one by name, or all.
Result<std::vector<const gfx::Kernel*>> chosen(const gfx::CodeObject& object,
                                               const std::string& name) {
  std::vector<const gfx::Kernel*> out;
  std::string names;
  for (const gfx::Kernel& kernel : object.kernels()) {
    if (name.empty() || kernel.name == name) out.push_back(&kernel);
    names += (names.empty() ? "" : ", ") + kernel.name;
  }
  if (!out.empty()) return out;
  if (names.empty()) return Error{ErrorCode::usage, "the code object has no kernel"};
  return Error{ErrorCode::usage,
               "the code object has no kernel '" + name + "'; it has " + names.substr(0, 400)};
}

// Symbols of hand-written kernels may have no size: such a kernel goes on to the next function.
// The loader refuses a kernel outside of the code, so there is an instruction. It may lie before
// the entry: code may end in bytes that are none.
std::uint64_t size_of(const gfx::CodeObject& object, const gfx::Kernel& kernel) {
  const gfx::Inst& last = object.instructions().back();
  std::uint64_t end = std::max(kernel.entry, last.at + 4 * std::uint64_t{last.words});
  for (const gfx::Symbol& symbol : object.symbols()) {
    if (!symbol.function) continue;
    if (symbol.name == kernel.name && symbol.size != 0) return symbol.size;
    if (symbol.offset > kernel.entry) end = std::min(end, symbol.offset);
  }
  return end - kernel.entry;
}

Json lines_of(const gfx::CodeObject& object, std::uint64_t begin, std::uint64_t end) {
  Json lines = Json::array();
  for (std::uint64_t at = begin; at < end; at += 4) {
    if (object.index_at(at) == gfx::CodeObject::npos) continue;
    lines.push_back({{"at", hex(at)}, {"instruction", gfx::text_at(object, at)}});
  }
  return lines;
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// Operations that the emulator knows by name only, in the code that was looked at.
Json unexecuted(const gfx::CodeObject& object, const gfx::Kernel& kernel) {
  Json out = Json::object();
  const std::uint64_t size = size_of(object, kernel);
  for (std::uint64_t at = kernel.entry; at < kernel.entry + size; at += 4) {
    const std::uint32_t index = object.index_at(at);
    if (index == gfx::CodeObject::npos) continue;
    const gfx::Inst& inst = object.instructions()[index];
    if (inst.words == 0 || gfx::has_semantics(inst)) continue;
    const std::string& name = object.operations().at(inst.op).name;
    out[name] = out.value(name, 0) + 1;
  }
  return out;
}

std::string counted(std::uint64_t n, const std::string& word) {
  return show::counted(static_cast<std::int64_t>(n), word);
}

std::string check_text(const gfx::Kernel& kernel, const GfxFindings& checked, const Json& unknown) {
  const gfx::StaticReport& report = checked.report;
  std::string out = kernel.name + ": " + counted(report.instructions, "instruction") + ", " +
                    counted(report.missing.size(), "missing wait") +
                    (checked.states == 0 ? "" : ", " + counted(checked.states, "missing s_nop")) +
                    "\n";
  const auto also = [&](std::uint64_t n, const std::string& what, const std::string& meaning) {
    if (n != 0) out += "  " + counted(n, what) + ": " + meaning + "\n";
  };
  also(report.indirect_jumps, "jump to an address in a register", "not followed");
  also(report.calls, "call", "taken to wait for all");
  also(report.indexed, "vector instruction in the gpr index mode", "operands not known");
  also(report.ends_in_no_code, "path to no instruction", "a fault if it is taken");
  for (const auto& [name, count] : unknown.items())
    out += "  " + name + " is known by name only: " + counted(count.get<std::uint64_t>(), "time") +
           "\n";
  for (const GfxFinding& f : checked.findings) out += "  " + f.line + "\n";
  return out;
}

// What a command says of one kernel.
struct KernelPart {
  Json json;
  std::string text;
  bool held = true;
};

KernelPart disassembly_of(const gfx::CodeObject& object, const gfx::Kernel& kernel) {
  const Json lines = lines_of(object, kernel.entry, kernel.entry + size_of(object, kernel));
  std::string text =
      say(kernel.name, ": ", name_of(object.arch()), ", ", counted(lines.size(), "instruction"),
          ", ", kernel.vgprs, " vector registers, ", kernel.group_segment_size, " bytes of LDS\n");
  for (const Json& line : lines)
    text +=
        "  " + line["at"].get<std::string>() + "  " + line["instruction"].get<std::string>() + "\n";
  return {.json = {{"name", kernel.name},
                   {"entry", hex(kernel.entry)},
                   {"vgprs", kernel.vgprs},
                   {"lds_bytes", kernel.group_segment_size},
                   {"scratch_bytes", kernel.private_segment_size},
                   {"kernarg_bytes", kernel.kernarg_size},
                   {"instructions", lines}},
          .text = text};
}

KernelPart waits_of(const gfx::CodeObject& object, const gfx::Kernel& kernel) {
  const GfxFindings checked = gfx_findings(object, kernel);
  const gfx::StaticReport& report = checked.report;
  const Json unknown = unexecuted(object, kernel);
  Json findings = Json::array();
  for (const GfxFinding& f : checked.findings) findings.push_back(f.json);
  return {.json = {{"name", kernel.name},
                   {"instructions", report.instructions},
                   {"indirect_jumps", report.indirect_jumps},
                   {"calls", report.calls},
                   {"gpr_indexed", report.indexed},
                   {"paths_to_no_instruction", report.ends_in_no_code},
                   {"known_by_name_only", unknown},
                   {"findings", findings}},
          .text = check_text(kernel, checked, unknown),
          .held = checked.findings.empty()};
}

// The kernels that were asked for, one after the other.
Result<GfxListing> list_kernels(const std::string& path, const std::string& name, bool as_json,
                                KernelPart (*part_of)(const gfx::CodeObject&, const gfx::Kernel&)) {
  const auto object = load_gfx_object(path);
  if (!object) return object.error();
  const auto kernels = chosen(*object, name);
  if (!kernels) return kernels.error();
  Json list = Json::array();
  GfxListing out;
  for (const gfx::Kernel* const kernel : *kernels) {
    KernelPart part = part_of(*object, *kernel);
    if (!part.held) out.exit = prop::ExitCode::failed;
    out.text += (out.text.empty() ? "" : "\n") + part.text;
    list.push_back(std::move(part.json));
  }
  if (as_json) out.text = dump({{"arch", name_of(object->arch())}, {"kernels", list}});
  return out;
}

}  // namespace

Result<gfx::CodeObject> load_gfx_object(const std::string& path) {
  const auto text = files::read_file(path);
  if (!text) return text.error();
  auto object = gfx::load_code_object(std::as_bytes(std::span(*text)), {});
  if (object) return object;
  Error error = object.error();
  error.message = "'" + path + "': " + error.message;
  return error;
}

Result<const gfx::Kernel*> find_gfx_kernel(const gfx::CodeObject& object, const std::string& name) {
  const auto kernels = chosen(object, name);
  if (!kernels) return kernels.error();
  if (kernels->size() == 1) return kernels->front();
  return Error{ErrorCode::usage, say("the code object has ", kernels->size(),
                                     " kernels; --kernel takes the name of one")};
}

Result<GfxListing> gfx_disassemble(const std::string& path, const std::string& kernel, bool json) {
  return list_kernels(path, kernel, json, disassembly_of);
}

Result<GfxListing> gfx_check(const std::string& path, const std::string& kernel, GfxForm form) {
  if (std::filesystem::is_directory(path)) return gfx_check_folder(path, kernel, form);
  if (form == GfxForm::sarif) return gfx_sarif({path}, kernel);
  return list_kernels(path, kernel, form == GfxForm::json, waits_of);
}

Result<std::vector<const gfx::Kernel*>> gfx_kernels(const gfx::CodeObject& object,
                                                    const std::string& name) {
  return chosen(object, name);
}

}  // namespace mla::app
