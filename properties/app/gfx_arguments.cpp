#include "properties/app/gfx_arguments.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/numeric/bf16.hpp"
#include "core/say.hpp"
#include "core/suggest.hpp"
#include "properties/files/terminal.hpp"

namespace mla::app {
namespace {

using nlohmann::json;

struct Type {
  std::string_view name;
  std::size_t size;
  enum Kind : std::uint8_t { integer, natural, real } kind;
};
constexpr Type kTypes[] = {
    {"i8", 1, Type::integer},  {"u8", 1, Type::natural},  {"i16", 2, Type::integer},
    {"u16", 2, Type::natural}, {"i32", 4, Type::integer}, {"u32", 4, Type::natural},
    {"i64", 8, Type::integer}, {"u64", 8, Type::natural}, {"f16", 2, Type::real},
    {"bf16", 2, Type::real},   {"f32", 4, Type::real},    {"f64", 8, Type::real}};
constexpr std::uint64_t kMostBufferBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostKernarg = 4096;

Error wrong(std::size_t argument, const std::string& why) {
  return {ErrorCode::usage, say("argument ", argument, ": ", why)};
}

Result<const Type*> type_of(std::size_t n, const json& name) {
  std::vector<std::string_view> known;
  for (const Type& type : kTypes) {
    if (name.is_string() && name.get_ref<const std::string&>() == type.name) return &type;
    known.push_back(type.name);
  }
  const std::string word = name.is_string() ? name.get<std::string>() : name.dump();
  return wrong(n, "there is no type '" + word + "'" + did_you_mean_or_all(word, known));
}

// Rounded to the nearest, ties to even.
std::uint16_t half_bits(double value) {
  if (std::isnan(value)) return 0x7e00;
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double size = std::fabs(value);
  if (size >= 65520) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(size, &exponent);
  const int step = std::max(exponent, -13) - 11;  // of the last bit
  const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, -step)));
  return static_cast<std::uint16_t>(sign | ((static_cast<std::uint32_t>(step + 24) << 10) + units));
}
double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
  if (exponent == 31) {
    size = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : std::numeric_limits<double>::infinity();
  }
  return (bits & 0x8000) != 0 ? -size : size;
}
std::uint64_t real_bits(const Type& type, double value) {
  if (type.name == "f64") return std::bit_cast<std::uint64_t>(value);
  if (type.name == "f32") return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return type.name == "f16"
             ? half_bits(value)
             : bf16_from_float(static_cast<float>(value), Bf16Rounding::nearest_even);
}

// The bits of one element.
Result<std::uint64_t> element(std::size_t n, const Type& type, const json& value) {
  const std::string expected = say(": expected a number of type ", type.name);
  if (!value.is_number()) return wrong(n, value.dump() + expected);
  const unsigned bits = static_cast<unsigned>(8 * type.size);
  if (type.kind == Type::real) return real_bits(type, value.get<double>());
  if (!value.is_number_integer()) return wrong(n, value.dump() + expected);
  const std::uint64_t most = ~std::uint64_t{0} >> (64 - bits + (type.kind == Type::integer));
  if (value.is_number_unsigned()) {
    if (value.get<std::uint64_t>() > most) return wrong(n, value.dump() + expected);
    return value.get<std::uint64_t>();
  }
  const auto number = value.get<std::int64_t>();
  if (number >= 0)
    return static_cast<std::uint64_t>(number) <= most
               ? Result<std::uint64_t>(static_cast<std::uint64_t>(number))
               : wrong(n, value.dump() + expected);
  if (type.kind == Type::natural || number < -static_cast<std::int64_t>(most) - 1)
    return wrong(n, value.dump() + expected);
  return static_cast<std::uint64_t>(number);
}

class ArgumentReader {
 public:
  ArgumentReader(std::filesystem::path folder, const gfx::Kernel& kernel)
      : folder_(std::move(folder)), kernel_(kernel) {
    out_.memory = std::make_unique<gfx::Memory>();
    for (const gfx::Argument& argument : kernel.arguments)
      if (!argument.kind.starts_with("hidden_")) stated_.push_back(&argument);
  }

