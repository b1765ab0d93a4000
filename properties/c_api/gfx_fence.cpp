#include "properties/c_api/gfx_fence.hpp"

#include <sys/mman.h>

#include <cstring>

#include "core/say.hpp"

namespace mla::c_api {
namespace {

constexpr std::uint64_t page = 4096;

std::uint64_t whole_pages(std::uint64_t size) {
  return (size + page - 1) / page * page;
}

std::uint64_t address_of(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

}  // namespace

FencedCopies::~FencedCopies() {
  for (const Copy& copy : copies_) munmap(copy.reserved, copy.reserved_size);
}

MaybeError FencedCopies::add(const mla_gfx_range& range, std::uint64_t fence, gfx::Memory& memory) {
  constexpr std::uint64_t limit = std::uint64_t{1} << 40;
  if (fence > limit || range.size > limit) {
    return Error{ErrorCode::usage,
                 say("a fence of ", fence, " bytes around ", range.size,
                     " bytes; expected at most 2^40 each"),
                 {}};
  }
  const std::uint64_t before = whole_pages(fence);
  // What is left of a page keeps the alignment that the range has.
  const std::uint64_t in_page = address_of(range.address) % page;
  const std::uint64_t size = 2 * before + whole_pages(in_page + range.size);
  void* const reserved = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) {
    return Error{ErrorCode::fault, say("no ", size, " bytes of addresses are left"), {}};
  }
  auto* const base = static_cast<std::byte*>(reserved);
  std::byte* const begin = base + before + in_page;
  copies_.push_back({range, base, size, fence, begin});
  std::memcpy(begin, range.address, range.size);
  const std::span bytes(begin, range.size);
  const std::string name = range.name == nullptr ? "unnamed" : range.name;
  return range.rights == MLA_GFX_READ ? memory.add_read_only(bytes, name)
                                      : memory.add(bytes, name, gfx::Rights::read_write);
}

void FencedCopies::move_pointers(const gfx::Kernel& kernel, std::span<std::byte> kernarg) const {
  for (const gfx::Argument& argument : kernel.arguments) {
    if (argument.kind != "global_buffer" || argument.size != sizeof(std::uint64_t)) continue;
    if (argument.offset > kernarg.size() || kernarg.size() - argument.offset < argument.size) {
      continue;
    }
    std::uint64_t pointer = 0;
    std::memcpy(&pointer, kernarg.data() + argument.offset, sizeof pointer);
    const Copy* found = nullptr;
    for (const Copy& copy : copies_) {
      const std::uint64_t offset = pointer - address_of(copy.range.address);
      if (offset < copy.range.size || (offset == copy.range.size && found == nullptr)) {
        found = &copy;
      }
    }
    if (found == nullptr) continue;
    pointer += address_of(found->begin) - address_of(found->range.address);
    std::memcpy(kernarg.data() + argument.offset, &pointer, sizeof pointer);
  }
}

void FencedCopies::copy_back() const {
  for (const Copy& copy : copies_) {
    if (copy.range.rights == MLA_GFX_READ) continue;
    std::memcpy(copy.range.address, copy.begin, copy.range.size);
  }
}

void FencedCopies::restore_addresses(std::vector<gfx::Event>& events) const {
  for (gfx::Event& event : events) {
    for (const Copy& copy : copies_) {
      if (event.address - address_of(copy.reserved) >= copy.reserved_size) continue;
      event.address += address_of(copy.range.address) - address_of(copy.begin);
      break;
    }
  }
}

}  // namespace mla::c_api
