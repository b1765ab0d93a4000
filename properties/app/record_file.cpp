// Records as JSON. Of a case: `i` its number, `v` a letter for each property, `m` messages, `d`
// details of failures, `c` and `k` ledger entries, `e` executions, `s` shared launches; texts and
// kernels by their place in a list.
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/say.hpp"
#include "properties/app/build_info.hpp"
#include "properties/app/record_json.hpp"
#include "properties/app/recording.hpp"
#include "properties/files/terminal.hpp"

namespace mla::app {
namespace {

using nlohmann::json;
using Json = nlohmann::ordered_json;
using prop::CaseAnswer;
using prop::Verdict;

constexpr const char* kFormat = "mla-testbed record 1";
// In the order of Verdict; '-' was not asked.
constexpr std::string_view kVerdicts = "pfisnku";
constexpr std::size_t kMostLaunches = std::size_t{1} << 32;  // of one case
constexpr std::int64_t kInFlight = 4096;  // cases that an interrupted run may have left out

// Values that stand for themselves once.
class Table {
 public:
  std::size_t place(const Json& value) {
    const auto [at, fresh] = places_.try_emplace(value.dump(), list_.size());
    if (fresh) list_.push_back(value);
    return at->second;
  }
  [[nodiscard]] const Json& list() const { return list_; }

 private:
  std::map<std::string, std::size_t> places_;
  Json list_ = Json::array();
};

struct Writer {
  Table texts;
  Table kernels;

  Json launches(const Launches& all) {
    Json out = Json::array();
    for (const Launch& l : all.entries())
      out.push_back(
          {kernels.place({l.backend, l.device, static_cast<int>(l.kind), l.kernel}), l.count});
    return out;
  }
  Json of_case(std::int64_t index, const CaseAnswer& a, std::size_t properties) {
    Json out = {{"i", index}};
    std::string verdicts(properties, '-');
    if (!a.too_large.empty()) {
      for (const std::size_t p : a.asked) verdicts[p] = 's';
      out["v"] = verdicts;
      out["z"] = texts.place(a.too_large);
      return out;
    }
    Json lists = {{"m", Json::array()},
                  {"d", Json::array()},
                  {"c", Json::array()},
                  {"k", Json::array()},
                  {"e", Json::array()}};
    for (std::size_t n = 0; n < a.asked.size(); ++n) {
      const std::size_t p = a.asked[n];
      const prop::Outcome& o = a.judgement.outcomes[n];
      verdicts[p] = kVerdicts[static_cast<std::size_t>(o.verdict)];
      if (!o.message.empty()) lists["m"].push_back({p, texts.place(o.message)});
      if (o.verdict == Verdict::fail) lists["d"].push_back({p, o.details});
      for (const std::size_t entry : a.judgement.covered[n]) lists["c"].push_back({p, entry});
      for (const std::size_t entry : a.judgement.known[n]) lists["k"].push_back({p, entry});
      const prop::Execution& e = a.judgement.executions[n];
      if (e.executed || e.shared || !e.own.entries().empty())
        lists["e"].push_back({p, (e.executed ? 1 : 0) + (e.shared ? 2 : 0), launches(e.own)});
    }
    out["v"] = verdicts;
    for (auto& [key, list] : lists.items())
      if (!list.empty()) out[key] = std::move(list);
    if (!a.judgement.shared.entries().empty()) out["s"] = launches(a.judgement.shared);
    if (a.judgement.refused) out["r"] = true;
    return out;
  }
};

// An index below `limit`.
std::size_t index_of(const json& value, std::size_t limit, const char* what) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= limit)
    reject(say(what, " ", value.dump(), " is not below ", limit));
  return value.get<std::size_t>();
}

struct Reader {
  std::vector<std::string> texts;
  std::vector<Launch> kernels;

  [[nodiscard]] Launches launches(const json& list) const {
    Launches out;
    for (const json& one : list) {
      Launch launch = kernels[index_of(one.at(0), kernels.size(), "launch")];
      launch.count = static_cast<std::int64_t>(index_of(one.at(1), kMostLaunches, "a count"));
      out.add(launch);
    }
    return out;
  }
  // The places of the properties that were asked, by property.
  [[nodiscard]] CaseAnswer of_case(const json& object) const {
    CaseAnswer a;
    const auto verdicts = object.at("v").get<std::string>();
    std::map<std::size_t, std::size_t> place;
    for (std::size_t p = 0; p < verdicts.size(); ++p) {
      if (verdicts[p] == '-') continue;
      const std::size_t verdict = kVerdicts.find(verdicts[p]);
      if (verdict == std::string_view::npos)
        reject(say("verdict '", verdicts.substr(p, 1), "' is none of ", kVerdicts));
      place[p] = a.asked.size();
      a.asked.push_back(p);
      a.judgement.outcomes.push_back({static_cast<Verdict>(verdict), {}, {}});
    }
    if (object.contains("z")) {
      a.too_large = texts[index_of(object["z"], texts.size(), "text")];
      a.judgement.outcomes.clear();
      return a;
    }
    a.judgement.covered.resize(a.asked.size());
    a.judgement.known.resize(a.asked.size());
    a.judgement.executions.resize(a.asked.size());
    const auto each = [&](const char* key, const auto& take) {
      if (!object.contains(key)) return;
      for (const json& one : object[key]) {
        const auto at = place.find(index_of(one.at(0), verdicts.size(), "property"));
        if (at == place.end()) reject("property " + one.at(0).dump() + " was not asked");
        take(at->second, one);
      }
    };
    prop::Judgement& j = a.judgement;
    each("m", [&](std::size_t n, const json& one) {
      j.outcomes[n].message = texts[index_of(one.at(1), texts.size(), "text")];
    });
    each("d", [&](std::size_t n, const json& one) {
      for (const json& line : one.at(1))
        j.outcomes[n].details.push_back(files::printable_lines(line.get<std::string>()));
    });
    each("c", [&](std::size_t n, const json& one) {
      j.covered[n].push_back(index_of(one.at(1), 1U << 20U, "entry"));
    });
    each("k", [&](std::size_t n, const json& one) {
      j.known[n].push_back(index_of(one.at(1), 1U << 20U, "entry"));
    });
    each("e", [&](std::size_t n, const json& one) {
      const std::size_t flags = index_of(one.at(1), 4, "execution");
      j.executions[n] = {.executed = (flags & 1U) != 0,
                         .shared = (flags & 2U) != 0,
                         .own = launches(one.at(2)),
                         .failed = {}};
    });
    if (object.contains("s")) j.shared = launches(object["s"]);
    j.refused = object.value("r", false);
    return a;
  }
};

