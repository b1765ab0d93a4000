// Hostile calls of the C interface: descriptors, options, lists and documents that no honest caller
// sends. Every call returns with a known status; a sanitizer sees what it should not have touched.
//
//   test_c_abi_hostile [CALLS [SEED]]
//
// A descriptor may contradict itself in every way but one: where address and extents agree, the
// memory is really there, since nothing in a descriptor tells a lie of that kind.
#include <mla_testbed.h>

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

using Random = std::mt19937_64;

std::int64_t below(Random& random, std::int64_t n) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
}

// Values at which something ends, and some in between.
std::int64_t strange(Random& random) {
  static constexpr std::int64_t kEdges[] = {0,
                                            1,
                                            -1,
                                            2,
                                            3,
                                            64,
                                            65536,
                                            1LL << 20,
                                            (1LL << 20) + 1,
                                            (1LL << 31) - 1,
                                            1LL << 31,
                                            -(1LL << 31),
                                            1LL << 46,
                                            1LL << 62,
                                            std::numeric_limits<std::int64_t>::max(),
                                            std::numeric_limits<std::int64_t>::min()};
  if (below(random, 4) == 0) return below(random, 2000) - 1000;
  return kEdges[below(random, std::size(kEdges))];
}

struct Call {
  static constexpr std::int64_t kBatch = 3;
  std::array<std::int32_t, kBatch + 1> qo{0, 2, 4, 6}, kv{0, 100, 700, 1000};
  std::array<std::int32_t, kBatch> last{1, 1, 1};
  std::array<std::uint64_t, 2> meta{};
  std::vector<std::int32_t> words[5];
  aiter_tensor_t lists[3]{}, tensors[6]{};
  mla_plan_buffers buffers{};
  mla_decode_plan_options decode{};
  mla_prefill_plan_options prefill{};
  mla_decode_size_query sizes{};

  Call() {
    mla_decode_size_query_defaults(&sizes);
    sizes.compute_units = 8;
    sizes.batch_size = kBatch;
    sizes.max_seqlen_qo = 2;
    mla_buffer_sizes n{};
    if (mla_decode_sizes(&sizes, &n) != MLA_OK) std::abort();
    mla_decode_plan_defaults(&decode);
    decode.compute_units = 8;
    decode.max_seqlen_qo = decode.uni_seqlen_qo = 2;
    mla_prefill_plan_defaults(&prefill);
    prefill.compute_units = 8;
    prefill.block_size = 1;
    const std::int64_t shapes[5][2] = {{n.work_indptr, 1},
                                       {n.work_items, 8},
                                       {n.reduce_indptr, 1},
                                       {n.reduce_final_rows, 2},
                                       {n.reduce_partial_map, 1}};
    set(lists[0], qo.data(), MLA_DTYPE_I32, {kBatch + 1});
    set(lists[1], kv.data(), MLA_DTYPE_I32, {kBatch + 1});
    set(lists[2], last.data(), MLA_DTYPE_I32, {kBatch});
    set(tensors[0], meta.data(), MLA_DTYPE_U64, {2});
    for (int i = 0; i < 5; ++i) {
      words[i].assign(static_cast<std::size_t>(shapes[i][0] * shapes[i][1]), -7);
      if (shapes[i][1] == 1)
        set(tensors[i + 1], words[i].data(), MLA_DTYPE_I32, {shapes[i][0]});
      else
        set(tensors[i + 1], words[i].data(), MLA_DTYPE_I32, {shapes[i][0], shapes[i][1]});
    }
    buffers = {&tensors[0], &tensors[1], &tensors[2], &tensors[3], &tensors[4], &tensors[5]};
  }

  static void set(aiter_tensor_t& t, void* data, int dtype, std::vector<std::int64_t> shape) {
    t = {};
    t.ptr = data;
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
  }
};

