// Kernargs: the argument segments of AITER's MLA kernels, byte for byte.
//
// Every argument has a slot of 16 bytes: an address or a 32-bit number, then padding. Addresses are
// those of the device, 0 where there is nothing. Source: asm_mla.cu of the snapshot
// (gfx_emulator.md 2.5, aiter.md 6). Plain data; fails never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "hip_backend/device/device.hpp"

namespace mla::hip::aiter {

template <class T>
struct Slot {
  T value{};
  std::byte padding[16 - sizeof(T)]{};
  Slot& operator=(T other) {
    value = other;
    return *this;
  }
};

// Decode, with and without a plan, and prefill without one.
struct DecodeKernargs {
  Slot<Address> partial_out;  // f32, or bf16 where a single split writes the output
  Slot<Address> partial_lse;
  Slot<Address> q;
  Slot<Address> kv;         // of page 0
  Slot<Address> kv_indptr;  // pages
  Slot<Address> kv_indices;
  Slot<Address> last_page_len;
  Slot<float> softmax_scale;
  Slot<std::uint32_t> packed_rows;  // heads times rows of a request, or heads
  Slot<std::uint32_t> kv_splits;    // 1 with a plan
  Slot<std::uint32_t> q_stride;     // bytes of the longest request's rows
  Slot<std::uint32_t> page_stride;  // bytes
  Slot<std::uint32_t> log2_page;
  Slot<Address> qo_indptr;
  Slot<Address>
      work;  // with a plan the addresses of its work buffers, otherwise num_kv_splits_indptr
  Slot<Address> out;  // bf16; only with a plan
  Slot<Address> q_scale;
  Slot<Address> kv_scale;
  Slot<std::uint32_t> single_split;  // 1: partial_out is bf16 (1 as well with a plan)
  Slot<Address> lse;                 // only of kernels that return it
  Slot<Address> global_kv_indptr;    // only with keys dealt out to ranks
  Slot<std::uint32_t> ranks;
  Slot<std::uint32_t> rank;
};
static_assert(sizeof(DecodeKernargs) == 0x170);
static_assert(offsetof(DecodeKernargs, softmax_scale) == 0x70);
static_assert(offsetof(DecodeKernargs, log2_page) == 0xC0);
static_assert(offsetof(DecodeKernargs, work) == 0xE0);
static_assert(offsetof(DecodeKernargs, lse) == 0x130);
static_assert(offsetof(DecodeKernargs, rank) == 0x160);

// Prefill with a plan (fp8, 192 by 128 a head).
struct PrefillKernargs {
  Slot<Address> q;
  Slot<Address> k;
  Slot<Address> v;
  Slot<Address> out;
  Slot<Address> partial_out;
  Slot<Address> partial_lse;
  Slot<Address> work_indptr;
  Slot<Address> work_info;
  Slot<Address> qo_indptr;
  Slot<Address> kv_indptr;
  Slot<Address> kv_indices;
  Slot<Address> q_scale;
  Slot<Address> k_scale;
  Slot<Address> v_scale;
  Slot<float> softmax_scale;
  Slot<std::uint32_t> query_rows;
  Slot<std::uint32_t> heads;
  Slot<std::uint32_t> pages;
  Slot<std::uint32_t> used_pages;
};
static_assert(sizeof(PrefillKernargs) == 0x130);

}  // namespace mla::hip::aiter