  Result<GfxArguments> read(const json& file) {
    if (!file.is_object() || !file.contains("arguments") || !file["arguments"].is_array())
      return Error{ErrorCode::usage, "expected an object with the list \"arguments\""};
    for (const auto& [key, value] : file.items())
      if (key != "arguments")
        return Error{ErrorCode::usage, "'" + key + "' is not known; expected arguments"};
    const json& list = file["arguments"];
    for (std::size_t n = 0; n < list.size(); ++n)
      if (MaybeError bad = add(n, list[n])) return *bad;
    if (!placed_by_hand_ && list.size() != stated_.size() && !stated_.empty())
      return Error{ErrorCode::usage, say("there are ", list.size(), " arguments; kernel '",
                                         kernel_.name, "' takes ", stated_.size())};
    return std::move(out_);
  }

 private:
  MaybeError add(std::size_t n, const json& one) {
    if (!one.is_object() || one.contains("scalar") == one.contains("buffer"))
      return wrong(n, "expected an object with either \"scalar\" or \"buffer\"");
    const bool scalar = one.contains("scalar");
    std::vector<std::string_view> known =
        scalar ? std::vector<std::string_view>{"scalar", "value", "offset"}
               : std::vector<std::string_view>{"buffer", "count", "fill",   "values",
                                               "file",   "show",  "output", "offset"};
    for (const auto& [key, value] : one.items())
      if (std::find(known.begin(), known.end(), key) == known.end())
        return wrong(n, "'" + key + "' is not known" + did_you_mean_or_all(key, known));
    const auto type = type_of(n, one[scalar ? "scalar" : "buffer"]);
    if (!type) return type.error();
    std::uint64_t bits = 0;
    if (scalar) {
      if (!one.contains("value")) return wrong(n, "the scalar has no \"value\"");
      const auto value = element(n, **type, one["value"]);
      if (!value) return value.error();
      bits = *value;
    } else {
      const auto address = add_buffer(n, **type, one);
      if (!address) return address.error();
      bits = *address;
    }
    return place(n, one, bits, scalar ? (*type)->size : 8);
  }

  Result<std::uint64_t> add_buffer(std::size_t n, const Type& type, const json& one) {
    if (one.contains("values") + one.contains("file") + one.contains("count") != 1)
      return wrong(n, "expected one of \"count\", \"values\" and \"file\"");
    std::string bytes;
    if (one.contains("file")) {
      auto text = file_of(n, one["file"]);
      if (!text) return text.error();
      bytes = std::move(*text);
      if (bytes.size() % type.size != 0)
        return wrong(n, say(bytes.size(), " bytes in the file are no whole number of ", type.name));
    } else if (one.contains("values")) {
      if (!one["values"].is_array()) return wrong(n, "\"values\" takes a list of numbers");
      for (const json& value : one["values"]) {
        const auto bits = element(n, type, value);
        if (!bits) return bits.error();
        bytes.append(reinterpret_cast<const char*>(&*bits), type.size);
      }
    } else if (MaybeError bad = fill(n, type, one, bytes)) {
      return *bad;
    }
    if (one.contains("fill") && !one.contains("count"))
      return wrong(n, "\"fill\" goes with \"count\"");
    if (bytes.empty()) return wrong(n, "the buffer is empty");
    auto memory = out_.memory->allocate(bytes.size(), say("argument ", n));
    if (!memory) return memory.error();
    const bool poisoned = one.contains("count") && !one.contains("fill");
    if (!poisoned) std::memcpy(memory->data(), bytes.data(), bytes.size());
    GfxBuffer buffer{.argument = n, .type = std::string(type.name), .bytes = *memory, .output = {}};
    if (one.contains("output")) {
      if (!one["output"].is_string()) return wrong(n, "\"output\" takes the name of a file");
      buffer.output = (folder_ / one["output"].get<std::string>()).string();
    }
    if (one.contains("show")) {
      if (!one["show"].is_number_unsigned()) return wrong(n, "\"show\" takes a number of elements");
      buffer.show = one["show"].get<std::uint64_t>();
    }
    out_.buffers.push_back(std::move(buffer));
    return reinterpret_cast<std::uint64_t>(memory->data());
  }