void spoil(aiter_tensor_t& t, Random& random) {
  const std::int64_t d = below(random, MLA_TENSOR_MAX_DIMS);
  switch (below(random, 8)) {
    case 0:
      t.ptr = nullptr;
      break;
    case 1:
      t.ptr = static_cast<char*>(t.ptr) + 1;  // misaligned
      break;
    case 2:
      t.numel = 7919 * static_cast<std::size_t>(below(random, 1 << 20) + 1);  // no such shape
      break;
    case 3:
      t.ndim = static_cast<int>(strange(random));
      break;
    case 4:
      if (t.shape[d] == 0 || strange(random) != t.shape[d]) t.shape[d] = strange(random);
      t.numel += t.numel % 2 == 0 ? 1 : 3;  // never as many as the shape says
      break;
    case 5:
      t.strides[d] = strange(random);
      break;
    case 6:
      t.dtype = static_cast<int>(strange(random));
      break;
    default:  // honest, and shorter
      if (t.ndim > 0 && t.shape[0] > 0) {
        t.numel -= t.numel / static_cast<std::size_t>(t.shape[0]);
        --t.shape[0];
      }
  }
}

template <class Options>
void spoil_field(Options& options, Random& random) {
  std::array<std::int64_t, sizeof(Options) / sizeof(std::int64_t)> fields{};
  std::memcpy(fields.data(), &options, sizeof options);
  fields[static_cast<std::size_t>(below(random, std::ssize(fields)))] = strange(random);
  std::memcpy(&options, fields.data(), sizeof options);
}

template <class List>
void spoil_list(List& list, Random& random) {
  list[static_cast<std::size_t>(below(random, std::ssize(list)))] =
      static_cast<std::int32_t>(strange(random));
}

void spoil(Call& call, Random& random) {
  switch (below(random, 6)) {
    case 0:
      spoil(call.lists[below(random, 3)], random);
      break;
    case 1:
      spoil(call.tensors[below(random, 6)], random);
      break;
    case 2:
      spoil_field(call.decode, random);
      spoil_field(call.prefill, random);
      break;
    case 3:
      spoil_field(call.sizes, random);
      break;
    case 4:
      spoil_list(call.qo, random);
      spoil_list(call.last, random);
      break;
    default:
      spoil_list(call.kv, random);
  }
}

// A document for the plan check with some characters replaced, left out or doubled.
std::string spoiled_document(const std::string& honest, Random& random) {
  std::string text = honest;
  for (std::int64_t i = below(random, 4); i >= 0; --i) {
    const auto at = static_cast<std::size_t>(below(random, std::ssize(text)));
    switch (below(random, 4)) {
      case 0:
        text[at] = static_cast<char>(below(random, 255) + 1);
        break;
      case 1:
        text.erase(at, 1);
        break;
      case 2:
        text.insert(at, std::to_string(strange(random)));
        break;
      default:
        text.insert(at, text.substr(at, static_cast<std::size_t>(below(random, 40))));
    }
    if (text.empty()) text = "{";
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const long calls = argc > 1 ? std::strtol(argv[1], nullptr, 10) : 4000;
  Random random(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 1);
  std::map<int, long> seen;
  const char* text = nullptr;
  if (mla_case_plan("mla1:2q2s90_1q1s30;cu=4", 0, &text) != MLA_OK) return 1;
  const std::string honest = text;
  if (mla_case_plan("mla1:3q2s90_1q2s3k;arch=gfx950;dtype=fp8/fp8", 0, &text) != MLA_OK) return 1;
  const std::string timed = text;
  for (long i = 0; i < calls; ++i) {
    Call call;
    for (std::int64_t n = below(random, 3); n >= 0; --n) spoil(call, random);
    mla_buffer_sizes sizes{};
    ++seen[mla_decode_sizes(&call.sizes, &sizes)];
    ++seen[mla_plan_decode(&call.decode, &call.lists[0], &call.lists[1], &call.lists[2],
                           &call.buffers)];
    ++seen[mla_plan_prefill(&call.prefill, &call.lists[0], &call.lists[1], &call.lists[2],
                            &call.buffers)];
    if (i % 8 == 0) ++seen[mla_check_plan(spoiled_document(honest, random).c_str(), &text)];
    if (i % 32 == 0) ++seen[mla_time_plan(spoiled_document(timed, random).c_str(), 1, &text)];
  }
  bool good = seen[MLA_OK] > 0 && seen[MLA_BAD_TENSOR] > 0 && seen[MLA_USAGE] > 0;
  for (const auto& [status, count] : seen) {
    std::printf("status %d: %ld calls\n", status, count);
    good = good && status >= MLA_OK && status <= MLA_NO_MEMORY;
  }
  if (!good) std::printf("a kind of answer is missing, or there is one of a defect\n");
  return good ? 0 : 1;
}
