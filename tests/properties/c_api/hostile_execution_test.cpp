// Hostile calls of the functions that execute: descriptors, options and lists that no honest caller
// sends, with the check of outputs and without it. Every call returns with a known status; a
// sanitizer sees what it should not have touched.
//
//   test_c_abi_hostile_execution [CALLS [SEED]]
//
// As in hostile_test.cpp, memory is really there where address and extents agree: every tensor has
// eight times its elements, and a stride that a call may believe is at most 7.
#include <mla_testbed.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using Random = std::mt19937_64;

std::int64_t below(Random& random, std::int64_t n) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
}

std::int64_t strange(Random& random) {
  static constexpr std::int64_t kEdges[] = {0,
                                            1,
                                            -1,
                                            2,
                                            63,
                                            4096,
                                            (1LL << 31) - 1,
                                            -(1LL << 31),
                                            1LL << 46,
                                            std::numeric_limits<std::int64_t>::max(),
                                            std::numeric_limits<std::int64_t>::min()};
  if (below(random, 3) == 0) return below(random, 200) - 100;
  return kEdges[below(random, std::size(kEdges))];
}

std::size_t bytes_of(int dtype) {
  switch (dtype) {
    case MLA_DTYPE_FP8:
      return 1;
    case MLA_DTYPE_BF16:
      return 2;
    case MLA_DTYPE_I64:
    case MLA_DTYPE_U64:
      return 8;
    default:
      return 4;
  }
}

// The tensors of one call, by position; their memory lives as long as the call.
class Tensors {
 public:
  aiter_tensor_t* add(int dtype, const std::vector<std::int64_t>& shape) {
    auto made = std::make_unique<One>();
    aiter_tensor_t& t = made->tensor;
    t.ndim = static_cast<int>(shape.size());
    t.dtype = dtype;
    t.device_id = -1;
    std::int64_t stride = 1;
    for (int d = t.ndim - 1; d >= 0; --d) {
      t.shape[d] = shape[static_cast<std::size_t>(d)];
      t.strides[d] = stride;
      stride *= t.shape[d];
    }
    t.numel = static_cast<std::size_t>(stride);
    made->memory.assign((t.numel * 8 + 8) * bytes_of(dtype), std::byte{0});
    t.ptr = made->memory.data();
    made->elements = stride;
    all_.push_back(std::move(made));
    return &all_.back()->tensor;
  }
  template <class T>
  aiter_tensor_t* list(int dtype, const std::vector<T>& values) {
    aiter_tensor_t* t = add(dtype, {static_cast<std::int64_t>(values.size())});
    std::memcpy(t->ptr, values.data(), values.size() * sizeof(T));
    return t;
  }
  aiter_tensor_t* ints(const std::vector<std::int32_t>& values) {
    return list(MLA_DTYPE_I32, values);
  }
  aiter_tensor_t& any(Random& random) { return all_[pick(random)]->tensor; }
  // An element of an integer tensor, if the tensor drawn is one.
  void spoil_value(Random& random) {
    One& one = *all_[pick(random)];
    if (one.elements == 0) return;
    const auto at = static_cast<std::size_t>(below(random, one.elements));
    const std::int64_t value = strange(random);
    if (one.tensor.dtype == MLA_DTYPE_I32) {
      const auto narrow = static_cast<std::int32_t>(value);
      std::memcpy(one.memory.data() + at * 4, &narrow, 4);
    } else if (one.tensor.dtype == MLA_DTYPE_I64) {
      std::memcpy(one.memory.data() + at * 8, &value, 8);
    }
  }

 private:
  struct One {
    aiter_tensor_t tensor{};
    std::vector<std::byte> memory;  // of eight times
    std::int64_t elements = 0;      // so many
  };
  std::size_t pick(Random& random) const {
    return static_cast<std::size_t>(below(random, static_cast<std::int64_t>(all_.size())));
  }
  std::vector<std::unique_ptr<One>> all_;
};

