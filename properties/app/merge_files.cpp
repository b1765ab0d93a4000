#include "properties/app/merge_files.hpp"

#include "core/say.hpp"

namespace mla::app {

MaybeError ShardFiles::take(const prop::Shard& shard, const std::string& file) {
  if (seen_.empty()) seen_.resize(static_cast<std::size_t>(shard.count));
  if (shard.count != std::ssize(seen_))
    return Error{ErrorCode::usage,
                 say("'", file, "' is one of ", shard.count, " shards; expected ", seen_.size())};
  const auto place = static_cast<std::size_t>(shard.index);
  if (seen_[place])
    return Error{ErrorCode::usage, say("'", file, "' is shard ", place + 1, "/", seen_.size(),
                                       ", which another file is too")};
  seen_[place] = true;
  return std::nullopt;
}

std::string ShardFiles::missing() const {
  std::string missing;
  for (std::size_t i = 0; i < seen_.size(); ++i)
    if (!seen_[i]) missing += say(" ", i + 1, "/", seen_.size());
  return missing.empty() ? missing : "not there:" + missing.substr(0, 200);
}

Error of_another_run(const std::string& file, const std::string& first, const std::string& what) {
  return {ErrorCode::usage,
          say("'", file, "' does not belong to '", first, "': ", what, " differ")};
}

}  // namespace mla::app
