// Merging: the records of all shards of a run become one.
//
// Fails: with the file and what is wrong with it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"
#include "core/say.hpp"
#include "properties/judge/answers.hpp"

namespace mla::app {

// Which shards have been there.
class ShardFiles {
 public:
  // A usage error if the shard is one of another number of shards, or was there before.
  MaybeError take(const prop::Shard& shard, const std::string& file);
  // Says which shards no file had; empty if all were there.
  [[nodiscard]] std::string missing() const;

 private:
  std::vector<bool> seen_;
};

// `what` differ between two files, which therefore are not of one run.
Error of_another_run(const std::string& file, const std::string& first, const std::string& what);

// Reads every file, and adds it to the first with `add(all, one, file, first)`. A record has its
// shard and the build that wrote it. Files must not be empty. `note` gets what the user should know
// of a merge that goes on.
template <class Record>
Result<Record> merge_files(const std::vector<std::string>& files,
                           Result<Record> (*read)(const std::string&),
                           MaybeError (*add)(Record&, const Record&, const std::string&,
                                             const std::string&),
                           const std::function<void(const std::string&)>& note) {
  std::optional<Record> all;
  ShardFiles shards;
  for (const std::string& file : files) {
    auto one = read(file);
    if (!one) return one.error();
    if (const MaybeError bad = shards.take(one->shard, file)) return *bad;
    if (!all) {
      all = std::move(*one);
      continue;
    }
    if (one->build != all->build)
      note(say("'", file, "' and '", files.front(), "' were recorded by different builds"));
    if (const MaybeError bad = add(*all, *one, file, files.front())) return *bad;
  }
  if (const std::string missing = shards.missing(); !missing.empty()) note(missing);
  all->shard = {};
  return std::move(*all);
}

}  // namespace mla::app