Launch kernel_of(const json& row) {
  return {.backend = files::printable(row.at(0).get<std::string>()),
          .device = files::printable(row.at(1).get<std::string>()),
          .kind = static_cast<StepKind>(index_of(row.at(2), 3, "kind of step")),
          .kernel = files::printable(row.at(3).get<std::string>()),
          .count = 0};
}

// The answers of one backend. Of a run that was cut, cases may be missing anywhere, since several
// were judged at once; how many there are is recorded, so that none is lost later.
BackendAnswers answers_of(const json& backend, const prop::Shard& shard, const Reader& reader,
                          std::optional<std::size_t>& properties) {
  BackendAnswers b;
  b.name = backend.at("name").get<std::string>();
  b.code = backend.value("code", std::string());
  b.seconds = backend.at("seconds").get<double>();
  const json& cases = backend.at("cases");
  if (const std::size_t count = backend.value("count", cases.size()); count != cases.size())
    reject(
        say("of backend '", b.name, "' it has ", cases.size(), " cases, and 'count' is ", count));
  const auto end = (cases.size() + kInFlight) * static_cast<std::size_t>(shard.count);
  for (const json& object : cases) {
    const auto i = static_cast<std::int64_t>(index_of(object.at("i"), end, "case"));
    if (!shard.has(i))
      reject(say("case ", i, " is none of shard ", shard.index + 1, "/", shard.count));
    // Every case has a place for each property.
    const std::size_t places = object.at("v").get_ref<const std::string&>().size();
    if (properties.value_or(places) != places)
      reject(say("case ", i, " has verdicts of ", places, " properties, others of ", *properties));
    properties = places;
    if (!b.answers.emplace(i, reader.of_case(object)).second)
      reject(say("case ", i, " of backend '", b.name, "' is there twice"));
  }
  return b;
}

Recording read(const json& document) {
  check_format(document, kFormat);
  Recording out;
  out.command = document.at("command").get<std::string>();
  out.arguments = document.at("arguments").get<std::vector<std::string>>();
  out.identity = document.at("identity").get<std::string>();
  out.build = document.at("build").get<std::string>();
  out.shard = shard_of(document);
  Reader reader;
  for (const json& text : document.at("texts"))
    reader.texts.push_back(files::printable_lines(text.get<std::string>()));
  for (const json& row : document.at("launches")) reader.kernels.push_back(kernel_of(row));
  std::optional<std::size_t> properties;
  for (const json& backend : document.at("backends")) {
    BackendAnswers b = answers_of(backend, out.shard, reader, properties);
    for (const BackendAnswers& a : out.backends)
      if (a.name == b.name) reject("backend '" + b.name + "' is there twice");
    out.backends.push_back(std::move(b));
  }
  return out;
}

}  // namespace

std::string record_text(const Recording& recording) {
  Writer writer;
  std::size_t properties = 0;
  for (const BackendAnswers& b : recording.backends)
    for (const auto& [index, answer] : b.answers)
      for (const std::size_t p : answer.asked) properties = std::max(properties, p + 1);
  Json backends = Json::array();
  for (const BackendAnswers& b : recording.backends) {
    Json cases = Json::array();
    for (const auto& [index, answer] : b.answers)
      cases.push_back(writer.of_case(index, answer, properties));
    Json backend = {{"name", b.name},
                    {"seconds", b.seconds},
                    {"count", cases.size()},
                    {"cases", std::move(cases)}};
    if (!b.code.empty()) backend["code"] = b.code;
    backends.push_back(std::move(backend));
  }
  const Json out = {{"format", kFormat},
                    {"version", kVersion},
                    {"command", recording.command},
                    {"arguments", recording.arguments},
                    {"identity", recording.identity},
                    {"build", recording.build},
                    {"shard", {recording.shard.index, recording.shard.count}},
                    {"texts", writer.texts.list()},
                    {"launches", writer.kernels.list()},
                    {"backends", std::move(backends)}};
  return json_text(out, -1);
}

Result<Recording> read_record(const std::string& path) {
  return read_json_record(path, "a run", read);
}

}  // namespace mla::app
