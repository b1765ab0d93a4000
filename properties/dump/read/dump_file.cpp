#include "properties/dump/read/dump_file.hpp"

#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/say.hpp"
#include "properties/dump/read/dump.hpp"
#include "properties/dump/read/formats.hpp"
#include "properties/files/parse_json.hpp"

namespace mla::dump {
namespace {

using nlohmann::json;

Error in_file(Error error, const std::string& path, std::size_t place) {
  if (error.code != ErrorCode::fault) error.code = ErrorCode::usage;
  error.message = say("'", path, "', plan ", place, ": ", error.message);
  return error;
}

Result<std::vector<json>> read_objects(const std::string& path, std::string_view text) {
  auto document = files::parse_json(text);
  if (!document) return Error{ErrorCode::usage, "'" + path + "' " + document.error().message};
  json* list = &*document;
  for (const char* key : {"cases", "steps"}) {
    if (list != &*document || !document->is_object() || !document->contains(key)) continue;
    if (const MaybeError bad = check_list(*document, key))
      return Error{bad->code, "'" + path + "': " + bad->message};
    list = &(*document)[key];
  }
  if (list->is_object()) return std::vector<json>{std::move(*list)};
  if (!list->is_array())
    return Error{
        ErrorCode::usage,
        "'" + path +
            "' is not a plan: expected an object, a list of them, or an object with a list "
            "'cases' or 'steps'"};
  std::vector<json> objects(std::make_move_iterator(list->begin()),
                            std::make_move_iterator(list->end()));
  for (std::size_t place = 0; place < objects.size(); ++place)
    if (!objects[place].is_object())
      return in_file({ErrorCode::usage, "is not a JSON object"}, path, place);
  return objects;
}

}  // namespace

DumpFile::DumpFile(std::string path, std::vector<json> objects)
    : path_(std::move(path)),
      objects_(std::make_shared<const std::vector<json>>(std::move(objects))) {}

Result<DumpFile> DumpFile::of_text(const std::string& path, std::string_view text) {
  auto objects = read_objects(path, text);
  if (!objects) return objects.error();
  return DumpFile(path, std::move(*objects));
}

Result<DumpFile> DumpFile::of_bundle(const std::string& path, Bundle bundle) {
  auto object = document_of(bundle);
  if (!object) return in_file(object.error(), path, 0);
  DumpFile file(path, {std::move(*object)});
  file.arrays_ = std::make_shared<const Arrays>(std::move(bundle.arrays));
  return file;
}

Result<DumpFile> DumpFile::of(std::string name, const std::vector<std::string>& documents) {
  std::vector<json> objects;
  for (const std::string& document : documents) {
    auto object = files::parse_json(document);
    if (!object) return in_file(object.error(), name, objects.size());
    objects.push_back(std::move(*object));
  }
  return DumpFile(std::move(name), std::move(objects));
}

std::size_t DumpFile::size() const {
  return objects_->size();
}

Result<Dump> DumpFile::read(std::size_t place) const {
  auto dump = read_dump(objects_->at(place), place);
  if (!dump) return at(place, dump.error());
  if (arrays_) take_tensors(*dump, *arrays_);
  return dump;
}

Error DumpFile::at(std::size_t place, Error error) const {
  return in_file(std::move(error), path_, place);
}

}  // namespace mla::dump
