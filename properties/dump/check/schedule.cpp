#include "properties/dump/check/schedule.hpp"

#include <optional>
#include <string>
#include <utility>

#include "core/paging/pages.hpp"
#include "core/say.hpp"

namespace mla::dump {
namespace {

// Of the first findings: to look for an owner takes time.
constexpr std::int64_t kOwners = 8;

// One request: its rows, its keys, its pages. The first difference of each kind is enough.
class Request {
 public:
  Request(const Schedule& schedule, const plan::PlanInput& in, std::size_t number)
      : schedule_(schedule), in_(in), number_(number) {}

  [[nodiscard]] std::string wrong_rows() const {
    if (schedule_.query_lens.empty()) return {};
    const std::int64_t rows = in_.qo_indptr[number_ + 1] - in_.qo_indptr[number_];
    const std::int64_t scheduled = schedule_.query_lens[number_];
    if (rows == scheduled) return {};
    return say("request ", number_, " has ", rows,
               " rows in seqlens_qo_indptr, the scheduler gave ", "it ", scheduled);
  }

  [[nodiscard]] std::string wrong_keys() const {
    const std::int64_t keys = keys_in_pages(pages(), in_.page_size, in_.last_page_len[number_]);
    const std::int64_t scheduled = schedule_.seq_lens[number_];
    if (pages() == 0 ? scheduled == 0 : keys == scheduled) return {};
    return say("request ", number_, " has ", pages() == 0 ? 0 : keys, " keys in ",
               "seqlens_kv_indptr and kv_last_page_lens, the scheduler gave it ", scheduled);
  }

  // A graph's padding has neither rows nor keys, whatever the lists give it.
  [[nodiscard]] bool is_padding() const {
    const bool no_rows = schedule_.query_lens.empty() || schedule_.query_lens[number_] == 0;
    return no_rows && schedule_.seq_lens[number_] == 0;
  }

  // Of sound lengths, where pages consist of blocks, or blocks of pages.
  [[nodiscard]] std::string wrong_page(const Words& ids, bool with_owner) const {
    const std::int64_t page = in_.page_size;
    for (std::int64_t place = 0; place < pages(); ++place) {
      const std::int64_t token = place * page;
      const auto first = slot_of(token);
      if (!first)
        return say("request ", number_, " has ", pages(), " pages, the scheduler's block table ",
                   width(), " blocks of ", schedule_.block_size, " tokens");
      const std::int64_t id = ids[static_cast<std::size_t>(in_.kv_indptr[number_] + place)];
      if (*first == id * page) continue;
      const std::string is = say("page ", place, " of request ", number_, " is ", id,
                                 " in kv_indices, the scheduler's block table has ");
      if (*first % page != 0)
        return say(is, "slot ", *first, ", where no page of ", page, " tokens begins");
      return say(is, *first / page, with_owner ? owner(id * page) : "");
    }
    return {};
  }

 private:
  [[nodiscard]] std::int64_t pages() const {
    return in_.kv_indptr[number_ + 1] - in_.kv_indptr[number_];
  }

  [[nodiscard]] std::int64_t width() const {
    return std::ssize(schedule_.block_table) / schedule_.requests();
  }

  // Where a token lies; nothing past the end of the table.
  [[nodiscard]] std::optional<std::int64_t> slot_of(std::int64_t token) const {
    const std::int64_t column = token / schedule_.block_size;
    if (column >= width()) return std::nullopt;
    const auto entry =
        static_cast<std::size_t>(static_cast<std::int64_t>(number_) * width() + column);
    return schedule_.block_table[entry] * schedule_.block_size + token % schedule_.block_size;
  }

  // Whose the slot is, if a request has it.
  [[nodiscard]] std::string owner(std::int64_t slot) const {
    for (std::int64_t r = 0; r < schedule_.requests(); ++r) {
      const Request other(schedule_, in_, static_cast<std::size_t>(r));
      for (std::int64_t token = 0; token < schedule_.seq_lens[static_cast<std::size_t>(r)];
           token += in_.page_size) {
        if (other.slot_of(token) != slot) continue;
        const bool own = other.number_ == number_;
        return own ? say(", and this one as its page ", token / in_.page_size)
                   : say(", and this one for request ", r);
      }
    }
    return {};
  }

  const Schedule& schedule_;
  const plan::PlanInput& in_;
  std::size_t number_;
};

}  // namespace

ListFindings check_schedule(const Schedule& schedule, const PlannerCall& call, const Words* pages) {
  const plan::PlanInput& in = call.input;
  ListFindings out;
  if (call.ranks.value_or(1) > 1 || in.cp_round_robin) {
    out.notes.emplace_back(
        "the lists are those of a rank: they were not compared with the scheduler");
    return out;
  }
  const std::int64_t requests = std::ssize(in.qo_indptr) - 1;
  if (requests < schedule.requests()) {
    out.violations.push_back(say("seqlens_qo_indptr is for ", requests, " requests, the scheduler ",
                                 "has ", schedule.requests()));
    return out;
  }
  if (requests > schedule.requests())
    out.notes.push_back(say(requests - schedule.requests(), " of ", requests,
                            " requests are not the scheduler's: the padding of a graph"));
  for (std::int64_t r = 0; r < schedule.requests(); ++r) {
    const Request request(schedule, in, static_cast<std::size_t>(r));
    if (request.is_padding()) continue;
    for (const std::string& what : {request.wrong_rows(), request.wrong_keys()})
      if (!what.empty()) out.violations.push_back(what);
  }
  if (!out.violations.empty() || schedule.block_table.empty() || pages == nullptr) return out;
  if (schedule.block_size % in.page_size != 0 && in.page_size % schedule.block_size != 0) {
    out.notes.push_back(say("blocks of ", schedule.block_size, " tokens and pages of ",
                            in.page_size,
                            " do not fit into each other: the block table was not compared"));
    return out;
  }
  for (std::int64_t r = 0; r < schedule.requests(); ++r) {
    const Request request(schedule, in, static_cast<std::size_t>(r));
    if (request.is_padding()) continue;
    if (std::string what = request.wrong_page(*pages, std::ssize(out.violations) < kOwners);
        !what.empty())
      out.violations.push_back(std::move(what));
  }
  return out;
}

}  // namespace mla::dump
