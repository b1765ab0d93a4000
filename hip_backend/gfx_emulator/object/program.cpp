#include "hip_backend/gfx_emulator/object/program.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>

#include "hip_backend/gfx_emulator/isa/decode.hpp"

namespace mla::gfx {
namespace {

class Decoder {
 public:
  explicit Decoder(const Image& image) : image_(image) {
    program_.operations = &Operations::of(image.arch);
  }

  MaybeError decode_all();
  void resolve_branches();
  Program take() { return std::move(program_); }

 private:
  MaybeError decode_part(std::uint64_t begin, std::uint64_t end, const Symbol* function);
  [[nodiscard]] std::uint64_t next_function(const Symbol& symbol) const;
  void end_code(std::uint64_t at);

  const Image& image_;
  Program program_;
};

MaybeError Decoder::decode_all() {
  program_.index.assign(image_.size / 4, Program::npos);
  for (const auto& [begin, end] : image_.code) {
    std::uint64_t at = begin;
    for (const Symbol& symbol : image_.symbols) {
      if (!symbol.function || symbol.offset < at || symbol.offset >= end) continue;
      if (symbol.offset % 4 != 0) {
        return Error{ErrorCode::unsupported, "the function " + symbol.name + " is misaligned", {}};
      }
      if (auto error = decode_part(at, symbol.offset, nullptr)) return error;
      at = symbol.size == 0 ? end : std::min(end, symbol.offset + (symbol.size + 3) / 4 * 4);
      if (symbol.size == 0) at = std::min(at, next_function(symbol));
      if (auto error = decode_part(symbol.offset, at, &symbol)) return error;
    }
    if (auto error = decode_part(at, end, nullptr)) return error;
    end_code(end);
  }
  return std::nullopt;
}

// Where the function after this one begins; symbols are sorted.
std::uint64_t Decoder::next_function(const Symbol& symbol) const {
  const auto& all = image_.symbols;
  for (auto n = static_cast<std::size_t>(&symbol - all.data()) + 1; n < all.size(); ++n) {
    if (all[n].function && all[n].offset > symbol.offset) return all[n].offset;
  }
  return image_.size;
}

// A wave that runs into what is no instruction meets this one.
void Decoder::end_code(std::uint64_t at) {
  Inst end;
  end.at = static_cast<std::uint32_t>(at);
  end.words = 0;
  const auto& all = program_.instructions;
  if (all.empty() || all.back().words != 0) program_.instructions.push_back(end);
}

MaybeError Decoder::decode_part(std::uint64_t begin, std::uint64_t end, const Symbol* function) {
  std::vector<std::uint32_t> words((end - begin) / 4);
  if (words.empty()) return std::nullopt;
  std::memcpy(words.data(), image_.bytes.get() + begin, words.size() * 4);
  for (std::size_t i = 0; i < words.size();) {
    const auto at = static_cast<std::uint32_t>(begin + 4 * i);
    const auto inst = decode(*program_.operations, std::span(words).subspan(i), at);
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
    program_.index[at / 4] = static_cast<std::uint32_t>(program_.instructions.size());
    program_.instructions.push_back(*inst);
    i += inst->words;
  }
  return std::nullopt;
}

// A branch keeps the index of its target; one that leads nowhere is a fault when it is taken.
void Decoder::resolve_branches() {
  for (Inst& inst : program_.instructions) {
    if (!program_.operations->at(inst.op).has_target()) continue;
    const std::int64_t target = std::int64_t{inst.at} + 4 + 4 * std::int64_t{inst.imm};
    inst.imm = static_cast<std::int32_t>(program_.index_at(static_cast<std::uint64_t>(target)));
  }
}

}  // namespace

Result<Program> decode_program(const Image& image) {
  Decoder decoder(image);
  if (auto error = decoder.decode_all()) return *error;
  decoder.resolve_branches();
  return decoder.take();
}

}  // namespace mla::gfx
