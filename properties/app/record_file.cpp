#include "properties/app/record_file.hpp"

#include <nlohmann/json.hpp>

#include "core/say.hpp"
#include "properties/app/build_info.hpp"
#include "properties/app/record_form.hpp"
#include "properties/files/parse_json.hpp"
#include "properties/files/terminal.hpp"

namespace mla::app {
namespace {

// What is wrong with a document that should be a record of `kind`; "" if nothing.
std::string read_document(const nlohmann::json& document, Record& out) {
  const RecordForm& form = form_of(out.kind);
  files::Fields fields(document);
  if (const std::string format = fields.text("format"); format != form.format)
    fields.refuse(say("its format is not '", form.format, "'"));
  if (const std::string version = fields.text("version"); version != kVersion)
    fields.refuse(say("it was made by version '", version, "', this is ", kVersion));
  out.build = fields.text("build");
  const std::vector<std::int32_t> shard = fields.words("shard");
  if (shard.size() != 2 || shard[1] < 1 || shard[1] > kMostShards || shard[0] < 0 ||
      shard[0] >= shard[1])
    fields.reject("shard", say("is none: [index, count] has an index below its count, of at most ",
                               kMostShards));
  if (!fields.error().empty()) return fields.error();
  out.shard = {shard[0], shard[1]};
  form.read(fields, out);
  return fields.error();
}

}  // namespace

std::string json_text(const nlohmann::ordered_json& document, int indent) {
  return document.dump(indent, ' ', true, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string record_text(const Record& record) {
  const RecordForm& form = form_of(record.kind);
  nlohmann::ordered_json out = {{"format", form.format}, {"version", kVersion}};
  form.write(record, out);
  return json_text(out, -1);
}

Result<Record> read_record(const std::string& path, std::optional<RecordKind> kind) {
  const auto text = files::read_file(path);
  if (!text) return text.error();
  const auto document = files::parse_json(*text);
  if (!document) return Error{ErrorCode::usage, "'" + path + "' " + document.error().message};
  Record record;
  for (const RecordKind known : {RecordKind::plants, RecordKind::fuzz})
    if (document->is_object() &&
        document->value("format", nlohmann::json()) == form_of(known).format)
      record.kind = known;
  record.kind = kind.value_or(record.kind);
  if (const std::string why = read_document(*document, record); !why.empty())
    return Error{ErrorCode::usage,
                 say("'", path, "' is no record of ", form_of(record.kind).what, ": ", why)};
  return record;
}

Result<Record> read_begun(const std::string& path, RecordKind kind) {
  auto record = read_record(path, kind);
  if (record)
    if (const MaybeError bad = check_build(record->build, path)) return *bad;
  return record;
}

Result<Record> merge_records(const std::vector<std::string>& files,
                             const std::function<void(const std::string&)>& note) {
  const auto refused = [](const std::string& why) { return Error{ErrorCode::usage, why}; };
  std::optional<Record> all;
  std::vector<bool> seen;  // by shard
  for (const std::string& file : files) {
    auto one = read_record(file, all ? std::optional(all->kind) : std::nullopt);
    if (!one) return one.error();
    if (!all) seen.resize(static_cast<std::size_t>(one->shard.count));
    if (one->shard.count != std::ssize(seen))
      return refused(
          say("'", file, "' is one of ", one->shard.count, " shards; expected ", seen.size()));
    const auto place = static_cast<std::size_t>(one->shard.index);
    if (seen[place])
      return refused(say("'", file, "' is shard ", place + 1, "/", seen.size(),
                         ", which another file is too"));
    seen[place] = true;
    if (!all) {
      all = std::move(*one);
      continue;
    }
    if (one->build != all->build)
      note(say("'", file, "' and '", files.front(), "' were recorded by different builds"));
    if (const std::string what = form_of(all->kind).add(*all, *one); !what.empty())
      return refused(
          say("'", file, "' does not belong to '", files.front(), "': ", what, " differ"));
  }
  std::string missing;
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (!seen[i]) missing += say(" ", i + 1, "/", seen.size());
  if (!missing.empty()) note("not there:" + missing.substr(0, 200));
  all->shard = {};
  return std::move(*all);
}

}  // namespace mla::app
