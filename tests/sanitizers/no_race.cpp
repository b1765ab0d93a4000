// Correct OpenMP of the kinds that the project uses: the thread sanitizer has to be silent, which
// it is only if it learns of OpenMP's barriers (Archer).
#include <cstdio>
#include <vector>

int main() {
  std::vector<double> values(10000, 1.0);
  double sum = 0;
  int busy = 0;
  for (int round = 0; round < 20; ++round) {
#pragma omp parallel for schedule(dynamic) num_threads(4)
    for (int i = 0; i < 10000; ++i) values[static_cast<std::size_t>(i)] += i;
#pragma omp parallel for reduction(+ : sum) num_threads(4)
    for (int i = 0; i < 10000; ++i) sum += values[static_cast<std::size_t>(i)];
#pragma omp parallel num_threads(4)
    {
#pragma omp atomic
      ++busy;
#pragma omp critical
      sum += 1;
    }
  }
  std::printf("%g %d\n", sum, busy);
}
