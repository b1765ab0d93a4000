#include "properties/c_api/written.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <utility>

#include "properties/c_api/mla_testbed.h"

namespace mla::c_api {
namespace {

std::atomic<int>& checked() {
  static std::atomic<int> value{0};
  return value;
}

// Element i of poison of elements of `size` bytes.
void put_poison(std::byte* at, std::size_t size) {
  if (size == 4) {
    std::memcpy(at, &kPoisonF32, 4);
  } else {
    std::memcpy(at, &kPoisonBf16, 2);
  }
}

bool holds_poison(const std::byte* at, std::size_t bytes, std::size_t size) {
  std::byte poison[4];
  put_poison(poison, size);
  for (std::size_t i = 0; i < bytes; i += size)
    if (std::memcmp(at + i, poison, size) != 0) return false;
  return true;
}

}  // namespace

bool written_is_checked() {
  return checked().load() != 0;
}

void Expectation::row(std::string what, void* at, std::int64_t count, std::size_t size) {
  rows_.push_back({std::move(what),
                   static_cast<std::byte*>(at),
                   static_cast<std::size_t>(count) * size,
                   size,
                   {}});
}

void Expectation::poison() {
  poisoned_ = true;
  for (Row& row : rows_) {
    row.before.assign(row.at, row.at + row.bytes);
    for (std::size_t i = 0; i < row.bytes; i += row.size) put_poison(row.at + i, row.size);
  }
}

std::vector<Fault> Expectation::finish() {
  std::vector<Fault> faults;
  for (Row& row : std::exchange(rows_, {})) {
    if (!poisoned_ || row.before.size() != row.bytes) continue;
    if (row.bytes == 0 || !holds_poison(row.at, row.bytes, row.size)) continue;
    std::copy(row.before.begin(), row.before.end(), row.at);
    faults.push_back({row.what + " was not written", -1, -1});
  }
  return faults;
}

bool is_poison(const float* at, std::int64_t count) {
  return count > 0 && holds_poison(reinterpret_cast<const std::byte*>(at),
                                   static_cast<std::size_t>(count) * 4, 4);
}

}  // namespace mla::c_api

extern "C" int mla_check_written(int on) {
  return mla::c_api::checked().exchange(on != 0 ? 1 : 0);
}
