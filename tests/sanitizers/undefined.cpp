// Overflows a signed integer: the undefined-behaviour sanitizer has to say so.
#include <cstdio>
#include <limits>

int main(int argc, char**) {
  std::printf("%d\n", std::numeric_limits<int>::max() + argc);
}
