// Names of `triton_dist.language.tma` and `tma_language`: mbarriers, bulk copies and the fields of tensor maps.
// Pipelines and whole tensor maps are made of these in library/tma.py.
#include "compiler/frontend/builtin/addresses.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static mlir::Value int32(Context& c, const Arguments& a, const char* what) {
  return integer(c, a[what], Scalar::Int32, what);
}

template <class Op> static Value emitBare(Context& c, const Arguments&) {
  Op::create(c.builder, c.loc());
  return None{};
}

// --- mbarriers ---

static Value initRow(Context& c, const Arguments& a) {
  simt::MbarrierInitOp::create(c.builder, c.loc(), address(c, a["mbar_ptr"], "mbar_ptr"), int32(c, a, "count"));
  return None{};
}

static Value arriveRow(Context& c, const Arguments& a) {
  simt::MbarrierArriveOp::create(c.builder, c.loc(), address(c, a["mbar_ptr"], "mbar_ptr"), mlir::Value());
  return None{};
}

static Value arriveExpectRow(Context& c, const Arguments& a) {
  mlir::Value barrier = address(c, a["mbar_ptr"], "mbar_ptr");
  simt::MbarrierArriveOp::create(c.builder, c.loc(), barrier, int32(c, a, "tx_count"));
  return None{};
}

static Value expectRow(Context& c, const Arguments& a) {
  mlir::Value barrier = address(c, a["mbar_ptr"], "mbar_ptr");
  simt::MbarrierExpectOp::create(c.builder, c.loc(), barrier, int32(c, a, "tx_count"));
  return None{};
}

static Value tryWaitRow(Context& c, const Arguments& a) {
  mlir::Value barrier = address(c, a["mbar_ptr"], "mbar_ptr");
  auto op = simt::MbarrierTryWaitOp::create(c.builder, c.loc(), barrier, int32(c, a, "phase"));
  return cast(c, scalarTensor(op, Scalar::Int1), DType{Scalar::Int32});
}

static Value waitRow(Context& c, const Arguments& a) {
  mlir::Value barrier = address(c, a["mbar_ptr"], "mbar_ptr");
  simt::MbarrierWaitOp::create(c.builder, c.loc(), barrier, int32(c, a, "phase"));
  return None{};
}

static Value invalidateRow(Context& c, const Arguments& a) {
  simt::MbarrierInvalidateOp::create(c.builder, c.loc(), address(c, a["mbar_ptr"], "mbar_ptr"));
  return None{};
}

static void addMbarrierRows(Rows& rows) {
  rows.push_back({"dl.tma.mbarrier_init",
                  "mbar_ptr, count",
                  {"Makes the mbarrier expect `count` arrivals in each phase.", Caller::Thread, "M16"},
                  initRow});
  rows.push_back({"dl.tma.mbarrier_expect_tx",
                  "mbar_ptr, tx_count",
                  {"Arrives, and lets the phase expect `tx_count` more bytes.", Caller::Thread, "M16"},
                  arriveExpectRow});
  rows.push_back({"dl.tma.mbarrier_expect_transaction",
                  "mbar_ptr, tx_count",
                  {"Lets the phase expect `tx_count` more bytes.", Caller::Thread, "M16"},
                  expectRow});
  rows.push_back({"dl.tma.mbarrier_arrive",
                  "mbar_ptr",
                  {"Arrives at the mbarrier, which releases the thread's earlier accesses.", Caller::Thread, "M16"},
                  arriveRow});
  rows.push_back({"dl.tma.mbarrier_arrive_expect_tx",
                  "mbar_ptr, tx_count",
                  {"Arrives, and lets the phase expect `tx_count` more bytes.", Caller::Thread, "M16"},
                  arriveExpectRow});
  rows.push_back(
      {"dl.tma.mbarrier_try_wait_parity",
       "mbar_ptr, phase",
       {"1 if the phase of parity `phase` is complete, perhaps after a while; else 0.", Caller::Thread, "M16"},
       tryWaitRow});
  rows.push_back({"dl.tma.mbarrier_wait_parity",
                  "mbar_ptr, phase",
                  {"Waits until the phase of parity `phase` is complete.", Caller::Thread, "M16"},
                  waitRow});
  rows.push_back({"dl.tma.mbarrier_invalidate",
                  "mbar_ptr",
                  {"Ends the mbarrier: its memory is free for other use.", Caller::Thread, "M16"},
                  invalidateRow});
}

// --- bulk copies ---

static Value loadRow(Context& c, const Arguments& a) {
  mlir::Value map = address(c, a["tmap_ptr"], "tmap_ptr"), dest = address(c, a["smem_ptr"], "smem_ptr"),
              barrier = address(c, a["mbar_ptr"], "mbar_ptr");
  mlir::Value at[] = {int32(c, a, "coord_0"), int32(c, a, "coord_1")};
  simt::TmaLoadOp::create(c.builder, c.loc(), map, dest, barrier, at);
  return None{};
}

