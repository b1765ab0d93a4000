/* The C interface through its header alone, compiled as C11. */
#include <mla_testbed.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures = 0;

static void check(int holds, const char* what, int line) {
  if (holds) return;
  printf("abi_test.c:%d: %s does not hold; last error: %s\n", line, what, mla_last_error());
  ++failures;
}
#define CHECK(condition) check((condition), #condition, __LINE__)

static aiter_tensor_t tensor(void* data, int dtype, int ndim, const int64_t* shape) {
  aiter_tensor_t t;
  memset(&t, 0, sizeof t);
  t.ptr = data;
  t.ndim = ndim;
  t.numel = 1;
  t.dtype = dtype;
  t.device_id = -1;
  int64_t stride = 1;
  for (int d = ndim - 1; d >= 0; --d) {
    t.shape[d] = shape[d];
    t.strides[d] = stride;
    stride *= shape[d];
    t.numel *= (size_t)shape[d];
  }
  return t;
}

static aiter_tensor_t list(int32_t* data, int64_t n) {
  return tensor(data, MLA_DTYPE_I32, 1, &n);
}
static aiter_tensor_t table(int32_t* data, int64_t rows, int64_t columns) {
  const int64_t shape[2] = {rows, columns};
  return tensor(data, MLA_DTYPE_I32, 2, shape);
}

/* Two requests of one row with 100 and 3000 keys on four compute units. */
enum { kBatch = 2, kUnits = 4 };

typedef struct step {
  int32_t qo_indptr[kBatch + 1], kv_indptr[kBatch + 1], last[kBatch];
  uint64_t meta[2];
  int32_t* words[5];
  aiter_tensor_t lists[3], tensors[6];
  mla_plan_buffers buffers;
} step;

static int32_t* poisoned(int64_t n) {
  int32_t* out = malloc((size_t)n * sizeof(int32_t));
  for (int64_t i = 0; i < n; ++i) out[i] = -7;
  return out;
}

static void open_step(step* s, const mla_buffer_sizes* n) {
  const step fresh = {{0, 1, 2}, {0, 100, 3100}, {1, 1}, {0}, {0}, {{0}}, {{0}}, {0}};
  *s = fresh;
  const int64_t elements[5] = {n->work_indptr, n->work_items * 8, n->reduce_indptr,
                               n->reduce_final_rows * 2, n->reduce_partial_map};
  for (int i = 0; i < 5; ++i) s->words[i] = poisoned(elements[i]);
  s->lists[0] = list(s->qo_indptr, kBatch + 1);
  s->lists[1] = list(s->kv_indptr, kBatch + 1);
  s->lists[2] = list(s->last, kBatch);
  const int64_t two = 2;
  s->tensors[0] = tensor(s->meta, MLA_DTYPE_U64, 1, &two);
  s->tensors[1] = list(s->words[0], elements[0]);
  s->tensors[2] = table(s->words[1], n->work_items, 8);
  s->tensors[3] = list(s->words[2], elements[2]);
  s->tensors[4] = table(s->words[3], n->reduce_final_rows, 2);
  s->tensors[5] = list(s->words[4], elements[4]);
  const mla_plan_buffers buffers = {&s->tensors[0], &s->tensors[1], &s->tensors[2],
                                    &s->tensors[3], &s->tensors[4], &s->tensors[5]};
  s->buffers = buffers;
}

static void close_step(step* s) {
  for (int i = 0; i < 5; ++i) free(s->words[i]);
}

static mla_buffer_sizes sizes_of_two(void) {
  mla_decode_size_query query;
  mla_decode_size_query_defaults(&query);
  query.compute_units = kUnits;
  query.batch_size = kBatch;
  mla_buffer_sizes sizes;
  memset(&sizes, 0, sizeof sizes);
  CHECK(mla_decode_sizes(&query, &sizes) == MLA_OK);
  return sizes;
}

static mla_decode_plan_options options_of_two(void) {
  mla_decode_plan_options options;
  mla_decode_plan_defaults(&options);
  options.compute_units = kUnits;
  options.max_seqlen_qo = 1;
  options.uni_seqlen_qo = 1;
  return options;
}

static int plan(const mla_decode_plan_options* options, step* s) {
  return mla_plan_decode(options, &s->lists[0], &s->lists[1], &s->lists[2], &s->buffers);
}

