// FuzzInputs: the inputs of a counted fuzz run, by their number.
//
// The files of the corpus come first, by name; the others are made from them. A number names the
// same bytes in every shard and on every machine, as long as corpus and seed are the same. Units:
// bytes. Fails: a corpus that cannot be read, with its path.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.hpp"

namespace mla::app {

class FuzzInputs {
 public:
  using Bytes = std::vector<std::uint8_t>;

  // Those of one target, from a folder of files; a folder that is not there is an empty corpus.
  static Result<FuzzInputs> read(const std::string& folder, std::uint64_t seed);
  FuzzInputs(std::vector<Bytes> corpus, std::uint64_t seed);

  [[nodiscard]] std::int64_t corpus_size() const {
    return static_cast<std::int64_t>(corpus_.size());
  }
  [[nodiscard]] std::uint64_t checksum() const;  // of the corpus
  [[nodiscard]] Bytes at(std::int64_t number) const;

 private:
  std::vector<Bytes> corpus_;
  std::uint64_t seed_;
};

}  // namespace mla::app
