/* mla_gfx.h: AMD code objects for gfx942 and gfx950, executed on the CPU: devices, memory,
 * launches, reports.
 *
 * A device executes machine code one instruction at a time. Device addresses are host addresses;
 * a kernel reaches only memory that was registered, and whatever it touches elsewhere ends the
 * launch with a fault that says who, where and what. Nothing a kernel does harms the process.
 *
 *   mla_gfx_device* device;
 *   mla_gfx_module* module;
 *   if (mla_gfx_open(MLA_GFX942, &device) != MLA_OK) puts(mla_last_error());
 *   if (mla_gfx_load(device, bytes, size, &module) != MLA_OK) puts(mla_last_error());
 *
 * The conventions are those of mla_testbed.h, except that text which comes out of an object belongs
 * to it and lives as long. A device, its modules and its ranges may be used from several threads;
 * closing what another thread uses is the caller's bug. Sizes are bytes unless a name says
 * otherwise. */
#ifndef MLA_GFX_H
#define MLA_GFX_H

#include "mla_testbed.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mla_gfx_device mla_gfx_device;
typedef struct mla_gfx_module mla_gfx_module; /* a loaded code object */
typedef struct mla_gfx_report mla_gfx_report; /* what one launch did */

/* ---- devices ---- */

typedef struct mla_gfx_properties {
  uint32_t wave_size;     /* lanes */
  uint32_t lds_bytes;     /* at most, for a workgroup */
  uint32_t compute_units; /* of the product: MI300X, MI355X; the emulator has no use for it */
  uint32_t max_threads;   /* of a workgroup */
} mla_gfx_properties;

MLA_TESTBED_API int mla_gfx_open(mla_arch arch, mla_gfx_device** device);
MLA_TESTBED_API void mla_gfx_close(mla_gfx_device* device);
MLA_TESTBED_API int mla_gfx_properties_of(const mla_gfx_device* device, mla_gfx_properties* out);

/* ---- memory ---- */

typedef enum mla_gfx_rights { MLA_GFX_READ = 1, MLA_GFX_READ_WRITE = 3 } mla_gfx_rights;

/* Memory of the caller that kernels may touch; it stays the caller's. Fails on an empty range and
 * on one that overlaps another. The name appears in reports. */
MLA_TESTBED_API int mla_gfx_register(mla_gfx_device* device, void* address, size_t size,
                                     const char* name, mla_gfx_rights rights);
/* New memory, aligned to 256 bytes, filled with 0xa5, with unregistered bytes on both sides. */
MLA_TESTBED_API int mla_gfx_allocate(mla_gfx_device* device, size_t size, const char* name,
                                     void** address);
/* Forgets the range that begins at `address`, and frees it where mla_gfx_allocate() made it. */
MLA_TESTBED_API int mla_gfx_release(mla_gfx_device* device, void* address);

/* ---- code objects ---- */

typedef struct mla_gfx_kernel {
  uint32_t lds_size;     /* known at compile time; a launch may add to it */
  uint32_t scratch_size; /* of each lane */
  uint32_t kernarg_size;
  uint32_t max_threads; /* of a workgroup; 0: not stated */
  uint32_t vgprs;       /* vector registers, accumulation registers included */
  uint32_t agprs;       /* accumulation registers among them */
  uint32_t sgprs;
  uint32_t spilled_vgprs, spilled_sgprs;
  uint32_t argument_count; /* hidden ones included */
} mla_gfx_kernel;

typedef struct mla_gfx_argument {
  uint32_t offset, size; /* in the kernel argument block */
  const char* kind;      /* "by_value", "global_buffer", "hidden_block_count_x", ... */
} mla_gfx_argument;

/* The bytes are copied. */
MLA_TESTBED_API int mla_gfx_load(mla_gfx_device* device, const void* bytes, size_t size,
                                 mla_gfx_module** module);
MLA_TESTBED_API void mla_gfx_unload(mla_gfx_module* module);
/* Null past the last one. */
MLA_TESTBED_API const char* mla_gfx_kernel_name(const mla_gfx_module* module, size_t index);
MLA_TESTBED_API int mla_gfx_kernel_of(const mla_gfx_module* module, const char* name,
                                      mla_gfx_kernel* out);
MLA_TESTBED_API int mla_gfx_argument_of(const mla_gfx_module* module, const char* kernel,
                                        size_t index, mla_gfx_argument* out);

/* ---- launches ---- */

/* Memory that this launch may touch, besides what is registered with the device. */
typedef struct mla_gfx_range {
  void* address;
  uint64_t size;
  const char* name;
  mla_gfx_rights rights;
} mla_gfx_range;

enum {
  MLA_GFX_CHECK_WAITS = 1,          /* a result used before the s_waitcnt that covers it */
  MLA_GFX_CHECK_LDS_RACES = 2,      /* waves that touch the same LDS dword with no barrier */
  MLA_GFX_CHECK_UNINITIALISED = 4,  /* registers and LDS used before anything was written */
  MLA_GFX_CHECK_BANK_CONFLICTS = 8, /* counted in the statistics */
  MLA_GFX_CHECK_DROPPED = 16,       /* buffer accesses past the records, which hardware drops,
                                       other than at the offset 0x80000000 that masks a lane */
  MLA_GFX_CHECK_LANES = 32,         /* shuffles and barriers that lanes are missing from */
  MLA_GFX_CHECK_SAME_BARRIER = 64,  /* waves that wait for each other at different barriers */
  MLA_GFX_CHECK_COHERENCE = 128,    /* what another workgroup wrote, used without release and
                                       acquire; on one thread */
  MLA_GFX_CHECK_ALL = 7             /* those that hold for every correct kernel */
};

