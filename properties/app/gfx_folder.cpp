// `gfx check` of many code objects: a table, JSON, and SARIF.
#include <algorithm>
#include <filesystem>
#include <map>

#include "core/say.hpp"
#include "properties/app/gfx_findings.hpp"
#include "properties/files/printable.hpp"

namespace mla::app {
namespace {

using Json = nlohmann::ordered_json;

struct CheckedKernel {
  std::string file, kernel, arch;
  GfxFindings checked;
};
struct CheckedFiles {
  std::vector<CheckedKernel> kernels;   // worst first
  std::vector<std::string> unreadable;  // sentences
  std::size_t files = 0;
  [[nodiscard]] prop::ExitCode exit() const {
    const auto found = [](const CheckedKernel& k) { return !k.checked.findings.empty(); };
    if (std::ranges::any_of(kernels, found)) return prop::ExitCode::failed;
    return unreadable.empty() ? prop::ExitCode::held : prop::ExitCode::usage;
  }
};

// A kernel of one name may be in few of many files.
CheckedFiles check_files(const std::vector<std::string>& files, const std::string& kernel) {
  CheckedFiles out;
  out.files = files.size();
  for (const std::string& file : files) {
    const auto object = load_gfx_object(file);
    if (!object) {
      out.unreadable.push_back(object.error().message);
      continue;
    }
    const char* const arch = object->arch() == gfx::Arch::gfx942 ? "gfx942" : "gfx950";
    for (const gfx::Kernel& each : object->kernels()) {
      if (!kernel.empty() && each.name != kernel) continue;
      out.kernels.push_back({file, each.name, arch, gfx_findings(*object, each)});
    }
  }
  std::ranges::stable_sort(out.kernels, [](const CheckedKernel& a, const CheckedKernel& b) {
    return a.checked.findings.size() > b.checked.findings.size();
  });
  return out;
}

Result<std::vector<std::string>> objects_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failed;
  auto entry = std::filesystem::recursive_directory_iterator(folder, failed);
  for (; !failed && entry != std::filesystem::end(entry); entry.increment(failed)) {
    const auto kind = entry->path().extension();
    if ((kind == ".co" || kind == ".hsaco") && entry->is_regular_file(failed)) {
      files.push_back(entry->path().string());
    }
  }
  if (failed) return Error{ErrorCode::fault, say("'", folder, "': ", failed.message())};
  if (files.empty()) {
    return Error{ErrorCode::usage, say("'", folder, "' has no file *.co or *.hsaco")};
  }
  std::ranges::sort(files);
  return files;
}

std::string table_of(const CheckedFiles& all, const std::string& folder) {
  const auto line = [](auto waits, auto states, auto lds, const std::string& rest) {
    const auto cell = [](const std::string& text) {
      return std::string(text.size() < 7 ? 7 - text.size() : 0, ' ') + text;
    };
    return cell(waits) + cell(states) + cell(lds) + "  " + rest + "\n";
  };
  std::string out = line(std::string("waits"), std::string("s_nop"), std::string("LDS"), "kernel");
  std::size_t clean = 0;
  for (const CheckedKernel& k : all.kernels) {
    if (k.checked.findings.empty()) {
      ++clean;
      continue;
    }
    const std::string file = std::filesystem::path(k.file).lexically_relative(folder).string();
    out += line(std::to_string(k.checked.report.missing.size()), std::to_string(k.checked.states),
                std::string(k.checked.lds ? "above" : "."),
                files::printable(k.arch + " " + k.kernel + " in " + file));
  }
  if (clean == all.kernels.size()) out.clear();
  out += say(all.files, all.files == 1 ? " file, " : " files, ", all.kernels.size(), " kernels, ",
             clean, " without findings\n");
  for (const std::string& sentence : all.unreadable) {
    out += "not read: " + files::printable_message(sentence) + "\n";
  }
  return out;
}

Json json_of(const CheckedFiles& all) {
  Json kernels = Json::array();
  for (const CheckedKernel& k : all.kernels) {
    Json findings = Json::array();
    for (const GfxFinding& f : k.checked.findings) findings.push_back(f.json);
    kernels.push_back({{"file", k.file},
                       {"arch", k.arch},
                       {"name", k.kernel},
                       {"missing_waits", k.checked.report.missing.size()},
                       {"missing_wait_states", k.checked.states},
                       {"lds_above_limit", k.checked.lds},
                       {"findings", findings}});
  }
  return {{"files", all.files}, {"kernels", kernels}, {"not_read", all.unreadable}};
}

Json sarif_of(const CheckedFiles& all) {
  const std::map<std::string, std::string> rules = {
      {"missing-wait", "A register is used before an s_waitcnt covers the load of it."},
      {"missing-wait-states", "Too few wait states around a matrix instruction."},
      {"lds-above-limit", "A workgroup needs more LDS than there is."}};
  Json described = Json::array(), results = Json::array();
  for (const auto& [id, text] : rules) {
    described.push_back({{"id", id}, {"shortDescription", {{"text", text}}}});
  }
  for (const CheckedKernel& k : all.kernels) {
    for (const GfxFinding& f : k.checked.findings) {
      Json physical = {{"artifactLocation", {{"uri", f.source ? f.source->file : k.file}}}};
      if (f.source) physical["region"] = {{"startLine", f.source->line}};
      const Json place = {{"physicalLocation", physical},
                          {"logicalLocations", {{{"fullyQualifiedName", f.place}}}}};
      results.push_back({{"ruleId", f.problem},
                         {"level", "error"},
                         {"message", {{"text", f.line}}},
                         {"locations", {place}}});
    }
  }
  const Json driver = {{"name", "mla-testbed gfx check"}, {"rules", described}};
  return {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
          {"version", "2.1.0"},
          {"runs", {{{"tool", {{"driver", driver}}}, {"results", results}}}}};
}

std::string dumped(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Result<GfxListing> gfx_check_folder(const std::string& folder, const std::string& kernel,
                                    GfxForm form) {
  const auto files = objects_in(folder);
  if (!files) return files.error();
  const CheckedFiles all = check_files(*files, kernel);
  GfxListing out{.text = {}, .exit = all.exit()};
  out.text = form == GfxForm::text   ? table_of(all, folder)
             : form == GfxForm::json ? dumped(json_of(all))
                                     : dumped(sarif_of(all));
  return out;
}

Result<GfxListing> gfx_sarif(const std::vector<std::string>& files, const std::string& kernel) {
  for (const std::string& file : files) {
    const auto object = load_gfx_object(file);
    if (!object) return object.error();
    if (const auto kernels = gfx_kernels(*object, kernel); !kernels) return kernels.error();
  }
  const CheckedFiles all = check_files(files, kernel);
  return GfxListing{.text = dumped(sarif_of(all)), .exit = all.exit()};
}

}  // namespace mla::app
