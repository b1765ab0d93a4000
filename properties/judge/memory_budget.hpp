// MemoryBudget: the memory that cases judged at once share. Private to properties.
//
// A case waits until what it needs is free, in the order of asking, so that a large one is judged
// alone and not left out: what is judged does not depend on the number of workers.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace mla::prop {

class MemoryBudget {
 public:
  // 0: no limit.
  explicit MemoryBudget(double bytes) : limit_(bytes) {}

  [[nodiscard]] bool allows(double bytes) const { return limit_ == 0 || bytes <= limit_; }

  // What one case holds until it ends.
  class Share {
   public:
    // Waits. allows(bytes) holds.
    Share(MemoryBudget& budget, double bytes) : budget_(budget), bytes_(bytes) {
      std::unique_lock lock(budget_.mutex_);
      const std::uint64_t ticket = budget_.next_ticket_++;
      const auto fits = [&] {
        return ticket == budget_.served_ &&
               (budget_.holders_ == 0 || budget_.allows(budget_.used_ + bytes_));
      };
      waited_ = !fits();
      budget_.changed_.wait(lock, fits);
      budget_.used_ += bytes_;
      ++budget_.holders_;
      ++budget_.served_;
      budget_.changed_.notify_all();
    }
    ~Share() {
      const std::lock_guard lock(budget_.mutex_);
      budget_.used_ -= bytes_;
      --budget_.holders_;
      budget_.changed_.notify_all();
    }
    [[nodiscard]] bool waited() const { return waited_; }
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

   private:
    MemoryBudget& budget_;
    const double bytes_;
    bool waited_ = false;
  };

 private:
  const double limit_;
  std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  double used_ = 0;
  int holders_ = 0;
  std::uint64_t next_ticket_ = 0;
  std::uint64_t served_ = 0;  // the ticket whose turn it is
};

}  // namespace mla::prop
