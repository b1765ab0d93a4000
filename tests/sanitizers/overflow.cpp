// Reads one element after a vector: the address sanitizer has to say so.
#include <cstdio>
#include <vector>

int main(int argc, char**) {
  const std::vector<int> values(4, argc);
  const int* first = values.data();
  std::printf("%d\n", first[values.size()]);
}
