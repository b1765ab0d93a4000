#include "hip_backend/aiter/selection.hpp"

#include <algorithm>
#include <string>

#include "core/say.hpp"

namespace mla::hip::aiter {
namespace {

// The original's answer so far: the key to look up, and the two numbers of the launch.
struct Dispatch {
  const DecodeQuery& query;
  RowKey key;
  std::int64_t rows_per_workgroup = 128;
  bool per_row = false;  // s_MQA is the heads of one row, not of all
  bool rejected = false;

  [[nodiscard]] bool both(ElementType type) const { return query.q == type && query.kv == type; }
  void look_for(std::int64_t heads, std::int64_t qo_len) {
    key.heads = heads;
    key.qo_len = qo_len;
    per_row = true;
  }
};

void dispatch_16(Dispatch& d) {
  const std::int64_t q = d.query.qo_len;
  if (d.both(ElementType::bf16)) {
    if (d.query.persistent) {
      if (q <= 4) d.key.qo_len = 4;
    } else if (q == 1) {
      d.rows_per_workgroup = 16;
    } else {
      d.key.qo_len = q <= 4 ? 4 : 8;
    }
  } else if (d.query.q == ElementType::bf16) {
    if (d.query.persistent && q <= 4) d.key.qo_len = 4;
  } else if (q > 2 && q <= 4) {
    d.rows_per_workgroup = 64;
    d.key.qo_len = 4;
  } else if (q > 4 && d.query.persistent && d.query.arch == Arch::gfx950) {
    d.look_for(32, 4);
  } else if (q > 4) {
    d.rejected = true;
  }
}

void dispatch_32(Dispatch& d) {
  const std::int64_t q = d.query.qo_len;
  const bool persistent = d.query.persistent;
  if (d.both(ElementType::bf16) && !persistent) {
    d.key.qo_len = 0;
    d.rows_per_workgroup = 64;
  }
  if (!d.both(ElementType::fp8)) return;
  if (q == 1) {
    d.rows_per_workgroup = 32;
  } else if (q >= 3 && persistent && d.query.arch == Arch::gfx950) {
    d.key.qo_len = 4;
  } else if (q != 2 || !persistent) {
    d.rejected = true;
  }
}

void dispatch_64(Dispatch& d) {
  const std::int64_t q = d.query.qo_len;
  if (d.both(ElementType::bf16) && !d.query.persistent) {
    d.key.qo_len = q == 1 ? 1 : 0;
    d.rows_per_workgroup = 64;
  }
  if (!d.both(ElementType::fp8)) return;
  d.key.qo_len = q == 1 ? 1 : 4;
  d.rejected = !d.query.persistent;
}

void dispatch_8(Dispatch& d) {
  if (d.query.persistent) return;
  const std::int64_t q = d.query.qo_len;
  if (q == 1 && (d.both(ElementType::bf16) || d.both(ElementType::fp8))) d.rows_per_workgroup = 8;
  if (q == 2 && d.both(ElementType::bf16)) {
    d.rows_per_workgroup = 16;
    d.per_row = true;
  }
}

void gather_bf16(Dispatch& d) {
  const Dialect& dialect = d.query.dialect;
  const std::int64_t heads = d.query.heads;
  const std::int64_t packed = heads * d.query.qo_len;
  if (!dialect.bf16_gathered) {
    d.rejected = dialect.bf16_heads_as_stride && packed % 128 == 0;
  } else if ((packed >= 128 || heads > 64) && heads != 48) {
    d.look_for(32, 4);
  } else if (dialect.bf16_32x1_on_32x4 && packed == 32) {
    if (heads == 32) d.look_for(32, 4);
  } else if (packed >= 64 || heads > 16 || (heads == 16 && dialect.small_bf16_gathered)) {
    d.look_for(64, 1);
  }
}

void gather_fp8(Dispatch& d) {
  const Dialect& dialect = d.query.dialect;
  const std::int64_t heads = d.query.heads;
  const std::int64_t q = d.query.qo_len;
  if (dialect.fp8_on_32x4 && ((heads == 32 && q >= 4) || (heads == 64 && q >= 2) || heads == 128)) {
    d.look_for(32, 4);
  } else if (dialect.fp8_on_16x4 &&
             ((heads == 16 && (q == 3 || q == 4)) || (heads == 32 && (q == 2 || q == 3)) ||
              (heads == 64 && q == 1))) {
    d.look_for(16, 4);
  }
}

// gfx950 gathers many shapes on a few persistent kernels, after everything else was decided.
void gather_gfx950(Dispatch& d) {
  if (d.query.arch != Arch::gfx950 || !d.query.persistent) return;
  if (d.both(ElementType::bf16)) gather_bf16(d);
  if (d.both(ElementType::fp8)) gather_fp8(d);
}

std::string shape_text(const DecodeQuery& query) {
  return say(query.heads, " heads, ", query.qo_len, " query rows, ", name(query.q), "/",
             name(query.kv), " on ", mla::name(query.arch),
             query.persistent ? ", with a plan" : ", without a plan");
}

// All rows of the key in the order of the file, or why there are none. asked_for: what an earlier
// dispatch asked the column `causal` for.
Result<std::vector<ManifestRow>> rows_of(const Manifest& manifest, const RowKey& key,
                                         bool asked_for) {
  std::vector<ManifestRow> rows;
  std::copy_if(manifest.begin(), manifest.end(), std::back_inserter(rows),
               [&](const ManifestRow& row) {
                 return row.key == key && row.asked_for.value_or(asked_for) == asked_for;
               });
  if (rows.empty())
    return Error{ErrorCode::unsupported, "the manifest has no row for " + text_of(key)};
  return rows;
}

// Two kernels for fp8 of 128 heads on gfx950, one for one row and one for several (14 May to
// 2 June).
bool asks_for_several_rows(const Manifest& manifest, const DecodeQuery& query) {
  return query.arch == Arch::gfx950 && query.q == ElementType::fp8 && query.heads == 128 &&
         query.qo_len > 1 &&
         std::any_of(manifest.begin(), manifest.end(), [](const ManifestRow& row) {
           return row.key.q == ElementType::fp8 && row.key.heads == 128 &&
                  row.asked_for.value_or(false);
         });
}

}  // namespace

Result<Selection> dispatch_decode(const DecodeQuery& query) {
  Dispatch d{.query = query, .key = {}};
  d.key = {.q = query.q,
           .kv = query.kv,
           .heads = query.heads,
           .persistent = query.persistent,
           .qo_len = query.qo_len,
           .prefill = false,
           .causal = query.causal || query.qo_len == 1,  // one row needs no mask
           .lse = query.lse && query.persistent,
           .cprr = query.cprr};
  switch (query.heads) {
    case 128:
      d.key.qo_len = 0;
      if (d.both(ElementType::bf16) && query.arch == Arch::gfx942) d.key.persistent = false;
      break;
    case 16:
      dispatch_16(d);
      break;
    case 32:
      dispatch_32(d);
      break;
    case 64:
      dispatch_64(d);
      break;
    case 8:
      dispatch_8(d);
      break;
    default:
      break;
  }
  if (!d.rejected) gather_gfx950(d);
  if (d.rejected)
    return Error{ErrorCode::unsupported, "AITER's dispatch rejects " + shape_text(query)};
  Selection selection;
  selection.row.key = d.key;
  selection.rows_per_workgroup = d.rows_per_workgroup;
  selection.packed_rows = query.heads * (d.per_row ? 1 : query.qo_len);
  return selection;
}

Result<Selection> select_decode(const Manifest& manifest, DecodeQuery query) {
  query.dialect = dialect_of(manifest);
  Result<Selection> selection = dispatch_decode(query);
  if (!selection) return selection;
  auto rows = rows_of(manifest, selection->row.key, asks_for_several_rows(manifest, query));
  if (!rows) {
    Error error = rows.error();
    error.message = shape_text(query) + ": " + error.message;
    return error;
  }
  selection->row = rows->front();
  selection->rivals.assign(rows->begin() + 1, rows->end());
  return selection;
}

Result<Selection> select_row(const ManifestRow& row, const DecodeQuery& query) {
  Result<Selection> selection = dispatch_decode(query);
  if (!selection) return selection;
  // A row that dispatch leads past takes the shape as it is.
  if (!(selection->row.key == row.key)) selection->packed_rows = query.heads * query.qo_len;
  selection->row = row;
  return selection;
}

Result<ManifestRow> select_prefill(const Manifest& manifest, ElementType type, std::int64_t heads,
                                   bool persistent, bool causal) {
  const auto rows = rows_of(manifest,
                            {.q = type,
                             .kv = type,
                             .heads = heads,
                             .persistent = persistent,
                             .qo_len = 0,
                             .prefill = true,
                             .causal = causal,
                             .lse = false,
                             .cprr = false},
                            false);
  if (!rows) return rows.error();
  return rows->front();
}

}  // namespace mla::hip::aiter
