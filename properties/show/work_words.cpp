#include "core/say.hpp"
#include "properties/show/comparison.hpp"
#include "properties/show/pictures.hpp"

namespace mla::show {
namespace {

constexpr std::int64_t kLetters = 26;

}  // namespace

std::string work_label(const DrawnPlan& plan, const Work& work) {
  if (std::ssize(plan.works) > kLetters) return std::to_string(work.index);
  return {static_cast<char>('A' + work.index)};
}

std::string work_text(const DrawnPlan& plan, const Work& work) {
  const plan::WorkItem& r = work.record;
  std::string out = say("work ", work.index);
  if (std::ssize(plan.works) <= kLetters) out += " (" + work_label(plan, work) + ")";
  out += work.slot < 0 ? ", run by no slot" : say(" on slot ", work.slot);
  out += "\n" + (work.request < 0 ? say("batch ", r.batch, ", which is no request")
                                  : plan.work_name(work));
  out += say("\nrows ", from_to(r.q_begin, r.q_end), "\npages ", from_to(r.kv_begin, r.kv_end),
             ": ", counted(work.keys(), "key"), " of the request from key ", work.key_begin,
             "\nkv_offset ", r.kv_offset, ": tokens of the request after them\n");
  if (r.partial_row < 0)
    out += "writes the output";
  else
    out += "writes partial rows " +
           from_to(r.partial_row, std::int64_t{r.partial_row} + r.q_end - r.q_begin);
  if (work.wrong()) {
    const Finding& f = plan.findings[static_cast<std::size_t>(work.finding)];
    out += f.rule == kDiffersRule ? "\n" + f.what : "\nWRONG: " + f.rule + ": " + f.what;
  }
  return out;
}

std::string work_class(const DrawnPlan& plan, const Work& work) {
  return request_class(work.request < 0 ? -1 : work.request / plan.fold) +
         (work.wrong() ? " wrong" : "");
}

}  // namespace mla::show
