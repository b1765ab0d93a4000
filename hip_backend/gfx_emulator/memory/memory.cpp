#include "hip_backend/gfx_emulator/memory/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "hip_backend/gfx_emulator/memory/host_threads.hpp"

namespace mla::gfx {
namespace {

constexpr std::size_t alignment = 256;
constexpr std::size_t fence = 4096;  // unregistered bytes on each side
// From this size on a range maps one chunk again and again, and is not filled.
constexpr std::size_t large = std::size_t{8} << 20, chunk = std::size_t{2} << 20;
static_assert(chunk == fresh_period);

std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

bool before(std::uint64_t address, const Range& range) {
  return address < range.base;
}

// The whole pages of what will be written anew: without what they hold, which would be copied
// first, and large where the system has large ones. False: the system gave none.
bool renew_pages(std::byte* bytes, std::size_t size) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t skipped = (page - address_of(bytes) % page) % page;
  const std::size_t whole = (size - skipped) / page * page;
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
  void* const at = bytes + skipped;
  if (::mmap(at, whole, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED) return false;
  static_cast<void>(::madvise(at, whole, MADV_HUGEPAGE));
  return true;
}

}  // namespace

Memory::Memory() : ranges_(std::make_shared<const std::vector<Range>>()) {}

Memory::~Memory() {
  for (const auto& [word, file] : patterns_)
    if (file >= 0) ::close(file);
}

MaybeError Memory::insert(Range range) {
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

MaybeError Memory::add(std::span<std::byte> bytes, std::string name, Rights rights) {
  const std::lock_guard lock(mutex_);
  return insert({address_of(bytes.data()), bytes.size(), rights, std::move(name)});
}

MaybeError Memory::add_read_only(std::span<const std::byte> bytes, std::string name) {
  const std::lock_guard lock(mutex_);
  return insert({address_of(bytes.data()), bytes.size(), Rights::read, std::move(name)});
}

std::shared_ptr<std::byte> Memory::mapped(std::size_t size, Word word) {
  const auto [pattern, fresh] = patterns_.try_emplace(word, -1);
  if (fresh) {
    std::vector<std::uint32_t> words(chunk / sizeof(std::uint32_t), word.value_or(0));
    // The range begins after the fence: pages are aligned as ranges are.
    for (std::size_t k = 0; !word && k < words.size(); ++k)
      words[k] = fresh_word(k * sizeof(std::uint32_t) + chunk - fence);
    const int file = ::memfd_create("device memory", MFD_CLOEXEC);
    if (file >= 0 && ::write(file, words.data(), chunk) == static_cast<ssize_t>(chunk))
      pattern->second = file;
    else if (file >= 0)
      ::close(file);
  }
  if (pattern->second < 0) return nullptr;
  const std::size_t all = (size + chunk - 1) / chunk * chunk;
  void* const at = ::mmap(nullptr, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return nullptr;
  std::shared_ptr<std::byte> owner(static_cast<std::byte*>(at),
                                   [all](std::byte* bytes) { ::munmap(bytes, all); });
  for (std::size_t offset = 0; offset < all; offset += chunk)
    if (::mmap(owner.get() + offset, chunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED,
               pattern->second, 0) == MAP_FAILED)
      return nullptr;
  return owner;
}

Result<std::span<std::byte>> Memory::allocate(std::size_t size, std::string name,
                                              std::uint32_t word) {
  return allocate_with(size, std::move(name), word);
}

Result<std::span<std::byte>> Memory::allocate_fresh(std::size_t size, std::string name) {
  return allocate_with(size, std::move(name), std::nullopt);
}

Result<std::span<std::byte>> Memory::allocate_with(std::size_t size, std::string name, Word word) {
  const std::lock_guard lock(mutex_);
  const std::size_t all = size + alignment + 2 * fence;
  std::shared_ptr<std::byte> bytes = size >= large ? mapped(all, word) : nullptr;
  const bool pages = bytes != nullptr;
  bool fill = false;  // with fresh words
  if (!bytes) {
    bytes = std::shared_ptr<std::byte>(new std::byte[all], std::default_delete<std::byte[]>());
    // Whole words from the first of the range on: its place is a multiple of four.
    constexpr std::size_t step = sizeof(std::uint32_t);
    const auto spare = static_cast<std::size_t>(-address_of(bytes.get()) % step);
    std::memset(bytes.get(), 0xa5, spare);
    auto* const words = reinterpret_cast<std::uint32_t*>(bytes.get() + spare);
    std::fill_n(words, (all - spare) / step, word.value_or(0xa5a5a5a5U));
    fill = !word;
  }
  const std::uint64_t free = address_of(bytes.get()) + fence;
  std::byte* const base = bytes.get() + fence + (alignment - free % alignment) % alignment;
  if (auto error = insert({.base = address_of(base),
                           .size = size,
                           .rights = Rights::read_write,
                           .name = std::move(name),
                           .fresh = !word})) {
    return *error;
  }
  auto* const words = reinterpret_cast<std::uint32_t*>(base);
  for (std::size_t k = 0; fill && k < size / sizeof *words; ++k)
    words[k] = fresh_word(k * sizeof *words);
  blocks_.push_back({address_of(base), std::move(bytes), pages});
  return std::span(base, size);
}

MaybeError Memory::copy_in(std::uint64_t to, std::span<const std::byte> from, int threads) {
  if (from.empty()) return std::nullopt;
  auto* const bytes = reinterpret_cast<std::byte*>(to);
  bool whole = false;
  {
    const std::lock_guard lock(mutex_);
    const Range* const range = find_range(*ranges_, to, from.size());
    if (range == nullptr) {
      return Error{
          ErrorCode::usage,
          "no device memory of " + std::to_string(from.size()) + " bytes at " + std::to_string(to),
          {}};
    }
    const auto here = [&](const Block& block) { return block.base == range->base; };
    const auto block = std::find_if(blocks_.begin(), blocks_.end(), here);
    whole = from.size() >= large && block != blocks_.end() && block->mapped;
  }
  if (whole && !renew_pages(bytes, from.size())) {
    return Error{
        ErrorCode::fault,
        "the system has no pages for " + std::to_string(from.size()) + " bytes of device memory",
        {}};
  }
  const auto parts = static_cast<std::int64_t>((from.size() + chunk - 1) / chunk);
  [[maybe_unused]] const int team = parts < 4 ? 1 : host_threads(threads);
#pragma omp parallel for schedule(dynamic, 1) num_threads(team) if (team > 1)
  for (std::int64_t part = 0; part < parts; ++part) {
    const std::size_t at = static_cast<std::size_t>(part) * chunk;
    std::memcpy(bytes + at, from.data() + at, std::min(chunk, from.size() - at));
  }
  return std::nullopt;
}

MaybeError Memory::release(const void* base) {
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
