#include "properties/capture/prefill_kernel.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "core/say.hpp"

namespace mla::cli {
namespace {

constexpr std::int64_t kTileRows = 256;
constexpr std::int64_t kTileKeys = 128;
constexpr const char* kKernel = "AITER's prefill kernel";

}  // namespace

std::vector<std::string> refused_by_kernel(const PrefillCall& call) {
  const plan::PsInput& in = call.input;
  std::vector<std::string> out;
  if (call.arch != Arch::gfx950) out.push_back(say(kKernel, " is not there on ", name(call.arch)));
  if (call.heads != in.kv_heads)
    out.push_back(say(kKernel, " takes as many KV heads as query heads: ", call.heads.count(),
                      " query heads have ", in.kv_heads.count()));
  if (in.qhead_granularity != 1)
    out.push_back(
        say(kKernel, " takes works of one head, qhead_granularity is ", in.qhead_granularity));
  if (in.qlen_granularity != kTileRows)
    out.push_back(say(kKernel, " takes tiles of ", kTileRows, " rows, qlen_granularity is ",
                      in.qlen_granularity));
  if (in.block_size != 1)
    out.push_back(
        say(kKernel, " takes the id of a page for that of a token, block_size is ", in.block_size));
  return out;
}

std::string cut_between_tiles(const PrefillCall& call) {
  const plan::PlanView view = call.found.view();
  std::string first;
  std::int64_t count = 0;
  const std::int64_t works = view.work_indptr.empty() ? 0 : view.work_indptr.back();
  for (std::int64_t w = 0; w < works; ++w) {
    const plan::WorkItem item = view.work(w);
    const std::int64_t key = item.kv_begin - call.kv_indptr[static_cast<std::size_t>(item.batch)];
    if (key % kTileKeys == 0 || count++ > 0) continue;
    first =
        say(kKernel, " takes ", kTileKeys, " keys at a time and is wrong for pieces that begin ",
            "elsewhere (AITER-34): work ", w, " begins at key ", key, " of request ", item.batch);
  }
  return count > 1 ? say(first, ", and ", count - 1, " works more") : first;
}

}  // namespace mla::cli
