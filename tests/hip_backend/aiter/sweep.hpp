// The sweep: every row of an installation's manifests, run in the emulator on small cases, each
// held to the bounds of the dense reference.
//
// A row is run whether AITER's dispatch ever leads to it or not. What is known to fail is listed
// with its reason (sweep_known.cpp); it must fail, and with the words that are listed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/shape/resolved_shape.hpp"
#include "hip_backend/aiter/installation.hpp"
#include "hip_backend/device/emulated_device.hpp"

namespace mla::hip::aiter::test {

// What one case of one row came to; empty text: within the bounds.
struct Verdict {
  std::string line;  // of the case, with what it does not say
  std::string wrong;
};

// The shape of a case on a row that no case needs to lead to. `splits`: without a plan; 0: as many
// as AITER takes.
ResolvedShape shape_of(const Case& spec, const RowKey& key, std::int64_t splits);

// Decode rows of 576 by 512 a head, on emulated devices that run as `device` says.
std::vector<Verdict> judge_decode_row(Arch arch, const ManifestRow& row,
                                      const std::shared_ptr<Installation>& installation,
                                      const EmulatedOptions& device);

// Prefill rows, with a plan over expanded heads and without one over the latent cache.
std::vector<Verdict> judge_prefill_row(Arch arch, const ManifestRow& row,
                                       const std::shared_ptr<Installation>& installation,
                                       const EmulatedOptions& device);

// A known failure: cases of the row whose line holds `where` and `with` fail in words that hold
// `says`.
struct Known {
  Arch arch;
  std::string_view kernel;  // within the file's name
  std::string_view where;   // within the line; empty: all
  std::string_view with;    // the same
  std::string_view says;
  std::string_view id;  // of docs/findings/aiter.md
};
const Known* known_of(Arch arch, const ManifestRow& row, const std::string& line);

}  // namespace mla::hip::aiter::test