void spoil_tensor(aiter_tensor_t& t, Random& random) {
  const std::int64_t d = below(random, MLA_TENSOR_MAX_DIMS);
  switch (below(random, 8)) {
    case 0:
      t.ptr = nullptr;
      break;
    case 1:
      if (t.ptr != nullptr) t.ptr = static_cast<char*>(t.ptr) + 1;  // not an address without memory
      break;
    case 2:
      t.numel = 7919 * static_cast<std::size_t>(below(random, 1 << 20) + 1);
      break;
    case 3:
      t.ndim = static_cast<int>(strange(random));
      if (t.ndim >= 0 && t.ndim <= MLA_TENSOR_MAX_DIMS) t.ndim = -1;
      break;
    case 4:
      t.shape[d] += 1 + below(random, 5);
      t.numel += t.numel % 2 == 0 ? 1 : 3;
      break;
    case 5: {
      static constexpr std::int64_t kStrides[] = {
          0, 1, 2, 7, -1, -576, 1LL << 62, std::numeric_limits<std::int64_t>::min()};
      t.strides[d] = kStrides[below(random, std::size(kStrides))];
      break;
    }
    case 6:
      if (below(random, 2) == 0)
        t.dtype = static_cast<int>(strange(random) % 1000 + 2000);
      else if (bytes_of(t.dtype) == 8)
        t.dtype = MLA_DTYPE_U32;  // never a wider one
      else
        t.dtype = MLA_DTYPE_FP8;
      break;
    default:
      if (t.ndim > 0 && t.shape[0] > 0) {
        t.numel -= t.numel / static_cast<std::size_t>(t.shape[0]);
        --t.shape[0];
      }
  }
}

// One call: its tensors, its options, and how it is made.
struct Call {
  Tensors tensors;
  std::vector<std::int64_t> options;
  double scale = 0.1;
};

using Maker = void (*)(Call&);
using Runner = int (*)(Call&, const std::vector<const aiter_tensor_t*>&);

std::vector<const aiter_tensor_t*> g_arguments;

template <class Struct>
Struct tensors_as(const std::vector<const aiter_tensor_t*>& arguments) {
  static_assert(sizeof(Struct) % sizeof(void*) == 0);
  Struct out{};
  if (arguments.size() * sizeof(void*) != sizeof(Struct)) std::abort();
  std::memcpy(static_cast<void*>(&out), arguments.data(), sizeof(Struct));
  return out;
}
template <class Struct>
Struct options_as(const Call& call) {
  Struct out{};
  if (call.options.size() * sizeof(std::int64_t) != sizeof(Struct)) std::abort();
  std::memcpy(&out, call.options.data(), sizeof(Struct));
  return out;
}

void make_stage1(Call& c) {
  Tensors& t = c.tensors;
  c.options = {MLA_GFX942, 1, 1, 1, 1};
  g_arguments = {t.add(MLA_DTYPE_BF16, {2, 16, 576}),
                 t.add(MLA_DTYPE_BF16, {8, 1, 1, 576}),
                 t.ints({0, 1, 2}),
                 t.ints({0, 5, 8}),
                 t.ints({0, 1, 2, 3, 4, 5, 6, 7}),
                 t.ints({1, 1}),
                 nullptr,
                 nullptr,
                 t.ints({0, 1, 3}),
                 t.add(MLA_DTYPE_I32, {3, 8}),
                 t.add(MLA_DTYPE_FP32, {4, 1, 16, 512}),
                 t.add(MLA_DTYPE_FP32, {4, 1, 16, 1}),
                 t.add(MLA_DTYPE_BF16, {2, 16, 512}),
                 nullptr,
                 t.add(MLA_DTYPE_FP32, {1}),
                 t.add(MLA_DTYPE_FP32, {1})};
  const std::int32_t works[] = {0, 0, 0, 1, 0, 3,  2, 0, 0, 1, 0, 1,
                                3, 5, 0, 0, 1, -1, 1, 2, 5, 8, 0, 0};
  std::memcpy(g_arguments[9]->ptr, works, sizeof works);
}
int run_stage1(Call& c, const std::vector<const aiter_tensor_t*>& a) {
  const auto options = options_as<mla_stage1_options>(c);
  const auto tensors = tensors_as<mla_stage1_tensors>(a);
  return mla_decode_stage1(&options, &tensors, c.scale);
}

