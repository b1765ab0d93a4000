#include "hip_backend/gfx_emulator/memory.hpp"

#include <algorithm>
#include <cstring>

namespace mla::gfx {
namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t fence = 4096;  // unregistered bytes on each side

std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

bool before(std::uint64_t address, const Range& range) {
  return address < range.base;
}

}  // namespace

const Range* find_range(std::span<const Range> ranges, std::uint64_t address, std::uint64_t size) {
  auto next = std::upper_bound(ranges.begin(), ranges.end(), address, before);
  if (next == ranges.begin()) return nullptr;
  const Range& range = *--next;
  const std::uint64_t offset = address - range.base;
  return offset <= range.size && size <= range.size - offset ? &range : nullptr;
}

Memory::Memory() : ranges_(std::make_shared<const std::vector<Range>>()) {}

Status Memory::insert(Range range) {
  if (range.size == 0) {
    return Error{ErrorCode::usage, "the device range '" + range.name + "' is empty", {}};
  }
  auto changed = std::make_shared<std::vector<Range>>(*ranges_);
  const auto next = std::upper_bound(changed->begin(), changed->end(), range.base, before);
  const bool hits_next = next != changed->end() && next->base - range.base < range.size;
  const bool hits_last =
      next != changed->begin() && range.base - std::prev(next)->base < std::prev(next)->size;
  if (hits_next || hits_last) {
    const std::string& other = hits_next ? next->name : std::prev(next)->name;
    return Error{ErrorCode::usage,
                 "the device range '" + range.name + "' overlaps the range '" + other + "'",
                 {}};
  }
  changed->insert(next, std::move(range));
  ranges_ = std::move(changed);
  return std::nullopt;
}

Status Memory::add(std::span<std::byte> bytes, std::string name, Rights rights) {
  const std::lock_guard lock(mutex_);
  return insert({address_of(bytes.data()), bytes.size(), rights, std::move(name)});
}

Status Memory::add_read_only(std::span<const std::byte> bytes, std::string name) {
  const std::lock_guard lock(mutex_);
  return insert({address_of(bytes.data()), bytes.size(), Rights::read, std::move(name)});
}

Result<std::span<std::byte>> Memory::allocate(std::size_t size, std::string name) {
  const std::lock_guard lock(mutex_);
  auto bytes = std::make_unique_for_overwrite<std::byte[]>(size + alignment + 2 * fence);
  std::memset(bytes.get(), 0xa5, size + alignment + 2 * fence);
  const std::uint64_t free = address_of(bytes.get()) + fence;
  std::byte* const base = bytes.get() + fence + (alignment - free % alignment) % alignment;
  if (auto error = insert({address_of(base), size, Rights::read_write, std::move(name)})) {
    return *error;
  }
  blocks_.push_back({address_of(base), std::move(bytes)});
  return std::span(base, size);
}

Status Memory::release(const void* base) {
  const std::lock_guard lock(mutex_);
  auto changed = std::make_shared<std::vector<Range>>(*ranges_);
  const auto here = [&](const auto& item) { return item.base == address_of(base); };
  if (std::erase_if(*changed, here) == 0) {
    return Error{
        ErrorCode::usage, "no device range begins at " + std::to_string(address_of(base)), {}};
  }
  std::erase_if(blocks_, here);
  ranges_ = std::move(changed);
  return std::nullopt;
}

std::shared_ptr<const std::vector<Range>> Memory::ranges() const {
  const std::lock_guard lock(mutex_);
  return ranges_;
}

}  // namespace mla::gfx
