#include "properties/c_api/backend.hpp"

#include <cstdlib>
#include <mutex>

#include "core/say.hpp"

namespace mla::c_api {
namespace {

struct Choice {
  std::mutex mutex;
  std::string name;    // empty: none is chosen
  std::string device;  // the same
};
Choice& choice() {
  static Choice value;
  return value;
}

std::string chosen_name() {
  {
    const std::scoped_lock lock(choice().mutex);
    if (!choice().name.empty()) return choice().name;
  }
  const char* named = std::getenv("MLA_TESTBED_BACKEND");
  return named != nullptr && *named != '\0' ? named : "cpu";
}

Result<BackendKind> backend_named(const std::string& name) {
  if (name == "cpu") return BackendKind::cpu;
  if (name == "aiter") return BackendKind::aiter;
  if (name == "hip") return BackendKind::hip;
  return Error{ErrorCode::usage, "backend is '" + name + "'; expected cpu, aiter or hip"};
}

const char* name_of(BackendKind backend) {
  switch (backend) {
    case BackendKind::cpu:
      return "cpu";
    case BackendKind::aiter:
      return "aiter";
    case BackendKind::hip:
      break;
  }
  return "hip";
}

std::optional<Failure> set_backend(const char* name) {
  if (name == nullptr) return usage("backend is NULL; expected cpu, aiter or hip");
  if (const auto backend = backend_named(name); !backend) return failure_of(backend.error());
  const std::scoped_lock lock(choice().mutex);
  choice().name = name;
  return std::nullopt;
}

std::optional<Failure> set_device(const char* name) {
  if (name == nullptr) return usage("device is NULL; expected a name, or an empty text");
  const std::scoped_lock lock(choice().mutex);
  choice().device = name;
  return std::nullopt;
}

}  // namespace

std::string chosen_device() {
  {
    const std::scoped_lock lock(choice().mutex);
    if (!choice().device.empty()) return choice().device;
  }
  const char* named = std::getenv("MLA_TESTBED_DEVICE");
  return named != nullptr ? named : "";
}

Result<BackendKind> chosen_backend() {
  return backend_named(chosen_name());
}

Failure not_executed(const char* call, BackendKind backend) {
  return {MLA_UNSUPPORTED, say("backend ", name_of(backend), " does not execute ", call), "", ""};
}

std::optional<Failure> failure_of_faults(const char* call, const std::vector<Fault>& faults) {
  if (faults.empty()) return std::nullopt;
  Failure out{MLA_FAULT, say(call, ": ", faults.front().what), "", ""};
  if (faults.size() > 1) out.message += say(" (and ", faults.size() - 1, " more; see the report)");
  for (const Fault& fault : faults) out.report += fault.what + "\n";
  return out;
}

}  // namespace mla::c_api

extern "C" {

int mla_set_backend(const char* name) {
  return mla::c_api::at_border([&] { return mla::c_api::set_backend(name); });
}
int mla_set_device(const char* name) {
  return mla::c_api::at_border([&] { return mla::c_api::set_device(name); });
}
const char* mla_backend(void) {
  const char* text = "";
  mla::c_api::at_border([&]() -> std::optional<mla::c_api::Failure> {
    text = mla::c_api::keep_text(mla::c_api::chosen_name());
    return std::nullopt;
  });
  return text;
}
}
