#include "core/engine/device/workspace.hpp"

#include <algorithm>

#include "core/say.hpp"

namespace mla::device {

WorkspaceLease::~WorkspaceLease() {
  if (owner_ != nullptr) owner_->holder_.clear();
}

DeviceView<std::byte> WorkspaceLease::view() const {
  return owner_->memory_.view();
}

MaybeError Workspace::reserve(const std::string& who, std::size_t bytes) {
  if (locked_)
    return Error{ErrorCode::refused, say(who, " reserves ", bytes, " bytes of a locked workspace"),
                 "BUG-089"};
  bytes_ = std::max(bytes_, bytes);
  return std::nullopt;
}

void Workspace::lock() {
  memory_ = DeviceBuffer<std::byte>(heap_, "workspace", bytes_);
  locked_ = true;
}

Result<WorkspaceLease> Workspace::acquire(const std::string& who, std::size_t bytes) {
  if (!locked_) return Error{ErrorCode::refused, who + " uses the workspace before it is locked"};
  if (bytes > bytes_)
    return Error{ErrorCode::overrun,
                 say(who, " needs ", bytes, " bytes, the workspace is locked at ", bytes_),
                 "BUG-089"};
  if (!holder_.empty())
    return Error{ErrorCode::refused, who + " uses the workspace while " + holder_ + " holds it"};
  holder_ = who;
  return WorkspaceLease(*this);
}

}  // namespace mla::device
