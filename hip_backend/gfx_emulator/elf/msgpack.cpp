#include "hip_backend/gfx_emulator/elf/msgpack.hpp"

#include <nlohmann/json.hpp>
#include <utility>

namespace mla::gfx {
namespace {

using nlohmann::json;

// Of lists and maps in each other. The library reads them recursively, and a note may come from
// anywhere.
constexpr std::size_t depth_limit = 32;

// Makes the document of what the library reads. An open list or map is the last item of the one
// around it, which does not grow meanwhile: pointers to the open ones stay.
class NoteReader : public nlohmann::json_sax<json> {
 public:
  explicit NoteReader(Document& document) : document_(document) {}

  bool null() override { return next(), true; }
  bool boolean(bool value) override { return next().number = value ? 1 : 0, true; }
  bool number_integer(std::int64_t value) override { return next().number = value, true; }
  bool number_unsigned(std::uint64_t value) override {
    return next().number = static_cast<std::int64_t>(value), true;
  }
  bool number_float(double /*value*/, const std::string& /*text*/) override { return next(), true; }
  bool string(std::string& value) override { return next().text = std::move(value), true; }
  bool binary(json::binary_t& /*value*/) override { return next(), true; }
  bool start_array(std::size_t /*size*/) override { return open(); }
  bool end_array() override { return open_.pop_back(), true; }
  bool start_object(std::size_t /*size*/) override { return open(); }
  bool end_object() override { return open_.pop_back(), true; }
  bool key(std::string& value) override {
    return open_.back()->keys.push_back(std::move(value)), true;
  }
  bool parse_error(std::size_t /*at*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  Document& document_;
  std::vector<Document*> open_;

  Document& next() { return open_.empty() ? document_ : open_.back()->items.emplace_back(); }
  bool open() {
    open_.push_back(&next());
    return open_.size() <= depth_limit;
  }
};

}  // namespace

const Document* Document::find(std::string_view key) const {
  for (std::size_t n = 0; n < keys.size(); ++n) {
    if (keys[n] == key) return &items[n];
  }
  return nullptr;
}

std::int64_t Document::number_of(std::string_view key) const {
  const Document* item = find(key);
  return item != nullptr ? item->number : 0;
}

std::string Document::text_of(std::string_view key) const {
  const Document* item = find(key);
  return item != nullptr ? item->text : std::string();
}

Result<Document> parse_msgpack(std::span<const std::byte> bytes) {
  Document document;
  NoteReader reader(document);
  const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes.data());
  if (!json::sax_parse(begin, begin + bytes.size(), &reader, json::input_format_t::msgpack,
                       false)) {
    return Error{
        ErrorCode::usage,
        "the metadata note of " + std::to_string(bytes.size()) + " bytes is no valid MessagePack",
        {}};
  }
  return document;
}

}  // namespace mla::gfx
