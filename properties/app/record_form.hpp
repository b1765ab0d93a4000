// RecordForm: what one kind of record has of its own. Private to the record*.cpp.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "properties/app/junit.hpp"
#include "properties/app/record.hpp"
#include "properties/files/json_fields.hpp"

namespace mla::app {

// One item in a report.
struct RecordRow {
  JunitCase junit;                // without its class name
  bool asked = true;              // whether something should have been judged
  std::string line;               // of the table; empty: none
  nlohmann::ordered_json object;  // of the JSON report
};

struct RecordForm {
  const char* format;  // in the file
  const char* what;    // "a run"
  // After format, version, build and shard; after format and version.
  void (*read)(files::Fields& fields, Record& record);
  void (*write)(const Record& record, nlohmann::ordered_json& out);
  // Adds a further shard; what differs between the two instead, if anything does.
  std::string (*add)(Record& all, const Record& one);

  // Of plants and fuzz; null for a run.
  const char* command = nullptr;
  const char* items = nullptr;  // the key of the JSON report
  const char* head = nullptr;   // of the table
  std::vector<RecordRow> (*rows)(const Record& record) = nullptr;
  std::string (*ending)(const Record& record) = nullptr;  // of the table
  std::string (*account)(const Record& record, const Item& item) = nullptr;
};

extern const RecordForm kRunForm;
extern const RecordForm kPlantsForm;
extern const RecordForm kFuzzForm;

inline const RecordForm& form_of(RecordKind kind) {
  return kind == RecordKind::run ? kRunForm : kind == RecordKind::plants ? kPlantsForm : kFuzzForm;
}

// ASCII, without spaces if `indent` is -1; bytes that are no UTF-8 are replaced.
std::string json_text(const nlohmann::ordered_json& document, int indent);

}  // namespace mla::app
