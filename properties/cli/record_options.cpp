#include "properties/cli/record_options.hpp"

#include "properties/cli/quantity.hpp"

namespace mla::cli {

Option add_record_options(Command& command, RecordOptions& o, const std::string& text) {
  command
      .add_option("--record", o.record,
                  "Also write what was found to this file, for merge, --resume")
      .type_name("FILE");
  const Option resume =
      command
          .add_option("--resume", o.resume, "Go on with the run of this record, which ended early")
          .type_name("FILE");
  command.add_option("--junit", o.publication.junit, "Also write a JUnit XML report to this file")
      .type_name("FILE");
  command.add_flag("--json", o.publication.json, "Print one JSON object instead of the " + text);
  command.add_flag("--no-progress", o.no_progress, "Draw no progress bar");
  return resume;
}

Result<app::Record> begin_record(app::RecordKind kind, const RecordOptions& o) {
  if (!o.resume.empty()) return app::read_begun(o.resume, kind);
  const auto seed = parse_seed("--seed", o.seed.empty() ? "1" : o.seed);
  if (!seed) return seed.error();
  const auto shard = parse_shard(o.shard.empty() ? "1/1" : o.shard);
  if (!shard) return shard.error();
  app::Record out;
  out.kind = kind;
  out.seed = *seed;
  out.shard = *shard;
  return out;
}

prop::ExitCode publish(std::string_view command, const app::Record& record, const RecordOptions& o,
                       const std::string& told, const MaybeError& lost) {
  Publisher out(command);
  out.lost_stdout(lost);
  out.file(o.written(), [&] { return app::record_text(record); });
  out.file(o.publication.junit, [&] { return app::junit_report(record); });
  return out.finish(
      o.publication.json ? app::json_report(record) : told + app::verdict_table(record),
      app::exit_code(record));
}

}  // namespace mla::cli
