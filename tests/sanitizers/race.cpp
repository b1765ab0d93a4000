// Two threads of a parallel loop write one variable: the thread sanitizer has to say so.
#include <cstdio>

namespace {
void add_unprotected(int& sum, int value) {
  sum += value;
}
}  // namespace

int main() {
  int sum = 0;
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 100000; ++i) add_unprotected(sum, i % 2);
  std::printf("%d\n", sum);
}
