// DumpFile: the steps of a file, one by one.
//
// A file is a bundle, or a JSON document: one object, a list of them, or an object with a list
// `cases` or `steps`. A step is read when it is asked for: of many, a few bytes each may ask for
// large buffers. Fails: with file and place.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "properties/dump/dump.hpp"
#include "properties/dump/read/bundle.hpp"

namespace mla::dump {

class DumpFile {
 public:
  static Result<DumpFile> open(const std::string& path);  // "-" is stdin
  // What has been read already; `path` stands for it in messages.
  static Result<DumpFile> of_text(const std::string& path, std::string_view text);
  static Result<DumpFile> of_bundle(const std::string& path, Bundle bundle);
  // JSON objects that are no file; `name` stands for its path.
  static Result<DumpFile> of(std::string name, const std::vector<std::string>& documents);
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] Result<Dump> read(std::size_t place) const;
  // An error about the step at that place, with file and place in front of it.
  [[nodiscard]] Error at(std::size_t place, Error error) const;

 private:
  using Arrays = std::map<std::string, io::RawArray>;
  DumpFile(std::string path, std::vector<nlohmann::json> objects);
  std::string path_;
  std::shared_ptr<const Arrays> arrays_;  // of a bundle
  std::shared_ptr<const std::vector<nlohmann::json>> objects_;
};

}  // namespace mla::dump
