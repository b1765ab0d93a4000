// Skip reasons: why a property said nothing about cases, and which of the reasons to show.
//
// The most frequent reason is shown. That a claim is not about a kind of step, or that a backend
// has no such step, is shown only where there is no other reason. Private to properties.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "properties/step/verdict.hpp"

namespace mla::prop {

class SkipReasons {
 public:
  // `verdict`: skip or not_applicable.
  void note(std::int64_t index, Verdict verdict, const std::string& reason);

  struct Shown {
    std::string reason;
    std::int64_t cases = 0;  // that it was given for
  };
  // The same for every order of notes.
  [[nodiscard]] Shown most_telling() const;
  // That of the lowest case: all that is sure of a property that was not asked about every case.
  [[nodiscard]] Shown first() const;

 private:
  struct Given {
    bool refused = false;  // skip, not not_applicable
    std::int64_t cases = 0;
    std::int64_t first = 0;
  };
  std::map<std::string, Given> given_;
};

}  // namespace mla::prop
