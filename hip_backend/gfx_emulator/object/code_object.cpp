#include "hip_backend/gfx_emulator/code_object.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <tuple>

#include "core/text.hpp"
#include "hip_backend/gfx_emulator/elf/elf_file.hpp"
#include "hip_backend/gfx_emulator/elf/kernel_descriptor.hpp"
#include "hip_backend/gfx_emulator/exec/handlers.hpp"
#include "hip_backend/gfx_emulator/isa/decode.hpp"

namespace mla::gfx {
namespace {

constexpr std::size_t page = 4096;

Error refused(const std::string& message) {
  return {ErrorCode::unsupported, message, {}};
}

std::optional<Arch> arch_of(std::uint32_t machine_flags) {
  if ((machine_flags & 0xff) == 0x4c) return Arch::gfx942;
  if ((machine_flags & 0xff) == 0x4f) return Arch::gfx950;
  return std::nullopt;
}

}  // namespace

// Builds a CodeObject step by step.
class CodeObjectBuilder {
 public:
  CodeObjectBuilder(std::span<const std::byte> bytes, const ElfFile& elf)
      : bytes_(bytes), elf_(elf) {}

  Result<CodeObject> build(const LoadOptions& options);

 private:
  Status load_segments(std::size_t limit);
  Status relocate();
  Status find_kernels();
  Status decode_all();
  Status decode_part(std::uint64_t begin, std::uint64_t end, const Symbol* function);
  [[nodiscard]] std::uint64_t next_function(const Symbol& symbol) const;
  void end_code(std::uint32_t at);
  Status resolve_branches();
  [[nodiscard]] bool inside(std::uint64_t offset, std::uint64_t size) const {
    return offset <= object_.image_size_ && size <= object_.image_size_ - offset;
  }

