// Result<T>: a value, or an error that says in a sentence which value was wrong.
//
// Used by every function that can fail on its input. To ask an error for its value prints the error
// and ends the process, in every build. No exception crosses a folder (design rule 7).
#pragma once

#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/lifetime.hpp"

namespace mla {

enum class ErrorCode {
  usage,        // the text of a case, an option or a file is malformed
  unsupported,  // well-formed, but no kernel or planner accepts it
  refused,      // the original accepts it and is broken there (see `bug`)
  overrun,      // a buffer is too small for what has to be written
  fault,        // the environment or a device failed
};

struct Error {
  ErrorCode code = ErrorCode::usage;
  std::string message;   // a sentence that names the offending value
  std::string bug = {};  // "BUG-075" when the refusal guards a known defect, otherwise empty
};

[[noreturn]] inline void end_for_want_of_value(const Error& error) {
  std::fprintf(stderr, "mla-testbed: a value was asked of an error: %s\n", error.message.c_str());
  std::abort();
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  // Of a result that ends with the statement, by value: a reference would outlive it.
  [[nodiscard]] const T& value() const& MLA_LIFETIME_BOUND {
    return expect_value(), *std::get_if<0>(&state_);
  }
  [[nodiscard]] T& value() & MLA_LIFETIME_BOUND { return expect_value(), *std::get_if<0>(&state_); }
  [[nodiscard]] T value() && { return expect_value(), std::move(*std::get_if<0>(&state_)); }
  [[nodiscard]] const Error& error() const& MLA_LIFETIME_BOUND {
    return assert(!ok()), *std::get_if<1>(&state_);
  }
  [[nodiscard]] Error error() && { return assert(!ok()), std::move(*std::get_if<1>(&state_)); }

  const T& operator*() const& MLA_LIFETIME_BOUND { return value(); }
  T& operator*() & MLA_LIFETIME_BOUND { return value(); }
  T operator*() && { return std::move(*this).value(); }
  const T* operator->() const& MLA_LIFETIME_BOUND { return &value(); }
  T* operator->() & MLA_LIFETIME_BOUND { return &value(); }
  const T* operator->() && = delete;  // (*f()).member keeps what it refers to

 private:
  void expect_value() const {
    if (!ok()) end_for_want_of_value(*std::get_if<1>(&state_));
  }
  std::variant<T, Error> state_;
};

// What an action that yields nothing says: an error, which makes it true, or none when it worked.
class [[nodiscard]] MaybeError : public std::optional<Error> {
 public:
  using std::optional<Error>::optional;
};

}  // namespace mla
