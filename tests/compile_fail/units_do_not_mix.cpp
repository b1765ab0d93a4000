// Rows are not requests: adding them does not compile (BUG-020).
#include "core/units.hpp"

#ifdef MLA_BREAK
using Other = mla::Requests;
#else
using Other = mla::Rows;
#endif

int main() {
  return static_cast<int>((mla::Rows(1) + Other(2)).count());
}
