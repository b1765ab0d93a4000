#include "hip_backend/aiter_tree/tree_support.hpp"

#include "hip_backend/aiter_tree/message.hpp"

namespace mla::hip::aiter_tree {

Result<SupportAnswer> launched_for(TreeProcess& tree, const SupportQuestion& question) {
  Message asked;
  asked.head = {{"call", "support"},
                {"compute_units", question.compute_units.count()},
                {"requests", question.requests},
                {"rows", question.rows},
                {"heads", question.heads},
                {"q_dtype", name(question.dtype.q)},
                {"kv_dtype", name(question.dtype.kv)},
                {"causal", question.causal},
                {"lse", question.lse},
                {"planned", question.planned}};
  const auto answer = tree.ask(asked);
  if (!answer) return answer.error();
  return SupportAnswer{answer->head.value("launched", std::vector<std::string>{}),
                       answer->head.value("row_heads", std::int64_t{0})};
}

}  // namespace mla::hip::aiter_tree
