#include "properties/app/device_choice.hpp"

#include <cstdlib>

namespace mla::app {

bool named_aiter(std::string_view directory) {
  const char* environment = std::getenv("AITER_HSA");
  return !directory.empty() && directory != (environment == nullptr ? "" : environment);
}

}  // namespace mla::app