typedef enum mla_gfx_order {
  MLA_GFX_ROUND_ROBIN = 0,
  MLA_GFX_REVERSE = 1,
  MLA_GFX_RANDOM = 2
} mla_gfx_order;

/* When an operation on memory takes effect. */
typedef enum mla_gfx_arrival {
  MLA_GFX_EARLY = 0,
  MLA_GFX_LATE = 1,           /* no sooner than an s_waitcnt or the end of the wave asks for it */
  MLA_GFX_RANDOM_ARRIVAL = 2, /* after a number of instructions of the wave that is drawn */
  MLA_GFX_AFTER = 3           /* after a fixed number of instructions */
} mla_gfx_arrival;

/* What MLA_TESTBED_INSTRUCTION_LIMIT says, else 1000000000. */
#define MLA_GFX_USUAL_LIMIT UINT64_MAX

typedef struct mla_gfx_launch {
  uint32_t checks; /* MLA_GFX_CHECK_*, or'ed */
  const char* kernel;
  uint32_t grid[3];  /* workgroups */
  uint32_t block[3]; /* threads */
  const void* kernarg;
  uint64_t kernarg_size; /* hidden arguments may be left out, they are filled in */
  const mla_gfx_range* ranges;
  uint64_t range_count;
  uint32_t dynamic_lds;
  uint32_t fault_limit;       /* the launch ends after so many; 0: 1 */
  uint64_t instruction_limit; /* for each wave; 0: none; or MLA_GFX_USUAL_LIMIT */
  uint32_t slice;             /* instructions of a wave before the next one; 0: to the barrier */
  mla_gfx_order order;        /* of the waves */
  uint64_t seed;              /* MLA_GFX_RANDOM only */
  int32_t threads;            /* of the host; 0: OpenMP's choice */
  /* 0: the ranges are used where they are. Otherwise the launch works on copies of them, so many
   * unregistered bytes apart, and copies back what may be written: an index that is far wrong
   * then meets a fence and never another range. Pointers are moved where the code object says
   * that an argument is one; pointers inside memory are not. */
  uint64_t fence;
  mla_gfx_arrival arrival; /* of memory; other than early: without checks */
  uint64_t arrival_number; /* the seed of random, the instructions of after */
} mla_gfx_launch;

/* grid and block 1, a slice of 4 instructions, MLA_GFX_USUAL_LIMIT, the rest 0. */
MLA_TESTBED_API void mla_gfx_launch_defaults(mla_gfx_launch* launch);
/* Fails where the launch cannot start. What goes wrong while it runs is in the report. SIGINT and
 * SIGTERM end the launch, write where it was to stderr, and end the process, unless the program
 * handles or ignores them. */
MLA_TESTBED_API int mla_gfx_run(mla_gfx_device* device, const mla_gfx_module* module,
                                const mla_gfx_launch* launch, mla_gfx_report** report);
/* The same, and a SIGINT that the program handles ends it too: the handler is called as ever, the
 * launch fails with MLA_FAULT and says where it was. All launches of the process end together. */
MLA_TESTBED_API int mla_gfx_run_interruptibly(mla_gfx_device* device, const mla_gfx_module* module,
                                              const mla_gfx_launch* launch,
                                              mla_gfx_report** report);

/* ---- reports ---- */

typedef struct mla_gfx_event {
  int32_t is_fault;    /* 1: it ended the launch; 0: a finding of a check */
  const char* problem; /* "out-of-bounds", "missing-wait", ... */
  uint32_t workgroup[3];
  uint32_t wave; /* in its workgroup */
  int32_t lane;  /* in its wave; -1: the whole wave */
  uint32_t line; /* of the source, from 1; 0: not known */
  uint32_t column;
  const char* file;        /* empty: not known */
  const char* place;       /* "kernel+0x1c" */
  const char* disassembly; /* of the instruction */
  uint64_t pc;             /* offset in the image of the code object */
  uint64_t address;
  const char* range;    /* the memory that was meant; empty: none */
  int64_t range_offset; /* of the address in it */
  uint64_t range_size;
  const char* text;      /* what exactly */
  const char* line_text; /* all of it in one line */
} mla_gfx_event;

typedef struct mla_gfx_statistics {
  uint64_t instructions; /* of waves */
  uint64_t workgroups, waves;
  uint64_t bytes_read, bytes_written; /* global memory, active lanes */
  uint64_t lds_bytes_read, lds_bytes_written;
  uint64_t scratch_bytes;
  uint64_t lds_bank_conflicts;
  uint64_t matrix_instructions;
} mla_gfx_statistics;

/* Faults come before findings. */
MLA_TESTBED_API size_t mla_gfx_fault_count(const mla_gfx_report* report);
MLA_TESTBED_API size_t mla_gfx_event_count(const mla_gfx_report* report);
/* Findings that were not kept: repeated ones, and those above a limit. */
MLA_TESTBED_API uint64_t mla_gfx_findings_dropped(const mla_gfx_report* report);
MLA_TESTBED_API int mla_gfx_event_of(const mla_gfx_report* report, size_t index,
                                     mla_gfx_event* out);
MLA_TESTBED_API int mla_gfx_statistics_of(const mla_gfx_report* report, mla_gfx_statistics* out);
MLA_TESTBED_API void mla_gfx_free(mla_gfx_report* report);

#ifdef __cplusplus
}
#endif

#endif /* MLA_GFX_H */
