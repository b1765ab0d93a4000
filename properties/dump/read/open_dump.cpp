// Dumps on disk.
#include <utility>

#include "properties/dump/read/dump_file.hpp"
#include "properties/files/terminal.hpp"

namespace mla::dump {

Result<DumpFile> DumpFile::open(const std::string& path) {
  if (is_bundle(path)) {
    auto bundle = read_bundle(path);
    if (!bundle) return bundle.error();
    return of_bundle(path, std::move(*bundle));
  }
  const auto text = files::read_file(path);
  if (!text) return text.error();
  return of_text(path, *text);
}

}  // namespace mla::dump
