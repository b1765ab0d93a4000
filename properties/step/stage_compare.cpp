#include "properties/step/stage_compare.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "core/engine/row_map.hpp"
#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "core/shape/split_count.hpp"
#include "cpu_backend/decode/stage_bounds.hpp"
#include "properties/step/forwarding_backend.hpp"
#include "properties/step/step_facts.hpp"
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

struct Stage {
  const char* name;
  std::int64_t heads;
  std::int64_t width;                 // elements of a head of a row
  const std::vector<double>& bounds;  // of one backend against the exact value
  const std::vector<bool>& keyless;   // of each row: it sees no key, though its request has some
  bool same_keys = true;              // the works of both backends have the same keys
};

std::string place(const Stage& stage, std::size_t index) {
  const auto width = static_cast<std::size_t>(stage.width);
  const auto heads = static_cast<std::size_t>(stage.heads);
  return say(stage.name, " row ", index / width / heads, " head ", index / width % heads,
             " element ", index % width);
}

struct Found {
  std::string what;  // of the first element
  std::int64_t row = -1;
  DamageSet damage;
};

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

template <class T>
Found compare(const Stage& stage, const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size())
    return {say(stage.name, ": ", a.size(), " elements and ", b.size()), -1, Damage::value};
  Found found;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double bound = i < stage.bounds.size() ? stage.bounds[i] : 0;
    const DamageSet damage = stage.same_keys ? damage_of(a[i], b[i], bound) : damage_of(a[i], b[i]);
    if (damage.none()) continue;
    if (found.damage.none()) {
      found.what =
          say(place(stage, i), ": ", number(a[i]), " and ", number(b[i]),
              unwritten(b[i]) ? " (never written)" : ", allowed are " + number_text(2 * bound));
      found.row = static_cast<std::int64_t>(i) / stage.width / stage.heads;
    }
    const std::size_t row = i / static_cast<std::size_t>(stage.width * stage.heads);
    const bool keyless = row < stage.keyless.size() && stage.keyless[row];
    found.damage.add(keyless ? DamageSet(Damage::keyless) : damage);
  }
  return found;
}

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
         plan::kernel_split_tile(shape.arch, shape.heads.kernel, shape.max_qo_len, shape.dtype) ==
             shape.split_granularity;
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
    const Result<DecodeResult> other = peer_->run(launch, recorded);
    if (!other) return result;
    result->launches.add(other->launches);
    if (const auto found = first_stage_difference(launch, *other, *result))
      result->faults.push_back(
          {say(found->what, ", on ", peer_->name(), " and ", backend_->name()), found->work, -1});
    return result;
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Backend> peer_;
};

}  // namespace

std::optional<StageDifference> first_stage_difference(const DecodeLaunch& launch,
                                                      const DecodeResult& first,
                                                      const DecodeResult& second) {
  if (launch.metadata.rows().count() > 0 && (first.stage1_out.empty() || second.stage1_out.empty()))
    return StageDifference{"the stages were not recorded", -1, Damage::value};
  const std::int64_t heads = first.kernel_heads;
  const cpu::StageBounds bounds =
      cpu::stage_bounds(launch, heads > 0 ? std::ssize(first.partial_lse) / heads : 0);
  const std::vector<bool> keyless = keyless_rows(launch.metadata);
  const std::vector<bool> in_splits = keyless_splits(launch.metadata, keyless);
  std::optional<StageDifference> first_one;
  const auto look = [&](const Stage& stage, const auto& a, const auto& b,
                        RowRange Footprint::* rows) {
    Found found = compare(stage, a, b);
    if (found.damage.none()) return;
    if (!first_one)
      first_one = StageDifference{std::move(found.what), writer_of(second, rows, found.row), {}};
    first_one->damage.add(found.damage);
  };
  const bool alike = cut_alike(launch.metadata.shape);
  look({"partial output", heads, kValueDim, bounds.partial_out, in_splits, alike},
       first.partial_out, second.partial_out, &Footprint::partial_rows);
  look({"partial LSE", heads, 1, bounds.partial_lse, in_splits, alike}, first.partial_lse,
       second.partial_lse, &Footprint::partial_rows);
  look({"output after stage 1", heads, kValueDim, bounds.stage1_out, keyless}, first.stage1_out,
       second.stage1_out, &Footprint::output_rows);
  look({"LSE after stage 1", heads, 1, bounds.stage1_lse, keyless}, first.stage1_lse,
       second.stage1_lse, &Footprint::output_rows);
  return first_one;
}

std::unique_ptr<Backend> compared_with(std::unique_ptr<Backend> backend,
                                       std::unique_ptr<Backend> peer) {
  return std::make_unique<Compared>(std::move(backend), std::move(peer));
}

}  // namespace mla::prop
