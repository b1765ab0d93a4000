// Claims about records: those of older builds are read, and what is no record is refused in words.
// The files in records/ were written by a build of version 0.2.0.
#include "properties/app/record_file.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "core/say.hpp"
#include "properties/app/build_info.hpp"
#include "properties/files/terminal.hpp"
#include "tests/catch.hpp"

using namespace mla;
using app::RecordKind;
using mla::test::contains;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

// Files by their name, in a folder that goes with them.
class Files {
 public:
  Files() : folder_((fs::temp_directory_path() / "mla-records.XXXXXX").string()) {
    REQUIRE(mkdtemp(folder_.data()) != nullptr);
  }
  ~Files() { fs::remove_all(folder_); }
  Files(const Files&) = delete;
  Files& operator=(const Files&) = delete;
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    const std::string path = folder_ + "/" + name;
    fs::remove(path);  // a file that is cut to nothing and written again waits for the disk
    std::ofstream(path) << text;
    return path;
  }

 private:
  std::string folder_;
};

const std::map<std::string, RecordKind> kRecords = {{"failed", RecordKind::run},
                                                    {"known", RecordKind::run},
                                                    {"too_large", RecordKind::run},
                                                    {"plants", RecordKind::plants},
                                                    {"fuzz", RecordKind::fuzz}};

const std::map<RecordKind, std::string> kWhat = {{RecordKind::run, "a run"},
                                                 {RecordKind::plants, "a plants run"},
                                                 {RecordKind::fuzz, "a fuzz run"}};

// As if this version had written it.
std::string recorded(const std::string& name) {
  ordered_json record =
      ordered_json::parse(*files::read_file(std::string(MLA_RECORDS) + "/" + name + ".json"));
  record["version"] = app::kVersion;
  return record.dump() + "\n";
}

// Calls look(text, what) with every text that has another value in the place of one.
void each_damage(const ordered_json& whole,
                 const std::function<void(const std::string&, const std::string&)>& look) {
  const std::vector<ordered_json> others = {nullptr, -1, 1e300, "x", ordered_json::array()};
  std::set<std::string> places;
  const ordered_json flat = whole.flatten();
  for (const auto& [path, value] : flat.items())
    for (ordered_json::json_pointer at(path); !at.empty(); at.pop_back())
      places.insert(at.to_string());
  for (const std::string& place : places)
    for (const ordered_json& other : others) {
      ordered_json damaged = whole;
      damaged[ordered_json::json_pointer(place)] = other;
      look(damaged.dump(), place + " is " + other.dump());
    }
}

}  // namespace

TEST_CASE("record: what version 0.2.0 wrote is read, and written as the same bytes", "[records]") {
  const Files files;
  for (const auto& [name, kind] : kRecords) {
    INFO(name);
    const std::string path = files.write("record", recorded(name));
    for (const std::optional<RecordKind> asked :
         {std::optional(kind), std::optional<RecordKind>()}) {
      const auto record = app::read_record(path, asked);
      REQUIRE(record.ok());
      CHECK(record->kind == kind);
      CHECK(app::record_text(*record) == recorded(name));
    }
  }
}

TEST_CASE("record: one that is cut off anywhere is not JSON", "[records]") {
  const Files files;
  for (const auto& [name, kind] : kRecords) {
    const std::string text = recorded(name);
    for (std::size_t end = 0; end < text.size() - 2; end += 11) {
      const auto record = app::read_record(files.write("record", text.substr(0, end)), kind);
      REQUIRE_FALSE(record.ok());
      CHECK_THAT(record.error().message, contains("is not JSON"));
    }
  }
}

TEST_CASE("record: another value anywhere is refused in words, or written as it was read",
          "[records]") {
  const Files files;
  for (const auto& [name, kind] : kRecords)
    each_damage(ordered_json::parse(recorded(name)),
                [&, of = kind](const std::string& text, const std::string& what) {
                  INFO(what);
                  const auto record = app::read_record(files.write("record", text), of);
                  if (!record) {
                    CHECK_THAT(record.error().message, contains("' is no record of a"));
                    return;
                  }
                  const std::string again = app::record_text(*record);
                  const auto twice = app::read_record(files.write("record", again), of);
                  REQUIRE(twice.ok());
                  CHECK(app::record_text(*twice) == again);
                });
}

TEST_CASE("record: a version and a format that this build does not read are named", "[records]") {
  const Files files;
  const auto why = [&](const char* key, const ordered_json& value) {
    ordered_json record = ordered_json::parse(recorded("plants"));
    record[key] = value;
    return app::read_record(files.write("record", record.dump()), RecordKind::plants)
        .error()
        .message;
  };
  CHECK_THAT(why("version", "9.9"), contains("it was made by version '9.9', this is "));
  CHECK_THAT(why("format", "x"), contains("its format is not 'mla-testbed plants 1'"));
  CHECK_THAT(why("format", 7), contains("key 'format' is 7: it must be a string"));
  CHECK_THAT(why("shard", {1, 1}), contains("key 'shard' is none"));
  CHECK_THAT(why("seed", -1), contains("key 'seed' is -1"));
}

TEST_CASE("merge: a record of another kind than the first is refused", "[records]") {
  const Files files;
  const auto silent = [](const std::string&) {};
  for (const auto& [name, kind] : kRecords)
    for (const auto& [other, kind_of_other] : kRecords) {
      if (kind == kind_of_other) continue;
      const auto merged = app::merge_records(
          {files.write("a", recorded(name)), files.write("b", recorded(other))}, silent);
      REQUIRE_FALSE(merged.ok());
      CHECK_THAT(merged.error().message,
                 contains(say("b' is no record of ", kWhat.at(kind), ": its format is not '")));
    }
}

TEST_CASE("merge: a shard is taken once, and one that is not there is named", "[records]") {
  const Files files;
  for (const auto& [name, kind] : kRecords) {
    const std::string path = files.write("r", recorded(name));
    std::string notes;
    const auto note = [&](const std::string& what) { notes += what; };
    const auto one = app::merge_records({path}, note);
    REQUIRE(one.ok());
    CHECK(one->shard == prop::Shard{});
    const auto whole = app::read_record(path, kind);
    REQUIRE(whole.ok());
    const std::int64_t count = whole->shard.count;
    CHECK((count == 1) == notes.empty());
    if (count > 1) CHECK_THAT(notes, contains("not there: 1/"));
    const auto twice = app::merge_records({path, path}, note);
    REQUIRE_FALSE(twice.ok());
    CHECK_THAT(twice.error().message, contains(", which another file is too"));
  }
}
