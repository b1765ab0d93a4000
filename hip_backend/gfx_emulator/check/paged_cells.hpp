// Owns: one cell for each dword of global memory that a check has to know, a page of them at a
// time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace mla::gfx {

template <class Cell>
class PagedCells {
 public:
  static constexpr std::uint64_t page_bytes = 4096;

  // That of the dword at or around an address; those of one page follow each other.
  Cell& at(std::uint64_t address) {
    const std::uint64_t number = address / page_bytes;
    Recent& recent = recent_[number % recent_.size()];
    if (recent.number != number) {
      auto& page = pages_[number];
      if (page == nullptr) page = std::make_unique<Page>();
      recent = {number, page.get()};
    }
    return (*recent.page)[address % page_bytes / 4];
  }

 private:
  using Page = std::array<Cell, page_bytes / 4>;
  struct Recent {
    std::uint64_t number = ~std::uint64_t{0};
    Page* page = nullptr;
  };
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::array<Recent, 256> recent_;  // by the low bits of their number
};

}  // namespace mla::gfx