static Value storeRow(Context& c, const Arguments& a) {
  mlir::Value map = address(c, a["tmap_ptr"], "tmap_ptr"), source = address(c, a["smem_ptr"], "smem_ptr");
  mlir::Value at[] = {int32(c, a, "coord_0"), int32(c, a, "coord_1")};
  simt::TmaStoreOp::create(c.builder, c.loc(), map, source, at);
  return None{};
}

static Value bulkLoadRow(Context& c, const Arguments& a) {
  mlir::Value dest = address(c, a["dst_smem_ptr"], "dst_smem_ptr"),
              source = address(c, a["src_global_ptr"], "src_global_ptr"), bytes = int32(c, a, "size");
  simt::BulkLoadOp::create(c.builder, c.loc(), dest, source, bytes, address(c, a["mbar_ptr"], "mbar_ptr"));
  return None{};
}

static Value bulkStoreRow(Context& c, const Arguments& a) {
  if (a["dst_global_ptr"].isTensor()) checkWritable(c, a["dst_global_ptr"].as<Tensor>().type.dtype, "dst_global_ptr");
  mlir::Value dest = address(c, a["dst_global_ptr"], "dst_global_ptr"),
              source = address(c, a["src_smem_ptr"], "src_smem_ptr");
  simt::BulkStoreOp::create(c.builder, c.loc(), dest, source, int32(c, a, "size"));
  return None{};
}

static uint32_t pendingGroups(Context& c, const Arguments& a) {
  Int pending = constexprInt(c, a["N"], "N");
  if (pending < 0 || pending > INT32_MAX)
    c.fail("argument-value", "`N` is " + repr(a["N"]) + "; it must not be negative");
  return static_cast<uint32_t>(pending);
}

static Value waitGroupRow(Context& c, const Arguments& a) {
  simt::BulkWaitOp::create(c.builder, c.loc(), pendingGroups(c, a), constexprBool(c, a["read"], "read"));
  return None{};
}

static Value copyAsyncRow(Context& c, const Arguments& a) {
  mlir::Value dest = address(c, a["dst_smem_ptr"], "dst_smem_ptr"),
              source = address(c, a["src_global_ptr"], "src_global_ptr");
  Int bytes = constexprInt(c, a["size"], "size");
  if (bytes != 4 && bytes != 8 && bytes != 16)
    c.fail("argument-value", "`size` is " + repr(a["size"]) + "; it must be 4, 8 or 16");
  mlir::Value read = a["read"].isNone() ? mlir::Value() : int32(c, a, "read");
  simt::CopyAsyncOp::create(c.builder, c.loc(), dest, source, static_cast<uint32_t>(bytes), read);
  return None{};
}

static Value copyWaitRow(Context& c, const Arguments& a) {
  simt::CopyWaitOp::create(c.builder, c.loc(), pendingGroups(c, a));
  return None{};
}

static Value prefetchRow(Context& c, const Arguments& a) {
  simt::TensormapPrefetchOp::create(c.builder, c.loc(), address(c, a["tmap_global_ptr"], "tmap_global_ptr"),
                                    mlir::ValueRange());
  return None{};
}

static Value prefetchBoxRow(Context& c, const Arguments& a) {
  mlir::Value map = address(c, a["tmap_global_ptr"], "tmap_global_ptr");
  mlir::Value at[] = {int32(c, a, "coord_0"), int32(c, a, "coord_1")};
  simt::TensormapPrefetchOp::create(c.builder, c.loc(), map, at);
  return None{};
}

