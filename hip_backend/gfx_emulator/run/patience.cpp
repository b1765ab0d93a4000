#include "hip_backend/gfx_emulator/run/patience.hpp"

namespace mla::gfx {

Patience::Watched::Watched(const Operations& operations) {
  for (std::size_t k = 0; k < operations.size(); ++k) {
    const Operation& operation = operations.at(static_cast<unsigned>(k));
    const Class kind = operation.kind;
    const bool memory = kind == Class::global || kind == Class::flat || kind == Class::buffer;
    const auto index = static_cast<std::uint16_t>(k);
    if (memory && operation.has(traits::atomic)) {
      atomics.push_back(index);
    } else if (kind == Class::mfma || kind == Class::lds || kind == Class::barrier ||
               (memory && operation.name.find("_store_") != std::string::npos)) {
      work.push_back(index);
    }
  }
}

const Patience::Watched& Patience::watched(Arch arch) {
  static const Watched gfx942(Operations::of(Arch::gfx942)), gfx950(Operations::of(Arch::gfx950));
  return arch == Arch::gfx942 ? gfx942 : gfx950;
}

std::uint64_t Patience::count(const Group& group, const std::vector<std::uint16_t>& operations) {
  std::uint64_t sum = 0;
  for (const std::uint16_t operation : operations) sum += group.executed[operation];
  return sum;
}

void Patience::start(const Group& group) {
  in_window_ = in_all_ = 0;
  work_before_ = count(group, watched_.work);
  atomics_before_ = atomics_in_window_ = count(group, watched_.atomics);
  idle_ = true;
}

bool Patience::looks_waiting(const Group& group) {
  in_all_ += in_window_;
  in_window_ = 0;
  const std::uint64_t work = count(group, watched_.work), atomics = count(group, watched_.atomics);
  const bool worked = work != work_before_;
  idle_ = idle_ && !worked && atomics == atomics_in_window_;
  work_before_ = work;
  atomics_in_window_ = atomics;
  return !worked || (in_all_ >= most && atomics != atomics_before_);
}

}  // namespace mla::gfx
