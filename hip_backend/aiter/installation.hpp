// Installation: the `hsa` directory of an installed AITER, with mla/mla_asm.csv and *.co for each
// architecture.
//
// Nothing of it is part of this project; it is read where it lies. Code objects are read when they
// are first asked for and live as long as the installation, as a device expects. May be used by
// several threads. Fails: a directory without manifests, a file that is missing or too large, each
// by its path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/arch.hpp"
#include "core/lifetime.hpp"
#include "core/result.hpp"
#include "hip_backend/aiter/manifest.hpp"

namespace mla::hip::aiter {

class Installation {
 public:
  static Result<std::shared_ptr<Installation>> open(const std::string& directory);
  // One whose manifests and code objects are in memory, for tests: files by name.
  static std::shared_ptr<Installation> of(
      std::map<Arch, Manifest> manifests,
      const std::map<std::string, std::vector<std::byte>>& files);

  // Null when there is none for the architecture.
  [[nodiscard]] const Manifest* manifest(Arch arch) const MLA_LIFETIME_BOUND;
  [[nodiscard]] Result<std::span<const std::byte>> code(Arch arch, const std::string& file);
  // A sum over what a backend of the architecture can launch: the manifest, the code objects that
  // it names (read, where they are there) and what was taken. Two installations with one sum are
  // alike.
  [[nodiscard]] std::uint64_t sum(Arch arch);
  [[nodiscard]] const std::string& directory() const MLA_LIFETIME_BOUND { return directory_; }

  // Takes the code object of AITER's OPUS decode (opus.hpp), which is no part of `hsa`.
  MaybeError take_opus(const std::string& path);
  // Empty: none was taken.
  [[nodiscard]] std::span<const std::byte> opus() const MLA_LIFETIME_BOUND { return opus_; }

 private:
  Installation() = default;
  [[nodiscard]] std::string path_of(Arch arch, const std::string& file) const;

  std::string directory_;
  std::map<Arch, Manifest> manifests_;
  std::mutex mutex_;
  std::map<std::string, std::vector<std::byte>> files_;  // by path
  std::vector<std::byte> opus_;
};

}  // namespace mla::hip::aiter
