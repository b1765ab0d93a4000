#include "hip_backend/aiter/installation.hpp"

#include <filesystem>
#include <fstream>
#include <span>
#include <utility>

#include "core/io/checksum.hpp"
#include "core/say.hpp"

namespace mla::hip::aiter {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestManifest = 1U << 20U;  // bytes; AITER's have some 10 thousand
constexpr std::uintmax_t kLargestCode = 64U << 20U;     // AITER's have some 100 thousand

Error fault(const std::string& what) {
  return {ErrorCode::fault, what};
}

Result<std::vector<std::byte>> read_file(const std::string& path, std::uintmax_t largest) {
  std::error_code why;
  if (!fs::is_regular_file(path, why)) return fault("there is no file " + path);
  const std::uintmax_t size = fs::file_size(path, why);
  if (why) return fault(path + ": " + why.message());
  if (size > largest) return fault(say(path, " has ", size, " bytes, more than ", largest));
  std::vector<std::byte> bytes(static_cast<std::size_t>(size));
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(size));
  if (!file || file.gcount() != static_cast<std::streamsize>(size))
    return fault(path + " cannot be read");
  return bytes;
}

}  // namespace

Result<std::shared_ptr<Installation>> Installation::open(const std::string& directory) {
  std::shared_ptr<Installation> found(new Installation);
  found->directory_ = directory;
  for (const Arch arch : {Arch::gfx942, Arch::gfx950}) {
    const std::string path = found->path_of(arch, "mla_asm.csv");
    std::error_code why;
    if (!fs::exists(path, why)) continue;
    const auto bytes = read_file(path, kLargestManifest);
    if (!bytes) return bytes.error();
    auto manifest =
        parse_manifest({reinterpret_cast<const char*>(bytes->data()), bytes->size()}, path);
    if (!manifest) return manifest.error();
    found->manifests_[arch] = std::move(*manifest);
  }
  if (found->manifests_.empty())
    return fault("there is no " + found->path_of(Arch::gfx942, "mla_asm.csv") +
                 ", nor one for gfx950: name the directory 'hsa' of an AITER installation");
  return found;
}

MaybeError Installation::take_opus(const std::string& path) {
  auto bytes = read_file(path, kLargestCode);
  if (!bytes) return bytes.error();
  if (bytes->empty()) return fault(path + " is empty");
  opus_ = std::move(*bytes);
  return std::nullopt;
}

std::shared_ptr<Installation> Installation::of(
    std::map<Arch, Manifest> manifests,
    const std::map<std::string, std::vector<std::byte>>& files) {
  std::shared_ptr<Installation> made(new Installation);
  made->manifests_ = std::move(manifests);
  for (const auto& [file, bytes] : files)
    for (const auto& [arch, rows] : made->manifests_)
      made->files_[made->path_of(arch, file)] = bytes;
  return made;
}

const Manifest* Installation::manifest(Arch arch) const {
  const auto found = manifests_.find(arch);
  return found == manifests_.end() ? nullptr : &found->second;
}

Result<std::span<const std::byte>> Installation::code(Arch arch, const std::string& file) {
  const std::lock_guard lock(mutex_);
  const std::string path = path_of(arch, file);
  auto found = files_.find(path);
  if (found == files_.end()) {
    auto bytes = read_file(path, kLargestCode);
    if (!bytes) return bytes.error();
    found = files_.emplace(path, std::move(*bytes)).first;
  }
  return std::span<const std::byte>(found->second);
}

std::uint64_t Installation::sum(Arch arch) {
  static const Manifest kNone;
  const Manifest* rows = manifest(arch);
  std::string text;
  for (const ManifestRow& row : rows == nullptr ? kNone : *rows) {
    text += say(text_of(row.key), " ", row.kernel, " ", row.file, " ");
    if (row.asked_for) text += *row.asked_for ? "asked for, " : "not asked for, ";
    const auto bytes = code(arch, row.file);
    text += (bytes ? io::hex64(io::fnv1a64(*bytes)) : "is missing") + "\n";
  }
  text += io::hex64(io::fnv1a64(opus_)) + "\n";
  return io::fnv1a64(std::as_bytes(std::span(text)));
}

std::string Installation::path_of(Arch arch, const std::string& file) const {
  return (fs::path(directory_) / std::string(mla::name(arch)) / "mla" / file).string();
}

}  // namespace mla::hip::aiter