  std::span<const std::byte> bytes_;
  const ElfFile& elf_;
  CodeObject object_;
};

Result<CodeObject> CodeObjectBuilder::build(const LoadOptions& options) {
  const auto arch = arch_of(elf_.machine_flags);
  if (!arch) {
    return refused("the code object is for processor " + hex(elf_.machine_flags & 0xff) +
                   ", only gfx942 (0x4c) and gfx950 (0x4f) are executed");
  }
  object_.arch_ = *arch;
  object_.operations_ = &Operations::of(*arch, options.path);
  if (auto error = load_segments(options.image_limit)) return *error;
  for (const ElfSymbol& symbol : elf_.symbols) {
    if (!symbol.defined || !inside(symbol.value, symbol.size)) continue;
    object_.symbols_.push_back({symbol.name, symbol.value, symbol.size, symbol.function});
  }
  std::sort(object_.symbols_.begin(), object_.symbols_.end(), [](const Symbol& a, const Symbol& b) {
    return std::tie(a.offset, a.name) < std::tie(b.offset, b.name);
  });
  if (auto error = relocate()) return *error;
  if (auto error = find_kernels()) return *error;
  if (auto error = decode_all()) return *error;
  if (auto error = resolve_branches()) return *error;
  object_.lines_ = read_line_table(elf_.debug);
  return std::move(object_);
}

Status CodeObjectBuilder::load_segments(std::size_t limit) {
  std::size_t size = 0;
  for (const Segment& s : elf_.segments) size = std::max(size, s.address + s.memory_size);
  if (size > limit) {
    return refused("the image takes " + std::to_string(size) + " bytes, the limit is " +
                   std::to_string(limit));
  }
  object_.image_size_ = (size + page - 1) / page * page;
  auto storage = std::make_shared<std::vector<std::byte>>(object_.image_size_ + 2 * page);
  std::byte* begin = storage->data() + page;
  begin += (page - reinterpret_cast<std::uintptr_t>(begin) % page) % page;
  object_.image_ = std::shared_ptr<std::byte[]>(storage, begin);
  for (const Segment& s : elf_.segments) {
    if (s.file_size != 0) std::memcpy(begin + s.address, bytes_.data() + s.offset, s.file_size);
    if (s.memory_size == 0) continue;
    object_.ranges_.push_back({reinterpret_cast<std::uint64_t>(begin) + s.address, s.memory_size,
                               s.writable ? Rights::read_write : Rights::read, "code object"});
  }
  std::sort(object_.ranges_.begin(), object_.ranges_.end(),
            [](const Range& a, const Range& b) { return a.base < b.base; });
  return std::nullopt;
}

Status CodeObjectBuilder::relocate() {
  const auto base = reinterpret_cast<std::uint64_t>(object_.image_.get());
  for (const Relocation& r : elf_.relocations) {
    if (!inside(r.at, 8)) return refused("a relocation at " + hex(r.at) + " is outside the image");
    if (!r.defined) return refused("the symbol '" + r.symbol + "' is not defined");
    std::byte* const place = object_.image_.get() + r.at;
    const std::uint64_t target = base + r.symbol_value + static_cast<std::uint64_t>(r.addend);
    const std::uint64_t relative = target - (base + r.at);
    std::uint64_t value = target;
    std::size_t size = 4;
    switch (r.type) {
      case 1:
        break;  // ABS32_LO
      case 2:
        value = target >> 32;
        break;  // ABS32_HI
      case 3:
        size = 8;
        break;  // ABS64
      case 4:
        value = relative;
        break;  // REL32
      case 5:
        value = relative, size = 8;
        break;  // REL64
      case 6:
        break;  // ABS32
      case 10:
        value = relative;
        break;  // REL32_LO
      case 11:
        value = relative >> 32;
        break;  // REL32_HI
      case 13:
        value = base + static_cast<std::uint64_t>(r.addend), size = 8;
        break;  // RELATIVE64
      default:
        return refused("relocation type " + std::to_string(r.type) + " at " + hex(r.at));
    }
    std::memcpy(place, &value, size);
  }
  return std::nullopt;
}

Status CodeObjectBuilder::find_kernels() {
  for (const Symbol& symbol : object_.symbols_) {
    if (!symbol.name.ends_with(".kd") || symbol.function) continue;
    if (!inside(symbol.offset, kernel_descriptor_size)) {
      return refused("the kernel descriptor " + symbol.name + " is outside the image");
    }
    Kernel kernel = read_kernel_descriptor(
        {object_.image_.get() + symbol.offset, kernel_descriptor_size}, symbol.offset);
    kernel.name = symbol.name.substr(0, symbol.name.size() - 3);
    if (!inside(kernel.entry, 4) || kernel.entry % 4 != 0) {
      return refused("the entry of kernel " + kernel.name + " is outside the image");
    }
    object_.kernels_.push_back(std::move(kernel));
  }
  if (elf_.metadata.empty()) return std::nullopt;
  const auto note = parse_msgpack(elf_.metadata);
  if (!note) return note.error();
  apply_metadata(*note, object_.kernels_);
  return std::nullopt;
}

// Functions must decode to their last byte. What lies between them (padding, tables) is decoded
// where it can be and is no instruction where it cannot.
Status CodeObjectBuilder::decode_all() {
  object_.index_.assign(object_.image_size_ / 4, CodeObject::npos);
  for (const Segment& segment : elf_.segments) {
    if (!segment.executable) continue;
    std::uint64_t at = segment.address;
    const std::uint64_t end = segment.address + segment.file_size / 4 * 4;
    for (const Symbol& symbol : object_.symbols_) {
      if (!symbol.function || symbol.offset < at || symbol.offset >= end) continue;
      if (symbol.offset % 4 != 0) return refused("the function " + symbol.name + " is misaligned");
      if (auto error = decode_part(at, symbol.offset, nullptr)) return error;
      at = symbol.size == 0 ? end : std::min(end, symbol.offset + (symbol.size + 3) / 4 * 4);
      if (symbol.size == 0) at = std::min(at, next_function(symbol));
      if (auto error = decode_part(symbol.offset, at, &symbol)) return error;
    }
    if (auto error = decode_part(at, end, nullptr)) return error;
    end_code(static_cast<std::uint32_t>(end));
  }
  return std::nullopt;
}

// Where the function after this one begins; symbols are sorted.
std::uint64_t CodeObjectBuilder::next_function(const Symbol& symbol) const {
  const auto& all = object_.symbols_;
  for (auto n = static_cast<std::size_t>(&symbol - all.data()) + 1; n < all.size(); ++n) {
    if (all[n].function && all[n].offset > symbol.offset) return all[n].offset;
  }
  return object_.image_size_;
}

// A wave that runs into what is no instruction meets this one.
void CodeObjectBuilder::end_code(std::uint32_t at) {
  Inst end;
  end.run = run_off_the_end;
  end.at = at;
  end.words = 0;
  const auto& all = object_.instructions_;
  if (all.empty() || all.back().words != 0) object_.instructions_.push_back(end);
}

Status CodeObjectBuilder::decode_part(std::uint64_t begin, std::uint64_t end,
                                      const Symbol* function) {
  std::vector<std::uint32_t> words((end - begin) / 4);
  if (words.empty()) return std::nullopt;
  std::memcpy(words.data(), object_.image_.get() + begin, words.size() * 4);
  for (std::size_t i = 0; i < words.size();) {
    const auto at = static_cast<std::uint32_t>(begin + 4 * i);
    const auto inst = decode(*object_.operations_, std::span(words).subspan(i), at);
    if (!inst) {
      if (function == nullptr) {
        end_code(at);
        ++i;
        continue;
      }
      Error error = inst.error();
      error.message += " in " + function->name;
      return error;
    }
    object_.index_[at / 4] = static_cast<std::uint32_t>(object_.instructions_.size());
    object_.instructions_.push_back(*inst);
    i += inst->words;
  }
  return std::nullopt;
}

// A branch keeps the index of its target. One that leads nowhere is a fault when it is taken.
Status CodeObjectBuilder::resolve_branches() {
  for (Inst& inst : object_.instructions_) {
    const std::string& name = object_.operations_->at(inst.op).name;
    const bool relative =
        inst.kind == Class::branch && name != "s_setpc_b64" && name != "s_swappc_b64";
    if (!relative) continue;
    const std::int64_t target = std::int64_t{inst.at} + 4 + 4 * std::int64_t{inst.imm};
    inst.imm = static_cast<std::int32_t>(object_.index_at(static_cast<std::uint64_t>(target)));
  }
  return std::nullopt;
}

const Kernel* CodeObject::kernel(std::string_view name) const {
  for (const Kernel& kernel : kernels_) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

std::span<std::byte> CodeObject::variable(std::string_view name) const {
  for (const Symbol& symbol : symbols_) {
    if (symbol.name == name && !symbol.function) return {image_.get() + symbol.offset, symbol.size};
  }
  return {};
}

std::uint32_t CodeObject::index_at(std::uint64_t offset) const {
  return offset % 4 == 0 && offset / 4 < index_.size() ? index_[offset / 4] : npos;
}

std::string CodeObject::place(std::uint64_t offset) const {
  const Symbol* best = nullptr;
  for (const Symbol& symbol : symbols_) {
    if (symbol.function && symbol.offset <= offset) best = &symbol;
  }
  return best == nullptr ? hex(offset) : best->name + "+" + hex(offset - best->offset);
}

Result<CodeObject> load_code_object(std::span<const std::byte> bytes, const LoadOptions& options) {
  const auto elf = read_elf(bytes);
  if (!elf) return elf.error();
  return CodeObjectBuilder(bytes, *elf).build(options);
}

}  // namespace mla::gfx