static void addCopyRows(Rows& rows) {
  rows.push_back(
      {"dl.tma.tma_load_2d",
       "tmap_ptr, smem_ptr, mbar_ptr, coord_0, coord_1",
       {"Starts to copy the map's box at the elements `coord_0` (fastest) and `coord_1` to shared memory. The mbarrier "
        "counts the bytes.",
        Caller::Thread, "M16"},
       loadRow});
  rows.push_back(
      {"dl.tma.tma_store_2d",
       "tmap_ptr, smem_ptr, coord_0, coord_1",
       {"Starts to copy the box from shared memory to the elements `coord_0` (fastest) and `coord_1`, in the thread's "
        "bulk group.",
        Caller::Thread, "M16"},
       storeRow});
  rows.push_back({"dl.tma.cp_async_bulk_global_to_shared",
                  "dst_smem_ptr, src_global_ptr, size, mbar_ptr",
                  {"Starts to copy `size` bytes, a multiple of 16, to shared memory. The mbarrier counts the bytes.",
                   Caller::Thread, "M16"},
                  bulkLoadRow});
  rows.push_back({"dl.tma.cp_async_bulk_shared_to_global",
                  "dst_global_ptr, src_smem_ptr, size",
                  {"Starts to copy `size` bytes, a multiple of 16, from shared memory, in the thread's bulk group.",
                   Caller::Thread, "M16"},
                  bulkStoreRow});
  rows.push_back({"dl.tma.cp_async_bulk_commit_group",
                  "",
                  {"Closes the thread's bulk group.", Caller::Thread, "M16"},
                  emitBare<simt::BulkCommitOp>});
  rows.push_back(
      {"dl.tma.cp_async_bulk_wait_group",
       "N, read=False",
       {"Waits until at most `N` of the thread's bulk groups are under way; with `read`, until the others have read "
        "their source.",
        Caller::Thread, "M16"},
       waitGroupRow});
  rows.push_back({"extra.tma_sync",
                  "N=0",
                  {"Waits until at most `N` of the thread's bulk groups are under way.", Caller::Thread, "M16"},
                  [](Context& c, const Arguments& a) -> Value {
                    simt::BulkWaitOp::create(c.builder, c.loc(), pendingGroups(c, a), false);
                    return None{};
                  }});
  rows.push_back(
      {"extra.cp_async",
       "dst_smem_ptr, src_global_ptr, size, read=None",
       {"Starts to copy `size` bytes (4, 8 or 16) to shared memory, in the thread's group of copies. Of these only "
        "the first `read` are read, if given; the others become zeros.",
        Caller::Thread, "M16"},
       copyAsyncRow});
  rows.push_back({"extra.cp_async_commit_group",
                  "",
                  {"Closes the thread's group of copies.", Caller::Thread, "M16"},
                  emitBare<simt::CopyCommitOp>});
  rows.push_back({"extra.cp_async_wait_group",
                  "N",
                  {"Waits until at most `N` of the thread's groups of copies are under way.", Caller::Thread, "M16"},
                  copyWaitRow});
  rows.push_back({"dl.tma.prefetch_tensormap",
                  "tmap_global_ptr",
                  {"Asks for the tensor map to be cached.", Caller::Thread},
                  prefetchRow});
  rows.push_back({"dl.tma.prefetch_tensor_2d_l2",
                  "tmap_global_ptr, coord_0, coord_1",
                  {"Asks for the box at these elements to be cached in L2.", Caller::Thread},
                  prefetchBoxRow});
}

// --- tensor maps ---

// `value` names the parameter; a field of a dimension also has `ord`.
static Builtin replaceRow(const std::string& name, simt::MapField field, const std::string& value, bool ofDimension) {
  std::string signature = "tmap_smem_ptr, " + std::string(ofDimension ? "ord, " : "") + value;
  return {"dl.tma.tensormap_replace_" + name,
          signature,
          {"Writes the field `" + name + "` of the tensor map in shared memory" +
               (ofDimension ? ", for dimension `ord`." : "."),
           Caller::Thread, "M16"},
          [=](Context& c, const Arguments& a) -> Value {
            mlir::Value map = address(c, a["tmap_smem_ptr"], "tmap_smem_ptr");
            Int ordinal = ofDimension ? constexprInt(c, a["ord"], "ord") : Int(0);
            Int last = field == simt::MapField::GlobalStride ? 3 : ofDimension ? 4 : 0;
            if (ordinal < 0 || ordinal > last)
              c.fail("argument-value", "`ord` is " + repr(a["ord"]) + ", outside 0 to " + repr(Value(last)));
            mlir::Value given;
            if (field == simt::MapField::GlobalAddress)
              given = addressBits(c, a[value], value);
            else
              given =
                  integer(c, a[value], field == simt::MapField::GlobalStride ? Scalar::Int64 : Scalar::Int32, value);
            simt::TensormapReplaceOp::create(c.builder, c.loc(), field, static_cast<uint32_t>(ordinal), map, given);
            return None{};
          }};
}

