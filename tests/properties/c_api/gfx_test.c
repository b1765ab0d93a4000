/* mla_gfx.h as a C program uses it: devices, memory, and what is refused. Kernels run in the tests
 * of the emulator and of Triton. */
#include <stdio.h>
#include <string.h>

#include "mla_gfx.h"

static int failures;

static void expect(int holds, const char* what) {
  if (holds) return;
  printf("FAILED: %s; the last error is: %s\n", what, mla_last_error());
  ++failures;
}

static void refused(int status, int wanted, const char* sentence, const char* what) {
  expect(status == wanted, what);
  expect(strstr(mla_last_error(), sentence) != NULL, what);
}

static void test_devices(void) {
  mla_gfx_device* device = NULL;
  mla_gfx_properties properties;
  const struct {
    mla_arch arch;
    uint32_t lds, compute_units;
  } known[] = {{MLA_GFX942, 65536, 304}, {MLA_GFX950, 163840, 256}};
  for (int i = 0; i < 2; ++i) {
    expect(mla_gfx_open(known[i].arch, &device) == MLA_OK, "a device opens");
    expect(mla_gfx_properties_of(device, &properties) == MLA_OK, "a device has properties");
    expect(properties.wave_size == 64 && properties.lds_bytes == known[i].lds &&
               properties.compute_units == known[i].compute_units && properties.max_threads == 1024,
           "the properties are those of the product");
    mla_gfx_close(device);
  }
  refused(mla_gfx_open((mla_arch)90, &device), MLA_USAGE, "parameter 'arch' is 90",
          "another architecture is refused");
  expect(device == NULL, "a refused device is NULL");
  refused(mla_gfx_open(MLA_GFX942, NULL), MLA_USAGE, "'device' is NULL", "no place for a device");
}

static void test_memory(mla_gfx_device* device) {
  char bytes[256];
  void* fresh = NULL;
  expect(mla_gfx_register(device, bytes, 128, "first", MLA_GFX_READ) == MLA_OK, "memory registers");
  refused(mla_gfx_register(device, bytes + 64, 128, "second", MLA_GFX_READ_WRITE), MLA_USAGE,
          "'second' overlaps the range 'first'", "an overlap is refused");
  refused(mla_gfx_register(device, bytes + 200, 0, "third", MLA_GFX_READ), MLA_USAGE,
          "'third' is empty", "an empty range is refused");
  refused(mla_gfx_release(device, bytes + 1), MLA_USAGE, "no device range begins",
          "what was not registered is not released");
  expect(mla_gfx_release(device, bytes) == MLA_OK, "memory is released");
  expect(mla_gfx_allocate(device, 1000, "fresh", &fresh) == MLA_OK, "memory is allocated");
  expect(((uintptr_t)fresh & 255) == 0 && *(unsigned char*)fresh == 0xa5, "aligned and filled");
  expect(mla_gfx_release(device, fresh) == MLA_OK, "allocated memory is released");
}

static void test_code_objects(mla_gfx_device* device) {
  mla_gfx_module* module = NULL;
  mla_gfx_report* report = NULL;
  mla_gfx_launch launch;
  refused(mla_gfx_load(device, "no code object", 14, &module), MLA_USAGE, "14 bytes",
          "what is no code object is refused");
  expect(module == NULL, "a refused module is NULL");
  refused(mla_gfx_load(device, NULL, 8, &module), MLA_USAGE, "is NULL", "NULL bytes are refused");
  mla_gfx_launch_defaults(&launch);
  expect(launch.grid[2] == 1 && launch.block[0] == 1 && launch.slice == 4 && launch.checks == 0 &&
             launch.fence == 0 && launch.instruction_limit == MLA_GFX_USUAL_LIMIT,
         "the defaults of a launch");
  refused(mla_gfx_run(device, NULL, &launch, &report), MLA_USAGE, "is NULL", "a launch of nothing");
  expect(mla_gfx_event_count(NULL) == 0 && mla_gfx_kernel_name(NULL, 0) == NULL,
         "NULL has no events and no kernels");
  mla_gfx_unload(NULL);
  mla_gfx_free(NULL);
  mla_gfx_close(NULL);
}

int main(void) {
  mla_gfx_device* device = NULL;
  test_devices();
  if (mla_gfx_open(MLA_GFX950, &device) != MLA_OK) {
    printf("FAILED: no device: %s\n", mla_last_error());
    return 1;
  }
  test_memory(device);
  test_code_objects(device);
  mla_gfx_close(device);
  if (failures == 0) printf("all passed\n");
  return failures != 0;
}