void make_reduce(Call& c) {
  Tensors& t = c.tensors;
  c.options = {MLA_GFX942};
  g_arguments = {t.add(MLA_DTYPE_FP32, {6, 16, 512}),
                 t.add(MLA_DTYPE_FP32, {6, 16}),
                 t.ints({0, 2, 2, 5}),
                 t.add(MLA_DTYPE_I32, {3, 2}),
                 t.ints({0, 2, 1, 3, 5}),
                 t.add(MLA_DTYPE_BF16, {3, 16, 512}),
                 t.add(MLA_DTYPE_FP32, {3, 16})};
  const std::int32_t rows[] = {0, 1, 1, 2, 2, 3};
  std::memcpy(g_arguments[3]->ptr, rows, sizeof rows);
}
int run_reduce(Call& c, const std::vector<const aiter_tensor_t*>& a) {
  const auto tensors = tensors_as<mla_reduce_tensors>(a);
  return mla_reduce(c.options[0], &tensors);
}

void make_prefill(Call& c) {
  Tensors& t = c.tensors;
  c.options = {MLA_GFX950, 1};
  g_arguments = {t.add(MLA_DTYPE_FP8, {5, 2, 192}),
                 t.add(MLA_DTYPE_FP8, {5, 2, 192}),
                 t.add(MLA_DTYPE_FP8, {5, 2, 128}),
                 t.ints({0, 3, 5}),
                 t.ints({0, 3, 5}),
                 t.ints({0, 1, 2, 3, 4}),
                 t.ints({0, 2, 4}),
                 t.add(MLA_DTYPE_I32, {4, 8}),
                 t.add(MLA_DTYPE_FP32, {6, 2, 128}),
                 t.add(MLA_DTYPE_FP32, {6, 2}),
                 t.add(MLA_DTYPE_BF16, {5, 2, 128}),
                 t.add(MLA_DTYPE_FP32, {1}),
                 t.add(MLA_DTYPE_FP32, {1}),
                 t.add(MLA_DTYPE_FP32, {1})};
  const std::int32_t works[] = {0, -1, 0, 3, 0, 3, 0, 0, 0, -1, 0, 3, 0, 3, 0, 1,
                                1, 0,  3, 5, 3, 4, 1, 0, 1, 2,  3, 5, 4, 5, 0, 0};
  std::memcpy(g_arguments[7]->ptr, works, sizeof works);
}
int run_prefill(Call& c, const std::vector<const aiter_tensor_t*>& a) {
  const auto tensors = tensors_as<mla_prefill_tensors>(a);
  return mla_prefill(c.options[0], c.options[1], &tensors, c.scale);
}

void make_expand(Call& c) {
  Tensors& t = c.tensors;
  c.options = {16};
  g_arguments = {t.add(MLA_DTYPE_I32, {3, 4}), t.ints({0, 20, 21, 60}),
                 t.list<std::int64_t>(MLA_DTYPE_I64, {2, 0, 1}), t.add(MLA_DTYPE_I32, {64})};
}
int run_expand(Call& c, const std::vector<const aiter_tensor_t*>& a) {
  return mla_expand_pages(a[0], a[1], a[2], c.options[0], a[3]);
}

