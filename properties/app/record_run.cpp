// The record of a run, read, written and merged. Of a case: `i` its number, `v` a letter for each
// property, `m` messages, `d` details of failures, `c` and `k` ledger entries, `e` executions, `s`
// shared launches; texts and kernels by their place in a list.
#include <algorithm>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/say.hpp"
#include "properties/app/record_form.hpp"
#include "properties/files/printable.hpp"

namespace mla::app {
namespace {

using nlohmann::json;
using Json = nlohmann::ordered_json;
using prop::CaseAnswer;
using prop::Verdict;

// In the order of Verdict; '-' was not asked.
constexpr std::string_view kVerdicts = "pfisnku";
constexpr std::size_t kMostLaunches = std::size_t{1} << 32;  // of one case
constexpr std::size_t kInFlight = 4096;  // cases that an interrupted run may have left out
constexpr std::size_t kMostEntries = std::size_t{1} << 20;
constexpr double kMostSeconds = 1e9;  // 30 years

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
      const int flags = (e.executed ? 1 : 0) + (e.shared ? 2 : 0) + (e.refused ? 4 : 0);
      if (flags != 0 || !e.own.entries().empty()) lists["e"].push_back({p, flags, launches(e.own)});
    }
    out["v"] = verdicts;
    for (auto& [key, list] : lists.items())
      if (!list.empty()) out[key] = std::move(list);
    if (!a.judgement.shared.entries().empty()) out["s"] = launches(a.judgement.shared);
    if (a.judgement.refused) out["r"] = true;
    return out;
  }
};

// The element of a list, or null.
const json& part(const json& list, std::size_t place) {
  static const json kNone;
  return list.is_array() && place < list.size() ? list[place] : kNone;
}

// What cases refer to by its place. The last of each list is empty, for a place that is none.
struct Lists {
  std::vector<std::string> texts;
  std::vector<Launch> kernels;
  std::optional<std::size_t> properties;  // for which each case has a letter
};

// Reads one object. What is wrong is refused by `fields`, and reads as empty.
struct Reader {
  Lists& lists;
  files::Fields& fields;

  // An index below `limit`; the limit if it is none.
  [[nodiscard]] std::size_t index(const json& value, std::size_t limit, const char* what) const {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() < limit)
      return value.get<std::size_t>();
    fields.refuse(say(what, " ", files::shown(value), " is not below ", limit));
    return limit;
  }
  [[nodiscard]] const std::string& text(const json& value) const {
    return lists.texts[index(value, lists.texts.size() - 1, "text")];
  }
  [[nodiscard]] std::string word(const json& value) const {
    if (value.is_string()) return value.get<std::string>();
    fields.refuse(files::shown(value) + " stands where a text should be");
    return {};
  }
  void kernel(const json& row) const {
    const std::size_t kind = index(part(row, 2), std::size(kStepKinds), "kind of step");
    if (!fields.error().empty()) return;
    lists.kernels.push_back({.backend = files::printable(word(part(row, 0))),
                             .device = files::printable(word(part(row, 1))),
                             .kind = kStepKinds[kind],
                             .kernel = files::printable(word(part(row, 3))),
                             .count = 0});
  }
  [[nodiscard]] Launches launches(const json& list) const {
    Launches out;
    for (const json& one : list) {
      Launch launch = lists.kernels[index(part(one, 0), lists.kernels.size() - 1, "launch")];
      launch.count = static_cast<std::int64_t>(index(part(one, 1), kMostLaunches, "a count"));
      out.add(launch);
    }
    return out;
  }
  // The letters of the properties that were asked.
  void verdicts(CaseAnswer& a) const {
    const std::string letters = fields.text("v");
    if (letters.size() != lists.properties.value_or(letters.size()))
      fields.refuse(say("case ", files::shown(fields.get("i")), " has verdicts of ", letters.size(),
                        " properties, others of ", *lists.properties));
    lists.properties = letters.size();
    for (std::size_t p = 0; p < letters.size(); ++p) {
      if (letters[p] == '-') continue;
      const std::size_t verdict = kVerdicts.find(letters[p]);
      if (verdict == std::string_view::npos)
        return fields.refuse(say("verdict '", letters.substr(p, 1), "' is none of ", kVerdicts));
      a.asked.push_back(p);
      a.judgement.outcomes.push_back({static_cast<Verdict>(verdict), {}, {}});
    }
  }
  // take(n, one) for each element of a list that a case may lack: it is of the n-th that was asked.
  template <class Take>
  void each(const char* key, const CaseAnswer& a, const Take& take) const {
    if (!fields.has(key)) return;
    for (const json& one : fields.get(key)) {
      const std::size_t p = index(part(one, 0), *lists.properties, "property");
      const auto at = std::find(a.asked.begin(), a.asked.end(), p);
      if (at == a.asked.end()) return fields.refuse(say("property ", p, " was not asked"));
      take(static_cast<std::size_t>(at - a.asked.begin()), one);
    }
  }
  [[nodiscard]] CaseAnswer of_case() const {
    CaseAnswer a;
    prop::Judgement& j = a.judgement;
    verdicts(a);
    if (fields.has("z")) {
      a.too_large = text(fields.get("z"));
      j.outcomes.clear();
      return a;
    }
    j.covered.resize(a.asked.size());
    j.known.resize(a.asked.size());
    j.executions.resize(a.asked.size());
    each("m", a,
         [&](std::size_t n, const json& one) { j.outcomes[n].message = text(part(one, 1)); });
    each("d", a, [&](std::size_t n, const json& one) {
      for (const json& line : part(one, 1))
        j.outcomes[n].details.push_back(files::printable_lines(word(line)));
    });
    each("c", a, [&](std::size_t n, const json& one) {
      j.covered[n].push_back(index(part(one, 1), kMostEntries, "entry"));
    });
    each("k", a, [&](std::size_t n, const json& one) {
      j.known[n].push_back(index(part(one, 1), kMostEntries, "entry"));
    });
    each("e", a, [&](std::size_t n, const json& one) {
      const std::size_t flags = index(part(one, 1), 8, "execution");
      j.executions[n] = {.executed = (flags & 1U) != 0,
                         .shared = (flags & 2U) != 0,
                         .refused = (flags & 4U) != 0,
                         .own = launches(part(one, 2)),
                         .failed = {}};
    });
    if (fields.has("s")) j.shared = launches(fields.get("s"));
    j.refused = fields.truth_or("r", false);
    return a;
  }
};