static void test_version(void) {
  CHECK(mla_abi_version() == MLA_TESTBED_ABI_VERSION);
  CHECK(strlen(mla_version()) > 0);
  CHECK(sizeof(aiter_tensor_t) == 160);
}

static void test_sizes(void) {
  const mla_buffer_sizes sizes = sizes_of_two();
  CHECK(sizes.work_meta_data == 2);
  CHECK(sizes.work_indptr == kUnits + 1);
  CHECK(sizes.reduce_indptr == kBatch + 1);
  mla_decode_size_query query;
  mla_decode_size_query_defaults(&query);
  query.arch = 90;
  mla_buffer_sizes out;
  CHECK(mla_decode_sizes(&query, &out) == MLA_USAGE);
  CHECK(strstr(mla_last_error(), "arch is 90") != NULL);
  CHECK(mla_decode_sizes(NULL, &out) == MLA_USAGE);
}

static void test_plan(void) {
  mla_buffer_sizes sizes = sizes_of_two();
  sizes.work_items += 1; /* so that one stays unused */
  const mla_decode_plan_options options = options_of_two();
  step s;
  open_step(&s, &sizes);
  CHECK(plan(&options, &s) == MLA_OK);
  CHECK(s.meta[0] == (uint64_t)(uintptr_t)s.words[0]);
  CHECK(s.meta[1] == (uint64_t)(uintptr_t)s.words[1]);
  CHECK(s.words[0][0] == 0);
  const int32_t works = s.words[0][kUnits];
  CHECK(works >= 2);
  /* The pieces hold every key once. */
  int64_t keys = 0;
  for (int32_t w = 0; w < works; ++w) keys += s.words[1][8 * w + 5] - s.words[1][8 * w + 4];
  CHECK(keys == 3100);
  /* Nothing was written after the last work. */
  CHECK(s.words[1][8 * works] == -7);
  close_step(&s);
}

static void test_small_buffer(void) {
  mla_buffer_sizes sizes = sizes_of_two();
  sizes.work_items = 1;
  mla_decode_plan_options options = options_of_two();
  step s;
  open_step(&s, &sizes);
  CHECK(plan(&options, &s) == MLA_OVERRUN);
  CHECK(strstr(mla_last_error(), "work_info") != NULL);
  CHECK(s.words[0][0] == -7);
  options.as_aiter = 1; /* performs what fits */
  CHECK(plan(&options, &s) == MLA_OVERRUN);
  CHECK(s.words[0][0] == 0);
  close_step(&s);
}

static void test_bad_tensors(void) {
  const mla_buffer_sizes sizes = sizes_of_two();
  const mla_decode_plan_options options = options_of_two();
  step s;
  open_step(&s, &sizes);
  s.lists[0].dtype = MLA_DTYPE_I64;
  CHECK(plan(&options, &s) == MLA_BAD_TENSOR);
  CHECK(strstr(mla_last_error(), "seqlens_qo_indptr: expected dtype i32, found i64") != NULL);
  s.lists[0].dtype = MLA_DTYPE_I32;
  s.lists[0].strides[0] = 2;
  CHECK(plan(&options, &s) == MLA_BAD_TENSOR);
  s.lists[0].strides[0] = 1;
  s.buffers.reduce_indptr = NULL;
  CHECK(plan(&options, &s) == MLA_BAD_TENSOR);
  CHECK(strstr(mla_last_error(), "reduce_indptr: expected a tensor, found NULL") != NULL);
  close_step(&s);
}

static void test_places(void) {
  const mla_buffer_sizes sizes = sizes_of_two();
  const mla_decode_plan_options options = options_of_two();
  step s;
  open_step(&s, &sizes);
  CHECK(mla_check_places(1) == 0);
  CHECK(plan(&options, &s) == MLA_BAD_TENSOR);
  CHECK(strstr(mla_last_error(), "found one in host memory") != NULL);
  for (int i = 0; i < 3; ++i) s.lists[i].device_id = 0;
  for (int i = 0; i < 6; ++i) s.tensors[i].device_id = 0;
  CHECK(plan(&options, &s) == MLA_OK);
  CHECK(mla_check_places(0) == 1);
  close_step(&s);
}

