// What happens where a C call enters the library and leaves it again.
//
// Owns: `Failure`, what a call reports; the thread's last failure; at_border(), which turns
// exceptions of the language (memory, a defect of ours) into a status, so that none crosses the
// border, and keeps the program's locale outside. Private to properties/c_api. A failure that
// cannot be kept for lack of memory leaves its status.
#pragma once

#include <locale.h>

#include <exception>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "core/result.hpp"
#include "core/say.hpp"
#include "properties/c_api/mla_testbed.h"

namespace mla::c_api {

struct Failure {
  mla_status status = MLA_USAGE;
  std::string message;
  std::string bug;     // "BUG-075", or empty
  std::string report;  // faults of a launch, one a line
};

Failure failure_of(const Error& error);
// The same of an attempt to open what a caller named: a fault means that it is not there.
Failure not_there(const Error& error);
// "parameter 'q' is NULL" and the like.
Failure usage(std::string sentence);
// What is well said and no kernel takes.
Failure unsupported(std::string sentence);

// Keeps the failure for mla_last_error() and returns its status.
int keep(Failure failure) noexcept;

// While it lives, this thread writes and reads numbers with a decimal point, whatever locale the
// program has.
class DecimalPoints {
 public:
  DecimalPoints() : before_(uselocale(plain())) {}
  DecimalPoints(const DecimalPoints&) = delete;
  DecimalPoints& operator=(const DecimalPoints&) = delete;
  ~DecimalPoints() { uselocale(before_); }

 private:
  static locale_t plain();
  locale_t before_;
};

// Runs `body`, which returns std::optional<Failure>.
template <class Body>
int at_border(Body&& body) noexcept {
  const DecimalPoints points;
  try {
    std::optional<Failure> failed = std::forward<Body>(body)();
    return failed ? keep(std::move(*failed)) : MLA_OK;
  } catch (const std::bad_alloc&) {
    return keep({MLA_NO_MEMORY, "out of memory", "", ""});
  } catch (const std::exception& e) {
    return keep({MLA_INTERNAL, say("a defect of mla-testbed: ", e.what()), "", ""});
  }
}

// The text that this thread's call returns, kept until the next one.
const char* keep_text(std::string text);

}  // namespace mla::c_api
