// P45: the widths of a row mean what they say. The softmax scale is that of the heads before they
// were absorbed, a row is stored as its latent part and then its rope part, and a narrow row in
// front of zeros is a wide one: a step of 512 + 64 with the zeros gives the same values.
#include <array>
#include <cmath>
#include <cstring>

#include "core/numeric/bf16.hpp"
#include "core/numeric/fp8.hpp"
#include "core/say.hpp"
#include "properties/claims/claims.hpp"
#include "properties/claims/support/stored_row.hpp"
#include "properties/claims/support/support.hpp"
#include "properties/generate/elements.hpp"
#include "properties/step/decode/run.hpp"
#include "properties/step/text.hpp"

namespace mla::prop {
namespace {

constexpr double kHeadDims = 128;  // of a head of an absorbed model, without its rope part

// Heads of models whose values are all of a row, or more than its latent part, are not absorbed.
double scale_of(const RowWidths& w) {
  const bool absorbed = w.value().count() <= w.latent().count();
  const auto dims = static_cast<double>(absorbed ? w.rope().count() : w.key().count());
  return 1 / std::sqrt(absorbed ? kHeadDims + dims : dims);
}

std::optional<std::string> other_scale(const DecodeTensors& t, const RowWidths& w) {
  const double want = scale_of(w);
  if (std::fabs(t.softmax_scale / want - 1) < 1e-6) return std::nullopt;
  return say("rows of ", text_of(w), " have the softmax scale ", number_text(want),
             ", the launch has ", number_text(t.softmax_scale));
}

// Element `d` of a row as the data has it.
float drawn_element(const Case& c, const RowId& id, std::int64_t d) {
  std::array<float, static_cast<std::size_t>(kDrawnDims)> values{};
  element_row(c.data, id, values);
  float value = values[static_cast<std::size_t>(d)];
  const std::int64_t dims = c.widths().key().count();
  if (c.data.kind == Distribution::onehot)
    for (std::int64_t far = d + dims; far < kDrawnDims; far += dims)
      value += values[static_cast<std::size_t>(far)];
  return value;
}

// The first element of a key's row that is not where its part of the row begins.
std::optional<std::string> misplaced(Subject& subject, std::int64_t request,
                                     std::int64_t position) {
  const Case& c = subject.spec();
  const Batch& batch = *subject.batch();
  const DecodeTensors& t = *subject.tensors();
  const Fp8Variant fp8 = fp8_variant(c.arch);
  const bool shared = c.layout.kind == Layout::prefix &&
                      static_cast<std::uint64_t>(position / batch.block_size) < c.layout.parameter;
  const RowId id{TensorId::key, shared ? kSharedRequest : request, position, 0};
  const std::byte* row = t.cache.bytes.data() +
                         (batch.slot(request, position) - t.cache.first_slot) * t.cache.row_bytes();
  const std::int64_t latent = c.widths().latent().count();
  const double scale = c.dtype.kv == Dtype::fp8 ? c.decode().kv_scale : 1;
  // Ends of both parts: what is moved as a whole is moved there.
  for (const std::int64_t d : {std::int64_t{0}, latent - 1, latent, c.widths().key().count() - 1}) {
    if (d >= c.widths().key().count()) continue;
    std::array<std::byte, 2> want{};
    store_element(want.data(), 0, static_cast<float>(drawn_element(c, id, d) / scale), c.dtype.kv,
                  fp8);
    const float expected = stored_element(want.data(), 0, c.dtype.kv, fp8);
    const float found = stored_element(row, d, c.dtype.kv, fp8);
    if (found != expected)
      return say(d < latent ? "latent" : "rope", " element ", d < latent ? d : d - latent,
                 " of key ", position, " of ", request_name(request), " is ", expected,
                 ", element ", d, " of its cached row ", found);
  }
  return std::nullopt;
}

// Rows of `from` bytes in front of zeros that make `to` bytes of each.
std::vector<std::byte> widened(const std::vector<std::byte>& rows, std::int64_t from,
                               std::int64_t to) {
  const std::size_t count = rows.size() / static_cast<std::size_t>(from);
  std::vector<std::byte> out(count * static_cast<std::size_t>(to));
  for (std::size_t i = 0; i < count; ++i)
    std::memcpy(&out[i * static_cast<std::size_t>(to)], &rows[i * static_cast<std::size_t>(from)],
                static_cast<std::size_t>(from));
  return out;
}

// The values of the narrow rows against those of the wide ones, and their LSE.
std::optional<std::string> differs_from_wide(const DecodeResult& narrow, const DecodeResult& wide,
                                             std::int64_t heads, std::size_t value) {
  const std::size_t pairs = narrow.lse.size();
  const auto of_wide = static_cast<std::size_t>(kBuiltIn.value().count());
  if (wide.lse.size() != pairs || wide.out.size() != pairs * of_wide ||
      narrow.out.size() != pairs * value)
    return say("there are ", pairs, " rows and heads, and ", wide.lse.size(), " wide ones");
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    const std::string where = say("row ", static_cast<std::int64_t>(pair) / heads, ", head ",
                                  static_cast<std::int64_t>(pair) % heads);
    if (std::memcmp(&narrow.lse[pair], &wide.lse[pair], sizeof(float)) != 0)
      return say(where, ": LSE ", narrow.lse[pair], ", with zeros ", wide.lse[pair]);
    for (std::size_t d = 0; d < value; ++d) {
      const float x = bf16_to_float(narrow.out[pair * value + d]);
      const float y = bf16_to_float(wide.out[pair * of_wide + d]);
      if (x != y && !(std::isnan(x) && std::isnan(y)))
        return say(where, ", dim ", d, ": ", x, ", with zeros ", y);
    }
  }
  return std::nullopt;
}

Outcome decode_row_widths(Subject& subject) {
  const auto& result = subject.result();
  if (!result) return refusal(result.error());
  const Case& c = subject.spec();
  const RowWidths w = c.widths();
  const DecodeTensors& t = *subject.tensors();
  if (const auto why = other_scale(t, w)) return failed(*why);
  const auto& requests = subject.batch()->requests;
  for (std::int64_t r = 0; r < std::ssize(requests); ++r) {
    const std::int64_t keys = requests[static_cast<std::size_t>(r)].kv_len;
    for (const std::int64_t key : {std::int64_t{0}, keys - 1})
      if (key >= 0 && key < keys)
        if (const auto why = misplaced(subject, r, key)) return failed(*why);
  }
  if (w.same_tensors(kBuiltIn)) return passed();

  Case wide = c;
  wide.decode().latent = kBuiltIn.latent().count();
  wide.decode().rope = kBuiltIn.rope().count();
  wide.decode().value = 0;
  DecodeTensors tensors = t;
  tensors.q = widened(t.q, w.key_bytes(c.dtype.q), kBuiltIn.key_bytes(c.dtype.q));
  tensors.cache.bytes = widened(t.cache.bytes, t.cache.row_bytes(), kBuiltIn.key_bytes(c.dtype.kv));
  tensors.cache.widths = kBuiltIn;
  const auto step = run_step(subject, wide, *subject.batch(), tensors);
  if (!step)
    return failed("with zeros after each row the step is refused: " + step.error().message);
  if (const auto why = differs_from_wide(*result, step->result, c.heads,
                                         static_cast<std::size_t>(w.value().count())))
    return failed(say("rows of ", text_of(w), " and the same with zeros up to ", text_of(kBuiltIn),
                      " differ: ", *why));
  return passed();
}

}  // namespace

constexpr Property kP45{"P45", "row_widths",
                        "Widths are scale, place and number of a row's elements: with zeros after "
                        "it, it gives the same values.",
                        by_kind<decode_row_widths, nullptr, nullptr>};

}  // namespace mla::prop
