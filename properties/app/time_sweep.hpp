// The predicted time of a case over numbers of requests and of keys, as table, JSON and picture.
//
// Everything else is the case's: rows of its first request, heads, dtypes, planner. Fails: a list
// that no case has. A shape that is refused, or of which nothing is predicted, is an entry without
// a time.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/case/case.hpp"
#include "core/result.hpp"
#include "core/time/predict.hpp"
#include "properties/show/svg.hpp"

namespace mla::app {

struct SweepQuestion {
  std::vector<std::int64_t> requests = {};
  std::vector<std::int64_t> keys = {};  // of each request
};

struct SweepPoint {
  std::int64_t requests = 0;
  std::int64_t keys = 0;
  Result<timing::Prediction> predicted;
};

struct TimeSweep {
  Case spec;
  SweepQuestion asked;
  std::vector<SweepPoint> points;  // by requests, then by keys
  [[nodiscard]] bool any() const;  // whether anything is predicted
};

Result<TimeSweep> sweep_time(const Case& c, const SweepQuestion& question);

std::string sweep_text(const TimeSweep& sweep);
nlohmann::ordered_json sweep_json(const TimeSweep& sweep);
// What all shapes have in common.
std::string sweep_title(const TimeSweep& sweep);
show::Picture sweep_picture(const TimeSweep& sweep);
std::string sweep_page(const TimeSweep& sweep);

}  // namespace mla::app
