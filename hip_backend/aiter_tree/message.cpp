#include "hip_backend/aiter_tree/message.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "core/say.hpp"
#include "hip_backend/gfx_emulator/run/run_words.hpp"

namespace mla::hip::aiter_tree {

Error lost(const char* what) {
  return {ErrorCode::fault, say("the process of the AITER tree ended while it was ", what)};
}

namespace {

MaybeError send_all(int socket, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return lost("asked");
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return std::nullopt;
}

MaybeError receive_all(int socket, std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return lost("answering");
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
  return std::nullopt;
}

// Byte by byte: what follows the line belongs to the arrays.
Result<std::string> receive_line(int socket) {
  std::string line;
  for (std::byte one{}; true; line += static_cast<char>(one)) {
    if (const MaybeError bad = receive_all(socket, {&one, 1})) return *bad;
    if (one == std::byte{'\n'}) return line;
  }
}

std::int64_t bytes_of(const std::string& dtype) {
  if (dtype == "uint8") return 1;
  if (dtype == "uint16") return 2;
  return dtype == "int32" || dtype == "float32" ? 4 : 0;
}

Result<Array> receive_array(int socket, const nlohmann::json& told) {
  Array out{told[1].get<std::string>(), told[2].get<std::vector<std::int64_t>>(), {}};
  std::int64_t bytes = bytes_of(out.dtype);
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  bool sane = bytes > 0;
  for (const std::int64_t extent : out.shape) {
    sane = sane && extent >= 0 && (extent == 0 || bytes <= most / extent);
    if (sane) bytes *= extent;
  }
  if (!sane) return Error{ErrorCode::fault, say("an array of the AITER tree is ", told.dump())};
  out.bytes.resize(static_cast<std::size_t>(bytes));
  if (const MaybeError bad = receive_all(socket, out.bytes)) return *bad;
  return out;
}

}  // namespace

void Message::add(const std::string& name, std::span<const std::int32_t> words,
                  std::int64_t width) {
  Array out{"int32", {std::ssize(words) / width}, {}};
  if (width > 1) out.shape.push_back(width);
  const auto bytes = std::as_bytes(words);
  out.bytes.assign(bytes.begin(), bytes.end());
  arrays[name] = std::move(out);
}

void Message::add_bytes(const std::string& name, std::span<const std::byte> bytes) {
  arrays[name] = {"uint8", {std::ssize(bytes)}, {bytes.begin(), bytes.end()}};
}

template <class T>
Result<std::vector<T>> Message::take_all(const std::string& name) const {
  const auto found = arrays.find(name);
  if (found == arrays.end())
    return Error{ErrorCode::fault, say("the AITER tree answered without '", name, "'")};
  const Array& array = found->second;
  if (bytes_of(array.dtype) != sizeof(T))
    return Error{ErrorCode::fault, say("'", name, "' of the AITER tree is of ", array.dtype,
                                       ", whose elements do not have ", sizeof(T), " bytes")};
  std::vector<T> out(array.bytes.size() / sizeof(T));
  if (!out.empty()) std::memcpy(out.data(), array.bytes.data(), array.bytes.size());
  return out;
}

template <class T>
Result<std::vector<T>> Message::take(const std::string& name, std::int64_t count) const {
  auto out = take_all<T>(name);
  if (out && std::ssize(*out) != count)
    return Error{ErrorCode::fault, say("'", name, "' of the AITER tree has ", out->size(),
                                       " elements; expected ", count)};
  return out;
}

template Result<std::vector<std::int32_t>> Message::take(const std::string&, std::int64_t) const;
template Result<std::vector<std::uint16_t>> Message::take(const std::string&, std::int64_t) const;
template Result<std::vector<float>> Message::take(const std::string&, std::int64_t) const;
template Result<std::vector<std::uint16_t>> Message::take_all(const std::string&) const;
template Result<std::vector<float>> Message::take_all(const std::string&) const;

MaybeError send_message(int socket, const Message& message) {
  nlohmann::json head = message.head;
  head["arrays"] = nlohmann::json::array();
  for (const auto& [name, array] : message.arrays)
    head["arrays"].push_back({name, array.dtype, array.shape});
  const std::string line = head.dump() + "\n";
  if (MaybeError bad = send_all(socket, std::as_bytes(std::span(line)))) return bad;
  for (const auto& [name, array] : message.arrays)
    if (MaybeError bad = send_all(socket, array.bytes)) return bad;
  return std::nullopt;
}

Result<Message> read_message(int socket) {
  const auto line = receive_line(socket);
  if (!line) return line.error();
  Message out;
  try {
    out.head = nlohmann::json::parse(*line);
    for (const auto& told : out.head.at("arrays")) {
      auto array = receive_array(socket, told);
      if (!array) return array.error();
      out.arrays[told[0].get<std::string>()] = std::move(*array);
    }
  } catch (const nlohmann::json::exception& e) {
    return Error{ErrorCode::fault, say("the AITER tree answered '", *line, "': ", e.what())};
  }
  return out;
}

nlohmann::json words_of(const gfx::RunOptions& run) {
  return {{"checks", gfx::words_of(run.checks)},
          {"schedule", gfx::words_of(run.schedule)},
          {"arrival", gfx::words_of(run.arrival)},
          {"matrix", gfx::words_of(run.mfma)}};
}

}  // namespace mla::hip::aiter_tree
