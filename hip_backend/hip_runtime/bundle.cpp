#include "hip_backend/hip_runtime/bundle.hpp"

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/say.hpp"
#include "hip_backend/hip_runtime/launch.hpp"

namespace mla::hip_runtime {
namespace {

constexpr std::string_view kBundle = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kElf = "\177ELF";

bool begins(std::span<const std::byte> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

// Reads numbers and texts one after the other; what is not there reads as nothing.
class BundleReader {
 public:
  explicit BundleReader(std::span<const std::byte> bytes) : left_(bytes) {}
  std::uint64_t number() {
    std::uint64_t out = 0;
    const auto bytes = take(sizeof out);
    if (!bytes.empty()) std::memcpy(&out, bytes.data(), sizeof out);
    return out;
  }
  std::string_view text(std::uint64_t size) {
    const auto bytes = take(size);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  std::span<const std::byte> take(std::uint64_t size) {
    ended_ = ended_ || size > left_.size();
    if (ended_) return {};
    const auto out = left_.first(size);
    left_ = left_.subspan(size);
    return out;
  }
  std::span<const std::byte> left_;
  bool ended_ = false;
};

bool is_for(std::string_view target, std::optional<gfx::Arch> arch) {
  const auto names = [&](std::string_view name) { return target.find(name) != target.npos; };
  if (!arch) return names("-gfx942") || names("-gfx950");
  return names(*arch == gfx::Arch::gfx950 ? "-gfx950" : "-gfx942");
}

Result<std::span<const std::byte>> image_of_bundle(std::span<const std::byte> file,
                                                   std::optional<gfx::Arch> arch) {
  BundleReader reader(file.subspan(kBundle.size()));
  std::string there;
  const std::uint64_t entries = reader.number();
  for (std::uint64_t e = 0; e < entries && !reader.ended(); ++e) {
    const std::uint64_t offset = reader.number(), size = reader.number();
    const std::string_view target = reader.text(reader.number());
    if (reader.ended()) break;
    if (is_for(target, arch)) {
      if (offset > file.size() || size > file.size() - offset)
        return Error{ErrorCode::usage, say("the bundle ends before its code for ", target)};
      return file.subspan(offset, size);
    }
    there += (there.empty() ? "" : ", ") + std::string(target);
  }
  if (reader.ended()) return Error{ErrorCode::usage, "the bundle ends before its table does"};
  return Error{ErrorCode::unsupported, say("the bundle has no code for ",
                                           !arch                        ? "gfx942 or gfx950"
                                           : *arch == gfx::Arch::gfx950 ? "gfx950"
                                                                        : "gfx942",
                                           ", only for ", there.empty() ? "nothing" : there)};
}

}  // namespace

Result<std::span<const std::byte>> image_in(std::span<const std::byte> file,
                                            std::optional<gfx::Arch> arch) {
  if (begins(file, kBundle)) return image_of_bundle(file, arch);
  if (begins(file, kElf)) return file;
  return Error{ErrorCode::usage, "neither a code object nor a bundle of them"};
}

Result<std::span<const std::byte>> image_at(const std::byte* image, std::optional<gfx::Arch> arch) {
  // Nobody says where a bundle ends; its table says where each of its parts does.
  if (begins({image, kBundle.size()}, kBundle))
    return image_of_bundle({image, std::numeric_limits<std::uint32_t>::max()}, arch);
  if (begins({image, kElf.size()}, kElf)) return std::span(image, elf_size(image));
  return Error{ErrorCode::usage, "neither a code object nor a bundle of them"};
}

}  // namespace mla::hip_runtime
