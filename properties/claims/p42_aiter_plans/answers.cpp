#include "properties/claims/p42_aiter_plans/answers.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <utility>

#include "core/io/checksum.hpp"
#include "core/io/embed.hpp"

MLA_EMBED(mla_aiter_answers, MLA_AITER_ANSWERS)

namespace mla::prop {
namespace {

[[noreturn]] void damaged(std::string_view line) {
  std::fprintf(stderr, "mla-testbed: AITER's answers in this build are damaged: %s\n",
               std::string(line.substr(0, 200)).c_str());
  std::abort();
}

// The words of a line, each taken once. A line without the word that is asked for is damaged.
class AnswerLine {
 public:
  explicit AnswerLine(std::string_view line) : line_(line), rest_(line) {}

  std::string_view word() {
    const std::size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view out = rest_.substr(0, end);
    if (out.empty()) damaged(line_);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return out;
  }
  template <class T = std::int64_t>
  T number(int base = 10) {
    const std::string_view text = word();
    T out{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
    if (error != std::errc() || end != text.data() + text.size()) damaged(line_);
    return out;
  }
  bool truth() { return number() != 0; }
  Arch arch() { return known(arch_from_name(word())); }
  Dtype dtype() { return known(dtype_from_name(word())); }
  DtypePair dtypes() {
    const Dtype q = dtype();
    return {q, dtype()};
  }
  std::vector<std::int32_t> numbers(std::int64_t count) {
    std::vector<std::int32_t> out;
    for (std::int64_t i = 0; i < count; ++i) out.push_back(number<std::int32_t>());
    return out;
  }
  AiterSums sums() {
    AiterSums out{};
    for (std::uint32_t& sum : out) sum = number<std::uint32_t>(16);
    return out;
  }
  // A row does not have the two words of work_meta_data.
  plan::BufferSizes sizes() {
    plan::BufferSizes out;
    for (std::int64_t* size : {&out.work_indptr, &out.work_items, &out.reduce_indptr,
                               &out.reduce_final_rows, &out.reduce_partial_map})
      *size = number();
    return out;
  }
  void end() const {
    if (!rest_.empty()) damaged(line_);
  }

 private:
  template <class T>
  T known(const std::optional<T>& value) const {
    if (!value) damaged(line_);
    return *value;
  }
  std::string_view line_, rest_;
};

plan::PlannerVersion version_of(std::int64_t number) {
  if (number == 12) return plan::PlannerVersion::v1_2;
  return number == 11 ? plan::PlannerVersion::v1_1 : plan::PlannerVersion::v1_0;
}

AiterCall read_plan(AnswerLine line) {
  AiterCall out;
  out.name = line.word();
  plan::PlanInput& in = out.scalars;
  in.fidelity = plan::Fidelity::as_aiter;
  in.key.arch = line.arch();
  in.version = version_of(line.number());
  if (line.truth()) in.kernel = plan::V12Kernel::serial;
  in.key.compute_units = ComputeUnits(line.number());
  in.key.heads_per_kv_head = Heads(line.number());
  in.key.kv_heads = Heads(line.number());
  in.key.dtype = line.dtypes();
  in.causal = line.truth();
  in.page_size = line.number();
  in.kv_granularity = line.number();
  in.key.max_qo_len = line.number();
  in.uniform_qo_len = line.number();
  in.topk = line.number();
  in.max_split_per_batch = line.number();
  in.cp_round_robin = line.truth();
  out.query.arch = in.key.arch;
  out.query.compute_units = in.key.compute_units;
  out.query.heads = in.key.heads_per_kv_head * in.key.kv_heads.count();
  out.query.dtype = in.key.dtype;
  out.query.sparse = in.topk >= 0;
  out.query.fast_mode = in.version == plan::PlannerVersion::v1_2;
  out.query.intra_batch_mode = line.truth();
  out.query.max_qo_len = line.number();
  out.query.num_kv_splits = line.number();
  const std::int64_t batch = line.number();
  out.query.batch = Requests(batch);
  out.qo_indptr = line.numbers(batch + 1);
  out.kv_indptr = line.numbers(batch + 1);
  out.last_page_len = line.numbers(batch);
  out.sums = line.sums();
  line.end();
  return out;
}

AiterPrefillCall read_prefill(AnswerLine line) {
  AiterPrefillCall out;
  out.name = line.word();
  plan::PsInput& in = out.scalars;
  in.compute_units = ComputeUnits(line.number());
  in.kv_heads = Heads(line.number());
  in.qhead_granularity = line.number();
  in.qlen_granularity = line.number();
  in.kvlen_granularity = line.number();
  in.block_size = line.number();
  in.causal = line.truth();
  out.query.compute_units = in.compute_units;
  out.query.kv_heads = in.kv_heads;
  out.query.qlen_granularity = in.qlen_granularity;
  out.query.max_qo_len = line.number();
  const std::int64_t batch = line.number();
  out.query.batch = Requests(batch);
  out.qo_indptr = line.numbers(batch + 1);
  out.kv_indptr = line.numbers(batch + 1);
  out.context_lens = line.numbers(batch);
  out.sums = line.sums();
  line.end();
  return out;
}

AiterRow<plan::SizeQuery, plan::BufferSizes> read_size(AnswerLine line) {
  const plan::SizeQuery query{.arch = line.arch(),
                              .compute_units = ComputeUnits(line.number()),
                              .batch = Requests(line.number()),
                              .max_qo_len = line.number(),
                              .heads = Heads(line.number()),
                              .dtype = line.dtypes(),
                              .sparse = line.truth(),
                              .fast_mode = line.truth(),
                              .num_kv_splits = line.number(),
                              .intra_batch_mode = line.truth(),
                              .max_split_per_batch = line.number()};
  return {.query = query, .answer = line.sizes()};
}

AiterRow<plan::PsSizeQuery, plan::BufferSizes> read_prefill_size(AnswerLine line) {
  plan::PsSizeQuery query{.compute_units = ComputeUnits(line.number()),
                          .batch = Requests(line.number()),
                          .kv_heads = Heads(line.number()),
                          .max_qo_len = line.number(),
                          .qlen_granularity = line.number()};
  return {.query = query, .answer = line.sizes()};
}

AiterRow<plan::SplitQuery, std::int64_t> read_split(AnswerLine line) {
  plan::SplitQuery query;
  query.compute_units = ComputeUnits(line.number());
  query.batch = Requests(line.number());
  query.total_kv = Tokens(line.number());
  query.heads = Heads(line.number());
  query.max_qo_len = line.number();
  const Dtype q = line.truth() ? Dtype::fp8 : Dtype::bf16;
  query.dtype = {q, q};
  return {.query = query, .answer = line.number()};
}

AiterAnswers read_answers(std::string_view text) {
  AiterAnswers out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    AnswerLine line(text.substr(0, end));
    const std::string_view kind = line.word();
    if (kind == "plan")
      out.calls.push_back(read_plan(line));
    else if (kind == "prefill")
      out.prefills.push_back(read_prefill(line));
    else if (kind == "size")
      out.sizes.push_back(read_size(line));
    else if (kind == "prefill_size")
      out.prefill_sizes.push_back(read_prefill_size(line));
    else if (kind == "split")
      out.splits.push_back(read_split(line));
    else
      damaged(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

plan::PlanInput AiterCall::input() const& {
  plan::PlanInput out = scalars;
  out.qo_indptr = qo_indptr;
  out.kv_indptr = kv_indptr;
  out.last_page_len = last_page_len;
  return out;
}

plan::PsInput AiterPrefillCall::input() const& {
  plan::PsInput out = scalars;
  out.qo_indptr = qo_indptr;
  out.kv_indptr = kv_indptr;
  out.context_lens = context_lens;
  return out;
}

std::optional<std::string_view> other_list(const AiterSums& aiter, const plan::Plan& plan) {
  const auto lists = plan.all();
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const auto used = lists[i]->data().first(static_cast<std::size_t>(lists[i]->used()));
    if (static_cast<std::uint32_t>(io::fnv1a64(std::as_bytes(used))) != aiter[i])
      return lists[i]->name();
  }
  return std::nullopt;
}

const AiterAnswers& aiter_answers() {
  static const AiterAnswers answers =
      read_answers({reinterpret_cast<const char*>(mla_aiter_answers_begin),
                    static_cast<std::size_t>(mla_aiter_answers_end - mla_aiter_answers_begin)});
  return answers;
}

}  // namespace mla::prop
