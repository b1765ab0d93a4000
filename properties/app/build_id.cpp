#include "properties/app/build_id.hpp"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <span>

#include "core/say.hpp"

namespace mla::app {
namespace {

using NoteBytes = std::span<const std::uint8_t>;

std::string hex_digits(NoteBytes bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  for (const std::uint8_t b : bytes) {
    out += kDigits[b >> 4U];
    out += kDigits[b & 15U];
  }
  return out;
}

// The id among the notes of a segment. A note is a header, a name and a text, both padded to four.
std::string id_of(NoteBytes notes) {
  const auto padded = [](std::size_t size) { return (size + 3) / 4 * 4; };
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes.data(), sizeof header);
    const std::size_t text = sizeof header + padded(header.n_namesz);
    const std::size_t next = text + padded(header.n_descsz);
    if (next > notes.size()) break;
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        std::memcmp(notes.data() + sizeof header, "GNU", 4) == 0)
      return hex_digits(notes.subspan(text, header.n_descsz));
    notes = notes.subspan(next);
  }
  return {};
}

}  // namespace

std::string build_id() {
  std::string id;
  const auto first = [](dl_phdr_info* program, std::size_t, void* out) {
    for (int i = 0; i < program->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = program->dlpi_phdr[i];
      auto& found = *static_cast<std::string*>(out);
      if (segment.p_type == PT_NOTE && found.empty())
        found = id_of({reinterpret_cast<const std::uint8_t*>(program->dlpi_addr + segment.p_vaddr),
                       segment.p_memsz});
    }
    return 1;  // the program itself comes first, its libraries later
  };
  dl_iterate_phdr(first, &id);
  return id;
}

MaybeError check_build(const std::string& build, const std::string& file) {
  const std::string running = build_id();
  if (build == running) return std::nullopt;
  return Error{ErrorCode::usage,
               say("'", file, "' was recorded by build ", build.empty() ? "unknown" : build,
                   " of mla-testbed, this is ", running.empty() ? "unknown" : running,
                   ": start again without --resume")};
}

}  // namespace mla::app