void make_rope(Call& c, bool segmented) {
  Tensors& t = c.tensors;
  c.options = {MLA_GFX950, 1, 1, segmented ? 0 : 1, segmented ? 1 : 0};
  const int out = segmented ? MLA_DTYPE_FP8 : MLA_DTYPE_BF16;
  g_arguments = {t.add(MLA_DTYPE_BF16, {3, 2, 512}),
                 t.add(MLA_DTYPE_BF16, {3, 2, 64}),
                 t.add(MLA_DTYPE_BF16, {3, 512}),
                 t.add(MLA_DTYPE_BF16, {3, 64}),
                 segmented ? t.add(out, {2, 64 * 576}) : t.add(out, {4, 8, 576}),
                 t.add(out, {3, 2, 576}),
                 t.list<std::int64_t>(MLA_DTYPE_I64, {5, -1, 31}),
                 t.add(MLA_DTYPE_FP32, {1}),
                 t.add(MLA_DTYPE_FP32, {1}),
                 t.list<std::int64_t>(MLA_DTYPE_I64, {0, 9, 3}),
                 t.add(MLA_DTYPE_BF16, {10, 32}),
                 t.add(MLA_DTYPE_BF16, {10, 32})};
}
void make_plain_rope(Call& c) {
  make_rope(c, false);
}
void make_segmented_rope(Call& c) {
  make_rope(c, true);
}
int run_rope(Call& c, const std::vector<const aiter_tensor_t*>& a) {
  const auto options = options_as<mla_rope_cache_options>(c);
  const auto tensors = tensors_as<mla_rope_cache_tensors>(a);
  return mla_rope_and_cache(&options, &tensors);
}

void make_quantise(Call& c) {
  Tensors& t = c.tensors;
  c.options = {MLA_GFX942, MLA_SCALE_OF_ROW};
  g_arguments = {t.add(MLA_DTYPE_BF16, {3, 40}), t.add(MLA_DTYPE_FP8, {3, 40}),
                 t.add(MLA_DTYPE_FP32, {3})};
}
int run_quantise(Call& c, const std::vector<const aiter_tensor_t*>& a) {
  return mla_quantise_fp8(c.options[0], c.options[1], a[0], a[1], a[2]);
}

struct Function {
  const char* name;
  Maker make;
  Runner run;
};
constexpr Function kFunctions[] = {
    {"stage 1", make_stage1, run_stage1},          {"reduce", make_reduce, run_reduce},
    {"prefill", make_prefill, run_prefill},        {"page expansion", make_expand, run_expand},
    {"rope and cache", make_plain_rope, run_rope}, {"segmented", make_segmented_rope, run_rope},
    {"casts", make_quantise, run_quantise}};

void spoil(Call& call, std::vector<const aiter_tensor_t*>& arguments, Random& random) {
  switch (below(random, 5)) {
    case 0:
      call.options[static_cast<std::size_t>(below(random, std::ssize(call.options)))] =
          strange(random);
      break;
    case 1:
      arguments[static_cast<std::size_t>(below(random, std::ssize(arguments)))] = nullptr;
      break;
    case 2:
      spoil_tensor(call.tensors.any(random), random);
      break;
    default:
      call.tensors.spoil_value(random);
  }
}

bool honest_calls_pass() {
  bool good = true;
  for (const Function& function : kFunctions) {
    Call call;
    function.make(call);
    if (const int status = function.run(call, g_arguments); status != MLA_OK) {
      std::printf("%s: an honest call has status %d: %s\n", function.name, status,
                  mla_last_error());
      good = false;
    }
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  const long calls = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 4000;
  Random random(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1);
  mla_set_threads(1);
  if (!honest_calls_pass()) return 1;
  bool good = true;
  for (const Function& function : kFunctions) {
    std::map<int, long> seen;
    for (long i = 0; i < calls; ++i) {
      Call call;
      function.make(call);
      std::vector<const aiter_tensor_t*> arguments = g_arguments;
      for (std::int64_t n = below(random, 3); n >= 0; --n) spoil(call, arguments, random);
      mla_check_written(static_cast<int>(i % 2));
      ++seen[function.run(call, arguments)];
    }
    std::printf("%-16s", function.name);
    for (const auto& [status, count] : seen) {
      std::printf(" status %d: %ld", status, count);
      good = good && status >= MLA_OK && status <= MLA_NO_MEMORY;
    }
    std::printf("\n");
    good = good && seen[MLA_OK] > 0 && seen[MLA_BAD_TENSOR] > 0;
  }
  if (!good) std::printf("a kind of answer is missing, or there is one of a defect\n");
  return good ? 0 : 1;
}
