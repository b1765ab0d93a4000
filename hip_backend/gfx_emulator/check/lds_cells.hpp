// Owns: what the checks remember of each dword of LDS, or of each byte of a dword that was accessed
// in part: its last write, and its last reads.
//
// One array for each member, so that the accesses of a whole wave are judged several cells at a
// time. Serial numbers count the instructions of the workgroup; 0 stands for "never".
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace mla::gfx {

struct LdsCell {
  std::uint32_t write = 0;   // who wrote last, and when: a tag
  std::uint32_t serial = 0;  // of the last write
  std::uint32_t writer_at = 0;
  std::uint32_t read = 0;  // who read: a tag
  std::uint32_t reader_at = 0;
  std::uint32_t read_serial = 0;  // of the last read; 0: none that lgkmcnt counts in order
};

// A tag: 23 bits of epoch (counted by barriers), 4 bits of wave (the last of `several` readers),
// and how a writer wrote.
namespace tag {
constexpr std::uint32_t several = 1U << 4, by_atomic = 1U << 5, by_load = 1U << 6,
                        by_flat = 1U << 7;
constexpr unsigned epoch_shift = 9;
constexpr std::uint32_t wave_of(std::uint32_t tag) {
  return tag & 15;
}
// Another wave than this one, perhaps among others.
constexpr bool is_other(std::uint32_t tag, std::uint32_t wave) {
  return (tag & 31) != wave;
}
}  // namespace tag

class LdsCells {
 public:
  void resize(std::size_t count) {
    for (auto* const member :
         {&write_, &serial_, &writer_at_, &read_, &reader_at_, &read_serial_}) {
      member->resize(count);
    }
  }
  [[nodiscard]] std::size_t size() const { return serial_.size(); }
  // Tags of earlier epochs may stay: without a write they are not looked at.
  void forget() {
    std::fill(serial_.begin(), serial_.end(), 0U);
    std::fill(read_serial_.begin(), read_serial_.end(), 0U);
  }

  [[nodiscard]] LdsCell at(std::size_t k) const {
    if (serial_[k] == 0) return {0, 0, 0, read_[k], reader_at_[k], read_serial_[k]};
    return {write_[k], serial_[k], writer_at_[k], read_[k], reader_at_[k], read_serial_[k]};
  }
  void set(std::size_t k, const LdsCell& cell) {
    write_[k] = cell.write, serial_[k] = cell.serial, writer_at_[k] = cell.writer_at;
    read_[k] = cell.read, reader_at_[k] = cell.reader_at, read_serial_[k] = cell.read_serial;
  }
  [[nodiscard]] std::uint32_t serial(std::size_t k) const { return serial_[k]; }

  struct Visit {
    std::uint32_t now;  // the epoch, as a tag
    std::uint32_t wave;
    std::uint32_t at;      // the instruction
    std::uint32_t serial;  // its number; of a read that lgkmcnt does not count in order 0
  };
  // The serial numbers up to which the queues of a wave have arrived.
  struct Arrived {
    std::uint32_t vm = 0, lgkm = 0, flat = 0;
    [[nodiscard]] std::uint32_t of(std::uint32_t writer) const {
      if ((writer & tag::by_flat) != 0) return flat;
      return (writer & tag::by_load) != 0 ? vm : lgkm;
    }
  };
  // What had arrived at the last barrier, which is what other waves may rely on: writes, and reads,
  // up to these serial numbers, and of each wave alone.
  struct Settled {
    std::uint32_t writes, reads;
    std::array<Arrived, 16> of_wave;
  };
  // Reads of `count` cells that were all written, and settled or by the same wave. False, and
  // nothing is noted, if one was not.
  [[gnu::always_inline]] bool read(std::size_t first, std::uint32_t count, const Visit& visit,
                                   const Settled& settled) {
    if (count % 4 == 0) return read_all<Four>(first, count, visit, settled);
    if (count % 2 == 0) return read_all<Two>(first, count, visit, settled);
    return read_all<std::uint32_t>(first, count, visit, settled);
  }
  // Writes of cells that no other wave has touched since the barrier, or before it without having
  // arrived there, and that are not `split`.
  [[gnu::always_inline]] bool write(std::size_t first, std::uint32_t count, const Visit& visit,
                                    std::uint32_t kind, const Settled& settled,
                                    std::uint32_t split) {
    if (count % 4 == 0) return write_all<Four>(first, count, visit, kind, settled, split);
    if (count % 2 == 0) return write_all<Two>(first, count, visit, kind, settled, split);
    return write_all<std::uint32_t>(first, count, visit, kind, settled, split);
  }

 private:
  using Member = std::vector<std::uint32_t>;
  // Several cells at a time: baseline vector code of every host.
  using Four [[gnu::vector_size(16)]] = std::uint32_t;
  using Two [[gnu::vector_size(8)]] = std::uint32_t;

  template <class T>
  static T load(const Member& member, std::size_t k) {
    T value;
    std::memcpy(&value, member.data() + k, sizeof value);
    return value;
  }
  template <class T>
  static void store(Member& member, std::size_t k, T value) {
    std::memcpy(member.data() + k, &value, sizeof value);
  }
  static bool any(std::uint32_t flags) { return flags != 0; }
  static bool any(Two flags) { return std::bit_cast<std::uint64_t>(flags) != 0; }
  static bool any(Four flags) {
    using Halves [[gnu::vector_size(16)]] = std::uint64_t;
    const auto halves = reinterpret_cast<Halves>(flags);
    return (halves[0] | halves[1]) != 0;
  }
  template <class T, class C>
  static T flags_of(C condition) {
    if constexpr (sizeof(T) == 4) {
      return condition ? ~0U : 0U;
    } else {
      return reinterpret_cast<T>(condition);
    }
  }
  // Visited since the barrier by another wave.
  template <class T>
  static T by_other(T who, const Visit& visit) {
    return flags_of<T>(who >= T{} + visit.now) & flags_of<T>((who & 31U) != T{} + visit.wave);
  }

  template <class T>
  [[gnu::always_inline]] bool read_all(std::size_t first, std::uint32_t count, const Visit& visit,
                                       const Settled& settled) {
    constexpr std::size_t step = sizeof(T) / 4;
    T other{};
    for (std::size_t k = first; k < first + count; k += step) {
      other |= flags_of<T>(load<T>(serial_, k) - 1U >= T{} + settled.writes);
    }
    if (any(other) && !all_mine<T>(first, count, visit, settled.writes) &&
        !all_arrived(first, count, visit, settled)) {
      return false;
    }
    for (std::size_t k = first; k < first + count; k += step) {
      const T shared = by_other<T>(load<T>(read_, k), visit) & tag::several;
      store<T>(read_, k, shared | (visit.now | visit.wave));
      store<T>(reader_at_, k, T{} + visit.at);
      store<T>(read_serial_, k, T{} + visit.serial);
    }
    return true;
  }
  // Or written by an LDS instruction of the same wave, whenever that was: they keep their order.
  template <class T>
  [[nodiscard]] bool all_mine(std::size_t first, std::uint32_t count, const Visit& visit,
                              std::uint32_t settled) const {
    constexpr std::size_t step = sizeof(T) / 4;
    T other{};
    for (std::size_t k = first; k < first + count; k += step) {
      const T serial = load<T>(serial_, k) - 1U;
      const T mine = flags_of<T>((load<T>(write_, k) & (15U | tag::by_load)) == T{} + visit.wave);
      const T never = flags_of<T>(serial >= T{} + ~1U);  // or split
      other |= flags_of<T>(serial >= T{} + settled) & (~mine | never);
    }
    return !any(other);
  }
  // Or written before the barrier by a wave whose write had arrived there, while an older one of
  // another wave had not. One cell after the other: each has its writer.
  [[nodiscard]] bool all_arrived(std::size_t first, std::uint32_t count, const Visit& visit,
                                 const Settled& settled) const {
    for (std::size_t k = first; k < first + count; ++k) {
      const std::uint32_t serial = serial_[k], writer = write_[k];
      if (serial == 0 || writer >= visit.now) return false;
      if (serial > settled.of_wave[writer & 15].of(writer)) return false;  // or split
    }
    return true;
  }
  template <class T>
  [[gnu::always_inline]] bool write_all(std::size_t first, std::uint32_t count, const Visit& visit,
                                        std::uint32_t kind, const Settled& settled,
                                        std::uint32_t split) {
    constexpr std::size_t step = sizeof(T) / 4;
    T other{};
    for (std::size_t k = first; k < first + count; k += step) {
      const T read = load<T>(read_, k), write = load<T>(write_, k), serial = load<T>(serial_, k);
      other |=
          by_other<T>(read, visit) | by_other<T>(write, visit) | flags_of<T>(serial == T{} + split);
      const T late_read = flags_of<T>(load<T>(read_serial_, k) > T{} + settled.reads);
      const T late_write = flags_of<T>(serial > T{} + settled.writes);
      other |= late_read & flags_of<T>((read & 31U) != T{} + visit.wave);
      other |= late_write & flags_of<T>((write & 15U) != T{} + visit.wave);
    }
    if (any(other)) return false;
    for (std::size_t k = first; k < first + count; k += step) {
      store<T>(serial_, k, T{} + visit.serial);
      store<T>(write_, k, T{} + (visit.now | visit.wave | kind));
      store<T>(writer_at_, k, T{} + visit.at);
    }
    return true;
  }

  Member write_, serial_, writer_at_, read_, reader_at_, read_serial_;
};

}  // namespace mla::gfx
