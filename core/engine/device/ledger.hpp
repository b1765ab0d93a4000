// TransferLedger: every device-to-host copy and every synchronisation, with its name.
//
// A decode build that waits for the device once a step costs more than the attention it prepares
// (BUG-038); this is how a property counts the waits (P21).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/host_mutex.hpp"

namespace mla::device {

enum class TransferKind : std::uint8_t {
  to_device,    // asynchronous, ordered on the stream
  to_host,      // waits for the device
  synchronise,  // waits for the device
};

struct Transfer {
  TransferKind kind = TransferKind::to_device;
  std::string name;
  std::size_t bytes = 0;
};

class TransferLedger {
 public:
  TransferLedger() = default;
  TransferLedger(const TransferLedger&) = delete;
  TransferLedger& operator=(const TransferLedger&) = delete;

  void record(TransferKind kind, std::string name, std::size_t bytes);
  [[nodiscard]] std::vector<Transfer> entries() const;
  // Those that made the host wait.
  [[nodiscard]] std::vector<Transfer> waits() const;
  void clear();

 private:
  mutable HostMutex mutex_;
  std::vector<Transfer> entries_;
};

}  // namespace mla::device