static void addMapRows(Rows& rows) {
  using simt::MapField;
  rows.push_back(replaceRow("global_address", MapField::GlobalAddress, "new_global_addr", false));
  rows.push_back(replaceRow("global_dim", MapField::GlobalDim, "new_val", true));
  rows.push_back(replaceRow("global_stride", MapField::GlobalStride, "new_val", true));
  rows.push_back(replaceRow("rank", MapField::Rank, "rank", false));
  rows.push_back(replaceRow("box_dim", MapField::BoxDim, "new_val", true));
  rows.push_back(replaceRow("element_stride", MapField::ElementStride, "new_val", true));
  rows.push_back(replaceRow("elemtype", MapField::ElemType, "elemtype", false));
  rows.push_back(replaceRow("interleave_layout", MapField::Interleave, "val", false));
  rows.push_back(replaceRow("swizzle_mode", MapField::Swizzle, "mode", false));
  rows.push_back(replaceRow("fill_mode", MapField::Fill, "mode", false));
  rows.push_back(
      {"dl.tma.tensormap_cp_fenceproxy",
       "tmap_global_ptr, tmap_smem_ptr",
       {"Copies the tensor map from shared to global memory and releases it for bulk copies.", Caller::Warp, "M16"},
       [](Context& c, const Arguments& a) -> Value {
         mlir::Value dest = address(c, a["tmap_global_ptr"], "tmap_global_ptr");
         simt::TensormapPublishOp::create(c.builder, c.loc(), dest, address(c, a["tmap_smem_ptr"], "tmap_smem_ptr"));
         return None{};
       }});
}

// --- fences and addresses ---

static Builtin fenceRow(const std::string& name, const char* before, simt::ProxyFence kind) {
  return {"dl.tma." + name,
          "",
          {std::string("Orders the thread's accesses before later ") + before + ".", Caller::Thread, "M16"},
          [kind](Context& c, const Arguments&) -> Value {
            simt::ProxyFenceOp::create(c.builder, c.loc(), kind, mlir::Value());
            return None{};
          }};
}

static Value fenceAcquireRow(Context& c, const Arguments& a) {
  mlir::Value map = address(c, a["tmap_global_ptr"], "tmap_global_ptr");
  simt::ProxyFenceOp::create(c.builder, c.loc(), simt::ProxyFence::TensormapAcquire, map);
  return None{};
}

static Value genericBits(Context& c, const Arguments& a, const char* what) {
  return scalarTensor(addressBits(c, a[what], what), Scalar::UInt64);
}

void addTmaRows(Rows& rows) {
  addMbarrierRows(rows);
  addCopyRows(rows);
  addMapRows(rows);
  rows.push_back(fenceRow("fence_async_shared", "bulk copies of shared memory", simt::ProxyFence::AsyncShared));
  rows.push_back(fenceRow("fence_proxy_async", "bulk copies", simt::ProxyFence::Async));
  rows.push_back(
      fenceRow("fence_mbarrier_init", "uses of the mbarriers that it has made", simt::ProxyFence::MbarrierInit));
  rows.push_back(
      {"dl.tma.fence_proxy_tensormap_acquire",
       "tmap_global_ptr",
       {"Makes a tensor map that was written on the device seen by later bulk copies.", Caller::Thread, "M16"},
       fenceAcquireRow});
  rows.push_back({"dl.tma.get_dynamic_smem_pointer",
                  "",
                  {"The beginning of the block's shared memory.", Caller::Thread},
                  [](Context& c, const Arguments&) -> Value {
                    Type type{DType{Scalar::Int8, 1}, {}};
                    return Tensor{simt::DynamicSmemOp::create(c.builder, c.loc(), type.toMLIR(c.builder.getContext())),
                                  type};
                  }});
  // Generic and shared addresses have the same low bits, and all who take a 64-bit address take a generic one.
  rows.push_back({"dl.tma.cvta_generic_to_shared",
                  "generic_ptr",
                  {"A generic address as one within shared memory.", Caller::Thread},
                  [](Context& c, const Arguments& a) { return genericBits(c, a, "generic_ptr"); }});
  rows.push_back({"dl.tma.cvta_global_to_generic_u64",
                  "global_addr_u64",
                  {"An address in global memory as a generic one.", Caller::Thread},
                  [](Context& c, const Arguments& a) { return genericBits(c, a, "global_addr_u64"); }});
  rows.push_back({"dl.tma.cvta_shared_to_generic",
                  "shared_u32",
                  {"An address within shared memory as a pointer.", Caller::Thread},
                  [](Context& c, const Arguments& a) -> Value {
                    return Tensor{address(c, a["shared_u32"], "shared_u32"), Type{DType{Scalar::Int8, 1}, {}}};
                  }});
}

void addTmaConstants(Constants& constants) {
  static const std::pair<const char*, int> values[] = {{"ELEM_BF16", 10},   {"ELEM_F32", 7},        {"SWIZZLE_128B", 3},
                                                       {"SWIZZLE_NONE", 0}, {"INTERLEAVE_NONE", 0}, {"FILL_NONE", 0},
                                                       {"TMAP_RANK_2D", 1}};
  for (const auto& [name, value] : values) constants.emplace_back(std::string("dl.tma.") + name, Int(value));
  constants.emplace_back("dl.SMEM_GENERIC_POINTER_ADDR_SPACE", Int(0));
}

}  // namespace tandem::frontend::builtin
