#include "properties/app/fuzz_inputs.hpp"

#include <algorithm>
#include <array>
#include <filesystem>

#include "core/io/checksum.hpp"
#include "core/say.hpp"
#include "properties/files/terminal.hpp"
#include "properties/generate/hash.hpp"

namespace mla::app {
namespace {

namespace fs = std::filesystem;
using Bytes = FuzzInputs::Bytes;

constexpr std::size_t kLongest = std::size_t{1} << 16U;
constexpr std::size_t kShort = 256;  // of an input that is made from nothing
constexpr std::size_t kMostEdits = 4;
constexpr std::array<std::uint8_t, 8> kEdges = {0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF, '0'};

// Decisions from one hash after the other.
class Random {
 public:
  explicit Random(std::uint64_t state) : state_(state) {}
  std::size_t below(std::size_t bound) {
    state_ = prop::mix(state_ + prop::kGolden);
    return bound == 0 ? 0 : static_cast<std::size_t>(state_ % bound);
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(below(256)); }

 private:
  std::uint64_t state_;
};

Bytes fresh(Random& random) {
  Bytes out(random.below(kShort));
  for (std::uint8_t& b : out) b = random.byte();
  return out;
}

void edit(Bytes& bytes, const Bytes& other, Random& random) {
  const std::size_t at = random.below(bytes.size());
  const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  switch (bytes.empty() ? 4 : random.below(7)) {
    case 0:
      *place ^= static_cast<std::uint8_t>(1U << random.below(8));
      return;
    case 1:
      *place = random.byte();
      return;
    case 2:
      *place = kEdges[random.below(kEdges.size())];
      return;
    case 3:
      bytes.erase(place, place + static_cast<std::ptrdiff_t>(1 + random.below(std::min<std::size_t>(
                                                                     16, bytes.size() - at))));
      return;
    case 4:
      bytes.insert(place, random.byte());
      return;
    case 5:
      bytes.resize(at);
      return;
    default:  // goes on as another input
      bytes.resize(at);
      if (const std::size_t from = random.below(other.size() + 1); from < other.size())
        bytes.insert(bytes.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
  }
}

}  // namespace

FuzzInputs::FuzzInputs(std::vector<Bytes> corpus, std::uint64_t seed)
    : corpus_(std::move(corpus)), seed_(seed) {}

Result<FuzzInputs> FuzzInputs::read(const std::string& folder, std::uint64_t seed) {
  std::error_code error;
  std::vector<fs::path> files;
  if (fs::exists(folder, error))
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
         at.increment(error))
      if (at->is_regular_file(error)) files.push_back(at->path());
  if (error)
    return Error{ErrorCode::fault, say("'", folder, "' cannot be read: ", error.message())};
  std::sort(files.begin(), files.end());
  std::vector<Bytes> corpus;
  for (const fs::path& file : files) {
    const auto text = files::read_file(file.string());
    if (!text) return text.error();
    corpus.emplace_back(text->begin(), text->end());
  }
  return FuzzInputs(std::move(corpus), seed);
}

std::uint64_t FuzzInputs::checksum() const {
  std::uint64_t sum = prop::mix(corpus_.size());
  for (const Bytes& bytes : corpus_)
    sum = prop::mix(sum, io::fnv1a64(std::as_bytes(std::span(bytes))));
  return sum;
}

Bytes FuzzInputs::at(std::int64_t number) const {
  if (number < corpus_size()) return corpus_[static_cast<std::size_t>(number)];
  Random random(prop::mix(seed_, static_cast<std::uint64_t>(number)));
  if (corpus_.empty() || random.below(16) == 0) return fresh(random);
  Bytes bytes = corpus_[random.below(corpus_.size())];
  const std::size_t edits = 1 + random.below(kMostEdits);
  for (std::size_t i = 0; i < edits; ++i)
    edit(bytes, corpus_[random.below(corpus_.size())], random);
  if (bytes.size() > kLongest) bytes.resize(kLongest);
  return bytes;
}

}  // namespace mla::app
