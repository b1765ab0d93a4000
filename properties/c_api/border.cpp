#include "properties/c_api/border.hpp"

#ifndef MLA_TESTBED_VERSION
#error "MLA_TESTBED_VERSION is the project's version"
#endif

namespace mla::c_api {
namespace {

struct Last {
  Failure failure;
  std::string text;
};

Last& last() {
  thread_local Last value;
  return value;
}

mla_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::usage:
      return MLA_USAGE;
    case ErrorCode::unsupported:
      return MLA_UNSUPPORTED;
    case ErrorCode::refused:
      return MLA_REFUSED;
    case ErrorCode::overrun:
      return MLA_OVERRUN;
    case ErrorCode::fault:
      return MLA_FAULT;
  }
  return MLA_INTERNAL;
}

}  // namespace

Failure failure_of(const Error& error) {
  return {status_of(error.code), error.message, error.bug, ""};
}

Failure not_there(const Error& error) {
  Failure failure = failure_of(error);
  if (error.code == ErrorCode::fault) failure.status = MLA_DEVICE;
  return failure;
}

Failure usage(std::string sentence) {
  return {MLA_USAGE, std::move(sentence), "", ""};
}

Failure unsupported(std::string sentence) {
  return {MLA_UNSUPPORTED, std::move(sentence), "", ""};
}

locale_t DecimalPoints::plain() {
  // Null, which changes nothing, if there is no memory for it.
  static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
  return locale;
}

int keep(Failure failure) noexcept {
  const mla_status status = failure.status;
  last().failure = std::move(failure);
  return status;
}

const char* keep_text(std::string text) {
  last().text = std::move(text);
  return last().text.c_str();
}

}  // namespace mla::c_api

extern "C" {

int mla_abi_version(void) {
  return MLA_TESTBED_ABI_VERSION;
}
const char* mla_version(void) {
  return MLA_TESTBED_VERSION;
}
const char* mla_last_error(void) {
  return mla::c_api::last().failure.message.c_str();
}
const char* mla_last_bug(void) {
  return mla::c_api::last().failure.bug.c_str();
}
const char* mla_last_report(void) {
  return mla::c_api::last().failure.report.c_str();
}
}