static void test_cases(void) {
  const char* text = NULL;
  CHECK(mla_case_canonical("mla1:1q1s5;cu=4", &text) == MLA_OK);
  CHECK(strncmp(text, "mla1:1q1s5;heads=16;", 20) == 0);
  CHECK(mla_case_canonical("mla1:1q1s5;heads=999", &text) == MLA_USAGE);
  CHECK(strstr(mla_last_error(), "999") != NULL);
  CHECK(mla_case_judge("mla1:1q1s5;cu=4", "P05,P12", "cpu", "auto", "", "", &text) == MLA_OK);
  CHECK(strstr(text, "\"verdict\":\"pass\"") != NULL);
  CHECK(mla_case_plan("mla1:1q1s5;cu=4", 0, &text) == MLA_OK);
  char* plan = malloc(strlen(text) + 1);
  strcpy(plan, text);
  CHECK(mla_check_plan(plan, &text) == MLA_OK);
  CHECK(strstr(text, "\"violations\":[]") != NULL);
  CHECK(mla_time_plan(plan, 0, &text) == MLA_OK); /* of 4 compute units */
  CHECK(strstr(text, "\"none\":\"outside of the fitted range: ") != NULL);
  CHECK(mla_case_time("mla1:9q1s5k_1q1s60k;arch=gfx950;dtype=fp8/fp8", 1, &text) == MLA_OK);
  CHECK(strstr(text, "\"predicted\":{\"total_us\":") != NULL);
  CHECK(strstr(text, "\"predicted_better\":{\"total_us\":") != NULL);
  CHECK(strstr(text, "\"better_plan\":{\"buffer_sizes\":") != NULL);
  CHECK(mla_case_time("mla1:1q1s5", 2, &text) == MLA_USAGE);
  CHECK(strstr(mla_last_error(), "better") != NULL);
  CHECK(mla_case_time(NULL, 0, &text) == MLA_USAGE);
  CHECK(mla_time_plan(NULL, 0, &text) == MLA_USAGE);
  const int64_t shape[3] = {2, 16, 576}; /* the batch has one row */
  static uint16_t q[2 * 16 * 576];
  mla_array array = {"q", MLA_ARRAY_UNSIGNED, 2, 3, shape, q};
  CHECK(mla_check_bundle(plan, &array, 1, &text) == MLA_OK);
  CHECK(strstr(text, "q has 2 rows, seqlens_qo_indptr is for 1") != NULL);
  CHECK(mla_check_bundle(plan, NULL, 1, &text) == MLA_USAGE);
  array.kind = 4;
  CHECK(mla_check_bundle(plan, &array, 1, &text) == MLA_USAGE);
  CHECK(strstr(mla_last_error(), "array 'q' has kind 4; expected 0 to 3") != NULL);
  array.kind = MLA_ARRAY_UNSIGNED;
  array.element_bytes = 0;
  CHECK(mla_check_bundle(plan, &array, 1, &text) == MLA_USAGE);
  array.element_bytes = 2;
  array.data = NULL;
  CHECK(mla_check_bundle(plan, &array, 1, &text) == MLA_USAGE);
  array.data = q;
  array.name = NULL;
  CHECK(mla_check_bundle(plan, &array, 1, &text) == MLA_USAGE);
  CHECK(mla_show_plan(plan, &text) == MLA_OK);
  CHECK(strncmp(text, "<!DOCTYPE html>", 15) == 0);
  CHECK(mla_show_plan(NULL, &text) == MLA_USAGE);
  CHECK(mla_show_plan("{", &text) == MLA_USAGE);
  free(plan);
  CHECK(mla_check_plan("{", &text) == MLA_USAGE);
  CHECK(mla_case_judge("mla1:1q1s5;cu=4", "P05", "hip", "hip:99", "", "", &text) == MLA_DEVICE);
}

static void test_backend(void) {
  CHECK(mla_set_backend("gpu") == MLA_USAGE);
  CHECK(mla_set_backend("cpu") == MLA_OK);
  CHECK(strcmp(mla_backend(), "cpu") == 0);
}

int main(void) {
  test_version();
  test_sizes();
  test_plan();
  test_small_buffer();
  test_bad_tensors();
  test_places();
  test_cases();
  test_backend();
  printf("%s\n", failures == 0 ? "all held" : "some did not hold");
  return failures == 0 ? 0 : 1;
}
