#include "properties/step/decode/stage_compare.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <span>
#include <utility>

#include "core/engine/row_map.hpp"
#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "core/shape/dispatch.hpp"
#include "core/shape/split_count.hpp"
#include "cpu_backend/decode/stage_bounds.hpp"
#include "properties/step/agreed_launches.hpp"
#include "properties/step/decode/step_facts.hpp"
#include "properties/step/forwarding_backend.hpp"
#include "properties/step/text.hpp"

namespace mla::prop {
namespace {

bool unwritten(float value) {
  return std::bit_cast<std::uint32_t>(value) == kPoisonF32;
}
bool unwritten(std::uint16_t bits) {
  return bits == kPoisonBf16;
}
float number(float value) {
  return value;
}
float number(std::uint16_t bits) {
  return bf16_to_float(bits);
}

// What an element of the second backend is, compared with that of the first.
template <class T>
DamageSet damage_of(T first, T second, double bound) {
  const float x = number(first);
  const float y = number(second);
  if (unwritten(second)) return unwritten(first) ? DamageSet() : Damage::unwritten;
  const bool same_kind =
      !unwritten(first) && std::isnan(x) == std::isnan(y) && std::isinf(x) == std::isinf(y);
  if (same_kind && (std::isnan(x) || x == y || std::fabs(double{x} - double{y}) <= 2 * bound))
    return {};
  return std::isfinite(y) || unwritten(first) ? Damage::value : Damage::nan;
}

// The same where the works of the two backends have other keys.
template <class T>
DamageSet damage_of(T first, T second) {
  if (unwritten(first)) return {};
  if (unwritten(second)) return Damage::unwritten;
  return std::isnan(number(second)) && !std::isnan(number(first)) ? Damage::nan : DamageSet();
}

struct Stage {
  const char* name;
  std::int64_t heads;
  std::int64_t width;                // elements of a head of a row
  const std::vector<bool>& keyless;  // of each row: it sees no key, though its request has some
  bool same_keys = true;             // the works of both backends have the same keys
};

// One stage of both backends, compared row by row.
template <class T>
class StagePair {
 public:
  StagePair(const Stage& stage, const std::vector<T>& a, const std::vector<T>& b)
      : stage_(stage),
        a_(a),
        b_(b),
        row_elements_(static_cast<std::size_t>(stage.width * stage.heads)) {
    if (a.size() == b.size()) {
      seen_.resize(row_elements_ == 0 ? 0 : a.size() / row_elements_);
    } else {
      what_ = say(stage.name, ": ", a.size(), " elements and ", b.size());
      damage_.add(Damage::value);
    }
  }

  // `bounds` of one backend against the exact value.
  void compare_row(std::int64_t row, std::span<const double> bounds) {
    const auto r = static_cast<std::size_t>(row);
    if (row < 0 || r >= seen_.size()) return;
    seen_[r] = true;
    const std::span a = std::span(a_).subspan(r * row_elements_, row_elements_);
    const std::span b = std::span(b_).subspan(r * row_elements_, row_elements_);
    if (std::memcmp(a.data(), b.data(), a.size_bytes()) == 0 || within(a, b, bounds)) return;
    for (std::size_t i = 0; i < a.size(); ++i)
      note(r, i, a[i], b[i], bounds.empty() ? 0 : bounds[i]);
  }
  // Rows that no sound work writes must be the same.
  void compare_others() {
    for (std::size_t row = 0; row < seen_.size(); ++row)
      if (!seen_[row]) compare_row(static_cast<std::int64_t>(row), {});
  }

  [[nodiscard]] DamageSet damage() const { return damage_; }
  [[nodiscard]] const std::string& what() const { return what_; }
  // Of the first element that differs, or -1.
  [[nodiscard]] std::int64_t row() const {
    return first_ ? static_cast<std::int64_t>(*first_ / row_elements_) : -1;
  }

 private:
  // No NaN and no infinity on either side, and all differences are allowed.
  [[nodiscard]] static bool within(std::span<const T> a, std::span<const T> b,
                                   std::span<const double> bounds) {
    int beyond = bounds.size() == a.size() ? 0 : 1;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      // Where a score overflows the bound is infinite, and so may the difference be.
      const double difference = std::fabs(double{number(a[i])} - double{number(b[i])});
      beyond += std::isfinite(difference) && difference <= 2 * bounds[i] ? 0 : 1;
    }
    return beyond == 0;
  }
  void note(std::size_t row, std::size_t i, T a, T b, double bound) {
    const DamageSet damage = stage_.same_keys ? damage_of(a, b, bound) : damage_of(a, b);
    if (damage.none()) return;
    const bool keyless = row < stage_.keyless.size() && stage_.keyless[row];
    damage_.add(keyless ? DamageSet(Damage::keyless) : damage);
    const std::size_t element = row * row_elements_ + i;
    if (first_ && *first_ < element) return;
    first_ = element;
    const auto width = static_cast<std::size_t>(stage_.width);
    what_ = say(stage_.name, " row ", row, " head ", i / width, " element ", i % width, ": ",
                number(a), " and ", number(b),
                unwritten(b) ? " (never written)" : ", allowed are " + number_text(2 * bound));
  }

