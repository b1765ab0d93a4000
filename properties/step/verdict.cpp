#include "properties/step/verdict.hpp"

namespace mla::prop {

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass";
    case Verdict::fail:
      return "fail";
    case Verdict::inconclusive:
      return "inconclusive";
    case Verdict::skip:
      return "skip";
    case Verdict::not_applicable:
      return "not-applicable";
    case Verdict::known_fail:
      return "known-fail";
    case Verdict::unexpected_pass:
      return "unexpected-pass";
  }
  return {};
}

}  // namespace mla::prop
