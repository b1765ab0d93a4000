#include "tests/hip_backend/aiter/calibration/verdicts.hpp"

#include <cstdio>
#include <fstream>

namespace mla::hip::aiter::test {
namespace {

void print_table(const char* what, const std::map<std::string, Counts>& rows) {
  std::printf("\n| %s | right, valid | right, invalid | wrong, invalid | wrong, valid |\n", what);
  std::puts("|---|---|---|---|---|");
  for (const auto& [name, c] : rows)
    std::printf("| %s | %lld | %lld | %lld | %lld |\n", name.c_str(),
                static_cast<long long>(c.right_valid), static_cast<long long>(c.right_invalid),
                static_cast<long long>(c.wrong_invalid), static_cast<long long>(c.wrong_valid));
}

std::string json(const char* name, std::span<const std::int32_t> values) {
  std::string text = ", \"" + std::string(name) + "\": [";
  for (std::size_t i = 0; i < values.size(); ++i)
    text += (i == 0 ? "" : ",") + std::to_string(values[i]);
  return text + "]";
}
std::string json(const char* name, const std::string& value) {
  return ", \"" + std::string(name) + "\": \"" + value + "\"";
}
std::string json(const char* name, std::int64_t value) {
  return ", \"" + std::string(name) + "\": " + std::to_string(value);
}

}  // namespace

void Counts::count(const PlanVerdict& verdict) {
  const bool valid = verdict.violations.empty();
  ++(verdict.wrong.empty() ? (valid ? right_valid : right_invalid)
                           : (valid ? wrong_valid : wrong_invalid));
}

void tell(const PlanChange& change, const PlanVerdict& verdict, bool all) {
  const bool right = verdict.wrong.empty();
  if (right == verdict.violations.empty() || (right && !all)) return;
  std::printf("    %s %s: %s\n      %s\n", right ? "right, yet invalid:" : "WRONG, YET VALID:",
              std::string(change.family).c_str(), change.what.c_str(),
              right ? verdict.violations[0].what.c_str() : verdict.wrong.c_str());
}

std::string kernel_family(Arch arch, const ManifestRow& row) {
  std::string name = row.file.substr(0, row.file.rfind('.'));
  for (const std::string_view variant : {"_lse", "_msk0", "_cprr"})
    if (const std::size_t at = name.find(variant); at != std::string::npos && row.key.heads != 128)
      name.erase(at, variant.size());
  for (const std::string_view common : {"mla_dec_stage1_bf16_", "mla_"})
    if (name.starts_with(common)) name.erase(0, common.size());
  return std::string(mla::name(arch)) + " " + name;
}

std::string rules_of(const std::vector<plan::Violation>& violations) {
  std::set<std::string_view> rules;
  for (const plan::Violation& v : violations) rules.insert(plan::name(v.rule));
  std::string text;
  for (const std::string_view rule : rules) text += (text.empty() ? "" : ",") + std::string(rule);
  return text;
}

void CalibrationTable::count(const std::string& kernel, std::string_view change,
                             const PlanVerdict& verdict) {
  by_kernel_[kernel].count(verdict);
  by_change_[std::string(change)].count(verdict);
}

void CalibrationTable::print() const {
  print_table("kernel", by_kernel_);
  print_table("change", by_change_);
}

std::int64_t CalibrationTable::plans() const {
  std::int64_t sum = 0;
  for (const auto& [name, c] : by_kernel_)
    sum += c.right_valid + c.right_invalid + c.wrong_invalid + c.wrong_valid;
  return sum;
}

std::int64_t CalibrationTable::wrong_valid() const {
  std::int64_t sum = 0;
  for (const auto& [name, c] : by_kernel_) sum += c.wrong_valid;
  return sum;
}

void Corpus::add(const std::string& kernel, const Case& spec, const PlanChange& change,
                 const plan::PlanCheckInput& input, const PlanVerdict& verdict) {
  const std::string rules = rules_of(verdict.violations);
  const bool right = verdict.wrong.empty();
  const std::string kind = kernel + "/" + std::string(change.family) +
                           (rules.empty() ? "/valid" : "/invalid") + (right ? "/right" : "/wrong");
  if (!kinds_.insert(kind).second) return;
  std::string line = "{\"kernel\": \"" + kernel + "\"";
  line += json("change", std::string(change.family) + ": " + change.what);
  line += ", \"right\": " + std::string(right ? "true" : "false") + json("rules", rules);
  line += json("arch", std::string(name(spec.arch)));
  line += json("dtype", std::string(name(spec.dtype.q)) + "/" + std::string(name(spec.dtype.kv)));
  line += json("heads", spec.heads) + json("units", spec.compute_units);
  line += json("causal", input.causal ? 1 : 0) + json("masks", input.kernel_masks ? 1 : 0);
  line += json("page_size", input.page_size) + json("max_qo_len", input.max_qo_len);
  line += json("qo_indptr", input.qo_indptr) + json("kv_indptr", input.kv_indptr);
  line += json("last_page_len", input.last_page_len);
  line += json("work_indptr", input.plan.work_indptr);
  line += json("work_info", input.plan.work_info);
  line += json("reduce_indptr", input.plan.reduce_indptr);
  line += json("reduce_final_map", input.plan.reduce_final_map);
  line += json("reduce_partial_map", input.plan.reduce_partial_map);
  lines_.push_back(line + "}");
}

bool Corpus::write(const std::string& path) const {
  std::ofstream file(path);
  file << "[\n";
  for (std::size_t i = 0; i < lines_.size(); ++i)
    file << lines_[i] << (i + 1 < lines_.size() ? ",\n" : "\n");
  file << "]\n";
  return static_cast<bool>(file.flush());
}

}  // namespace mla::hip::aiter::test
