// TaskChecks: the range checks that a task passes before it may run, on every route.
//
// Admits tasks in the order of the plan. A task that would read or write where it may not, or write
// a row that an earlier one owns, becomes a fault that names work, slot and value, and never runs.
#pragma once

#include <string>
#include <vector>

#include "cpu_backend/decode/task.hpp"

namespace mla::cpu {

// "work 3 of slot 1: "
std::string who(const Task& task);

class TaskChecks {
 public:
  explicit TaskChecks(const TaskInput& input);

  void fault(const Task& task, const std::string& what);
  void fault(Fault fault) { list_.faults.push_back(std::move(fault)); }
  // Checks everything about the task and keeps it, or records why not.
  void admit(const Task& task);
  [[nodiscard]] TaskList finish() && { return std::move(list_); }

 private:
  [[nodiscard]] std::string check_rows(const Task& task) const;
  [[nodiscard]] std::string check_keys(const Task& task) const;
  [[nodiscard]] std::string claim_rows(const Task& task);

  KeyAddresses addresses_;
  std::int64_t kernel_rows_;
  std::vector<std::int64_t> partial_owner_;  // work, or -1
  TaskList list_;
};

}  // namespace mla::cpu
