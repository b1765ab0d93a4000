// The checks that a piece of stage 1 passes before it may run. Private to admission.
//
// Units: kernel rows, tokens counted from the piece's first entry of kv_indices.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hip_backend/admission/admission.hpp"

namespace mla::hip {

// "[3, 7)"
std::string range_text(std::int64_t begin, std::int64_t end);

class WorkAdmission {
 public:
  // `partial_rows`: rows that the plan's partial buffers have.
  WorkAdmission(const AdmissionInput& input, std::int64_t partial_rows, Admission& out);

  void admit_work(std::int64_t work, std::int64_t slot);
  void admit_request(std::int64_t request);  // all splits of it

  // The admitted work that writes a row of the output, or -1.
  [[nodiscard]] std::int64_t owner(std::int64_t row) const {
    return owner_[static_cast<std::size_t>(row)];
  }
  [[nodiscard]] std::int64_t rows() const { return input_.kernel_rows; }
  [[nodiscard]] std::int64_t partial_rows() const {
    return static_cast<std::int64_t>(partial_owner_.size());
  }

 private:
  struct Piece {
    std::int64_t work = -1;
    std::int64_t slot = -1;
    RowRange q;
    std::int64_t first_entry = 0;
    std::int64_t begin = 0;  // positions; of these the first `run` of every `stride`
    std::int64_t end = 0;
    std::int64_t run = 1;
    std::int64_t stride = 1;
    std::int64_t partial_row = -1;
    std::int64_t partial_stride = 1;
    [[nodiscard]] std::int64_t partial_of(std::int64_t row) const {
      return partial_row + (row - q.begin) * partial_stride;
    }
  };
  void fault(std::int64_t work, std::int64_t slot, const std::string& what);
  void admit(const Piece& piece);
  [[nodiscard]] std::string check_rows(const Piece& piece) const;
  [[nodiscard]] std::string check_keys(const Piece& piece) const;
  [[nodiscard]] std::string claim(const Piece& piece);
  void record(const Piece& piece);

  AdmissionInput input_;
  Admission& out_;
  std::vector<std::int64_t> owner_;          // of each kernel row: its work, or -1
  std::vector<std::int64_t> partial_owner_;  // of each partial row
};

}  // namespace mla::hip