  Stage stage_;
  const std::vector<T>& a_;
  const std::vector<T>& b_;
  std::size_t row_elements_;
  std::vector<bool> seen_;  // rows that were compared
  std::optional<std::size_t> first_;
  std::string what_;
  DamageSet damage_;
};

// Of each kernel row: it sees no key, though its request has some.
std::vector<bool> keyless_rows(const DecodeMetadata& md) {
  const auto map = RowMap::make(md);
  if (!map) return {};
  std::vector<bool> query(static_cast<std::size_t>(map->query_rows()));
  for (const RowRange& rows : rows_without_keys(md))
    std::fill(query.begin() + rows.begin, query.begin() + rows.end, true);
  std::vector<bool> kernel;
  for (std::int64_t row = 0; row < map->kernel_rows(); ++row)
    kernel.push_back(query[static_cast<std::size_t>(map->query_row(row))]);
  return kernel;
}

// The same of the splits of a step without a plan; a plan does not cut such a request.
std::vector<bool> keyless_splits(const DecodeMetadata& md, const std::vector<bool>& rows) {
  std::vector<bool> splits;
  for (const bool keyless : rows)
    if (!md.plan)
      splits.insert(splits.end(), static_cast<std::size_t>(md.shape.kv_splits), keyless);
  return splits;
}

// The work whose rows of this kind hold `row`.
std::int64_t writer_of(const DecodeResult& result, RowRange Footprint::* rows, std::int64_t row) {
  for (const Footprint& f : result.footprint)
    if (row >= (f.*rows).begin && row < (f.*rows).end) return f.work;
  return -1;
}

bool cut_alike(const ResolvedShape& shape) {
  return shape.route != Route::split ||
         (!chosen_by_dispatch(shape) &&
          plan::kernel_split_tile(shape.arch, shape.heads.kernel, shape.max_qo_len, shape.dtype) ==
              shape.split_granularity);
}

class Compared final : public ForwardingBackend {
 public:
  Compared(std::unique_ptr<Backend> backend, std::unique_ptr<Backend> peer)
      : ForwardingBackend(*backend), backend_(std::move(backend)), peer_(std::move(peer)) {}
  [[nodiscard]] Result<DecodeResult> run(const DecodeLaunch& launch,
                                         const ExecutionOptions& options) const override {
    ExecutionOptions recorded = options;
    recorded.record_stages = true;
    Result<DecodeResult> result = backend_->run(launch, recorded);
    if (!result || !result->faults.empty()) return result;
    AgreedLaunches::Key key = AgreedLaunches::key(launch, *result);
    if (const auto launches = agreed_.find(key)) {
      result->launches.add(*launches);
      return result;
    }
    const Result<DecodeResult> other = peer_->run(launch, recorded);
    if (!other) return result;
    result->launches.add(other->launches);
    if (const auto found = first_stage_difference(launch, *other, *result))
      result->faults.push_back(
          {say(found->what, ", on ", peer_->name(), " and ", backend_->name()), found->work, -1});
    else
      agreed_.note(std::move(key), other->launches);
    return result;
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Backend> peer_;
  mutable AgreedLaunches agreed_;
};

}  // namespace

std::optional<StageDifference> first_stage_difference(const DecodeLaunch& launch,
                                                      const DecodeResult& first,
                                                      const DecodeResult& second) {
  if (launch.metadata.rows().count() > 0 && (first.stage1_out.empty() || second.stage1_out.empty()))
    return StageDifference{"the stages were not recorded", -1, Damage::value};
  const std::int64_t heads = first.kernel_heads;
  const std::vector<bool> keyless = keyless_rows(launch.metadata);
  const std::vector<bool> in_splits = keyless_splits(launch.metadata, keyless);
  const bool alike = cut_alike(launch.metadata.shape);
  const std::int64_t value = launch.metadata.shape.widths.value().count();
  StagePair partial_out({"partial output", heads, value, in_splits, alike}, first.partial_out,
                        second.partial_out);
  StagePair partial_lse({"partial LSE", heads, 1, in_splits, alike}, first.partial_lse,
                        second.partial_lse);
  StagePair out({"output after stage 1", heads, value, keyless}, first.stage1_out,
                second.stage1_out);
  StagePair lse({"LSE after stage 1", heads, 1, keyless}, first.stage1_lse, second.stage1_lse);
  cpu::for_stage_bounds(launch, [&](const cpu::RowBounds& bounds) {
    if (bounds.partial) {
      partial_out.compare_row(bounds.row, bounds.out);
      partial_lse.compare_row(bounds.row, bounds.lse);
    } else {
      out.compare_row(bounds.row, bounds.out);
      lse.compare_row(bounds.row, bounds.lse);
    }
  });
  std::optional<StageDifference> found;
  const auto look = [&](auto& stage, RowRange Footprint::* rows) {
    stage.compare_others();
    if (stage.damage().none()) return;
    if (!found) found = StageDifference{stage.what(), writer_of(second, rows, stage.row()), {}};
    found->damage.add(stage.damage());
  };
  look(partial_out, &Footprint::partial_rows);
  look(partial_lse, &Footprint::partial_rows);
  look(out, &Footprint::output_rows);
  look(lse, &Footprint::output_rows);
  return found;
}

std::unique_ptr<Backend> compared_with(std::unique_ptr<Backend> backend,
                                       std::unique_ptr<Backend> peer) {
  return std::make_unique<Compared>(std::move(backend), std::move(peer));
}

}  // namespace mla::prop
