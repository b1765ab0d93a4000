// Tree: a directory whose name says how fake_tree.py answers for it.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "core/say.hpp"
#include "hip_backend/aiter_tree/tree_process.hpp"

namespace mla::hip::aiter_tree {

class Tree {
 public:
  explicit Tree(const std::string& how)
      : place_(std::filesystem::temp_directory_path() / say("mla-tree-", ::getpid()) / how) {
    std::filesystem::create_directories(place_);
  }
  ~Tree() { std::filesystem::remove_all(place_); }
  [[nodiscard]] Result<std::shared_ptr<TreeProcess>> start(Arch arch = Arch::gfx942) const {
    return TreeProcess::start({.directory = place_.string(), .python = MLA_FAKE_TREE}, arch);
  }
  // The head and the arrays of the last question.
  [[nodiscard]] nlohmann::json asked() const {
    return nlohmann::json::parse(std::ifstream(place_ / "asked.json"));
  }

 private:
  std::filesystem::path place_;
};

}  // namespace mla::hip::aiter_tree