// The answers of one backend. Of a run that was cut, cases may be missing anywhere, since several
// were judged at once; how many there are is recorded, so that none is lost later.
void read_backend_answers(files::Fields& fields, Lists& lists, Record& record) {
  const prop::Shard& shard = record.shard;
  BackendAnswers b;
  b.name = fields.text("name");
  b.code = fields.text_or("code", "");
  const json& seconds = fields.get("seconds");
  b.seconds = seconds.is_number() ? seconds.get<double>() : -1;
  if (!(0 <= b.seconds && b.seconds <= kMostSeconds))
    fields.reject("seconds", say("is ", files::shown(seconds), "; expected 0 to 1e9"));
  const std::size_t cases = fields.get("cases").size();
  if (fields.has("count") && fields.get("count") != cases)
    fields.refuse(say("of backend '", b.name, "' it has ", cases, " cases, and 'count' is ",
                      files::shown(fields.get("count"))));
  const auto end = (cases + kInFlight) * static_cast<std::size_t>(shard.count);
  fields.each("cases", [&](files::Fields& one) {
    const Reader reader{lists, one};
    const auto i = static_cast<std::int64_t>(reader.index(one.get("i"), end, "case"));
    if (!one.error().empty()) return;
    if (!shard.has(i))
      one.refuse(say("case ", i, " is none of shard ", shard.index + 1, "/", shard.count));
    if (!b.answers.emplace(i, reader.of_case()).second)
      one.refuse(say("case ", i, " of backend '", b.name, "' is there twice"));
  });
  for (const BackendAnswers& a : record.backends)
    if (a.name == b.name) fields.refuse("backend '" + b.name + "' is there twice");
  record.backends.push_back(std::move(b));
}

void read_run(files::Fields& fields, Record& record) {
  record.command = fields.text("command");
  record.arguments = fields.texts("arguments");
  record.identity = fields.text("identity");
  Lists lists;
  for (const std::string& text : fields.texts("texts"))
    lists.texts.push_back(files::printable_lines(text));
  for (const json& row : fields.get("launches")) Reader{lists, fields}.kernel(row);
  lists.texts.emplace_back();
  lists.kernels.emplace_back();
  fields.each("backends", [&](files::Fields& one) { read_backend_answers(one, lists, record); });
}

void write_run(const Record& record, Json& out) {
  Writer writer;
  std::size_t properties = 0;
  for (const BackendAnswers& b : record.backends)
    for (const auto& [index, answer] : b.answers)
      for (const std::size_t p : answer.asked) properties = std::max(properties, p + 1);
  Json backends = Json::array();
  for (const BackendAnswers& b : record.backends) {
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
  out.update({{"command", record.command},
              {"arguments", record.arguments},
              {"identity", record.identity},
              {"build", record.build},
              {"shard", {record.shard.index, record.shard.count}},
              {"texts", writer.texts.list()},
              {"launches", writer.kernels.list()},
              {"backends", std::move(backends)}});
}

std::string add_run_shard(Record& all, const Record& one) {
  if (one.command != all.command || one.arguments != all.arguments) return "the options of the run";
  if (one.identity != all.identity) return "cases, properties or ledger";
  if (one.backends.size() != all.backends.size()) return "the backends";
  for (const BackendAnswers& b : one.backends) {
    const auto same = std::find_if(all.backends.begin(), all.backends.end(),
                                   [&](const BackendAnswers& a) { return a.name == b.name; });
    if (same == all.backends.end()) return "the backends";
    if (b.code != same->code)
      return say("AITER's code objects of backend ", files::printable(b.name));
    same->seconds += b.seconds;
    same->answers.insert(b.answers.begin(), b.answers.end());
  }
  return {};
}

}  // namespace

const RecordForm kRunForm = {.format = "mla-testbed record 1",
                             .what = "a run",
                             .read = read_run,
                             .write = write_run,
                             .add = add_run_shard};

}  // namespace mla::app
