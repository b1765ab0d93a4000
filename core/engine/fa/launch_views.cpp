#include "core/engine/fa/launch_views.hpp"

namespace mla::fa {
namespace {

using device::DeviceView;

// Rows [first, first + count) of a tensor whose rows have `row` elements.
DeviceView<std::uint16_t> rows_of(DeviceView<std::uint16_t> tensor, Rows first, Rows count,
                                  std::int64_t row) {
  return tensor.subview(size(first.count() * row), size(count.count() * row));
}

}  // namespace

std::int64_t columns_of(const Metadata& md) {
  const std::int64_t requests = md.requests().count();
  return requests == 0 ? 0 : static_cast<std::int64_t>(md.block_table.size()) / requests;
}

DeviceView<std::int32_t> block_rows(const Metadata& md, Requests first, Requests count) {
  const std::int64_t columns = columns_of(md);
  return md.block_table.subview(size(first.count() * columns), size(count.count() * columns));
}

RunViews views_of(const LayerLaunch& launch, Rows first, Rows count) {
  const DeviceTensors& t = launch.tensors;
  return {.q = rows_of(t.q.view(), first, count, t.shape.q_row()),
          .k = rows_of(t.k.view(), first, count, t.shape.kv_row()),
          .v = rows_of(t.v.view(), first, count, t.shape.kv_row()),
          .out = rows_of(t.out(), first, count, t.shape.q_row())};
}

}  // namespace mla::fa