  static MaybeError fill(std::size_t n, const Type& type, const json& one, std::string& bytes) {
    const json& count = one["count"];
    if (!count.is_number_unsigned() || count.get<std::uint64_t>() > kMostBufferBytes / type.size)
      return wrong(n, say("\"count\" is ", count.dump(), "; expected at most ",
                          kMostBufferBytes / type.size, " elements"));
    std::uint64_t bits = 0;
    if (one.contains("fill")) {
      const auto value = element(n, type, one["fill"]);
      if (!value) return value.error();
      bits = *value;
    }
    bytes.resize(count.get<std::uint64_t>() * type.size);
    for (std::size_t at = 0; at < bytes.size(); at += type.size)
      std::memcpy(bytes.data() + at, &bits, type.size);
    return std::nullopt;
  }

  Result<std::string> file_of(std::size_t n, const json& name) {
    if (!name.is_string()) return wrong(n, "\"file\" takes the name of a file");
    out_.files.push_back((folder_ / name.get<std::string>()).string());
    return files::read_regular_file(out_.files.back());
  }

  // Where the argument lies: as the file says, else as the code object says, else as C would.
  MaybeError place(std::size_t n, const json& one, std::uint64_t bits, std::size_t size) {
    std::uint64_t offset = (out_.kernarg.size() + size - 1) / size * size;
    if (one.contains("offset")) {
      placed_by_hand_ = true;
      if (!one["offset"].is_number_unsigned() ||
          one["offset"].get<std::uint64_t>() > kMostKernarg - size)
        return wrong(n, say("\"offset\" is ", one["offset"].dump(), "; expected 0 to ",
                            kMostKernarg - size));
      offset = one["offset"].get<std::uint64_t>();
    } else if (n < stated_.size()) {
      if (stated_[n]->size != size)
        return wrong(n, say("it has ", size, " bytes; kernel '", kernel_.name, "' takes ",
                            stated_[n]->size, " there"));
      offset = stated_[n]->offset;
    }
    if (offset > kMostKernarg - size)
      return wrong(n, say("the arguments take more than ", kMostKernarg, " bytes"));
    if (out_.kernarg.size() < offset + size) out_.kernarg.resize(offset + size);
    std::memcpy(out_.kernarg.data() + offset, &bits, size);
    return std::nullopt;
  }

  std::filesystem::path folder_;
  const gfx::Kernel& kernel_;
  std::vector<const gfx::Argument*> stated_;
  bool placed_by_hand_ = false;
  GfxArguments out_;
};

double number_of(std::string_view type, std::uint64_t bits) {
  const auto found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                  [&](const Type& t) { return t.name == type; });
  if (type == "f64") return std::bit_cast<double>(bits);
  if (type == "f32") return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (type == "f16") return half_value(static_cast<std::uint16_t>(bits));
  if (type == "bf16") return bf16_to_float(static_cast<std::uint16_t>(bits));
  if (found->kind == Type::natural) return static_cast<double>(bits);
  const auto unused = static_cast<int>(64 - 8 * found->size);
  return static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused);
}

}  // namespace

Result<GfxArguments> read_gfx_arguments(const std::string& path, const gfx::Kernel& kernel) {
  const auto text = files::read_file(path);
  if (!text) return text.error();
  const json file = json::parse(*text, nullptr, false);
  auto out = file.is_discarded()
                 ? Error{ErrorCode::usage, "the file is no JSON"}
                 : ArgumentReader(std::filesystem::path(path).parent_path(), kernel).read(file);
  if (out) return out;
  Error error = out.error();
  error.message = "'" + path + "': " + error.message;
  return error;
}

std::vector<double> shown_elements(const GfxBuffer& buffer) {
  const auto found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                  [&](const Type& t) { return t.name == buffer.type; });
  std::vector<double> out;
  for (std::size_t at = 0; out.size() < buffer.show && at < buffer.bytes.size();
       at += found->size) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, buffer.bytes.data() + at, found->size);
    out.push_back(number_of(buffer.type, bits));
  }
  return out;
}

}  // namespace mla::app
