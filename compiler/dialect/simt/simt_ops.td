// The dialect `simt`: code that differs by thread inside a program. A scalar computed from `simt.tid` has one value a thread.
#ifndef TANDEM_SIMT_OPS
#define TANDEM_SIMT_OPS
include "compiler/dialect/tile/tile_base.td"
include "compiler/dialect/simt/simt_enums.td"

def Simt_Dialect : Dialect {
  let name = "simt";
  let cppNamespace = "::tandem::simt";
  let summary = "Per-thread code inside a tile program";
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::tandem::tile::TileDialect"];
}
def Simt_ShuffleAttr : EnumAttr<Simt_Dialect, Simt_Shuffle, "shuffle">;
def Simt_SpecialAttr : EnumAttr<Simt_Dialect, Simt_Special, "special">;
def Simt_MapFieldAttr : EnumAttr<Simt_Dialect, Simt_MapField, "map_field">;
def Simt_ProxyFenceAttr : EnumAttr<Simt_Dialect, Simt_ProxyFence, "proxy_fence">;

class Simt_Op<string word, list<Trait> traits> : Op<Simt_Dialect, word, traits> { string example = ""; }
class Simt_PureOp<string word, list<Trait> traits = []> : Simt_Op<word, !listconcat(traits, [Pure])>;
// An op with effects, which says in concurrency.cpp what they are to other threads.
class Simt_EffectOp<string word, list<Trait> traits>
    : Simt_Op<word, !listconcat(traits, [DeclareOpInterfaceMethods<Tile_ConcurrencyOpInterface>])>;
def Simt_ReadWrite : MemoryEffects<[MemRead, MemWrite]>;

def Simt_TidOp : Simt_PureOp<"tid", [Tile_VariesByThread]> {
  let summary = "index of the thread along `axis`; threads lie along axis 0, so axes 1 and 2 give 0";
  let arguments = (ins I32Attr:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
  let hasVerifier = 1;
}
def Simt_NtidOp : Simt_PureOp<"ntid"> {
  let summary = "number of threads of the program along `axis`";
  let arguments = (ins I32Attr:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
  let hasVerifier = 1;
}
def Simt_SpecialOp : Simt_EffectOp<"special", [Simt_ReadWrite]> {
  let summary = "reads a special register: multiprocessor index, nanoseconds, clock";
  let arguments = (ins Simt_SpecialAttr:$which);
  let results = (outs AnyInteger:$result);
  let assemblyFormat = "$which attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Simt_BarrierOp : Simt_EffectOp<"barrier", [Simt_ReadWrite]> {
  let summary = "all threads of the program arrive before any goes on (`__syncthreads`); orders their accesses (M3)";
  let description = [{
    Passes bring in two forms that kernels cannot name. `in_block`: the threads of the block, and not those of the cluster's other blocks.
    `completing`: stores by an asynchronous unit are done, too.
  }];
  let arguments = (ins UnitAttr:$inBlock, UnitAttr:$completing);
  let assemblyFormat = "(`in_block` $inBlock^)? (`completing` $completing^)? attr-dict";
}
def Simt_NamedBarrierOp : Simt_EffectOp<"named_barrier", [Simt_ReadWrite]> {
  let summary = "barrier `id` over `threads` threads; `arriveOnly` does not wait";
  let arguments = (ins I32Attr:$id, I32Attr:$threads, UnitAttr:$arriveOnly);
  let assemblyFormat = "$id `of` $threads (`arrive` $arriveOnly^)? attr-dict";
  let hasVerifier = 1;
}
def Simt_WarpBarrierOp : Simt_EffectOp<"warp_barrier", [Simt_ReadWrite]> {
  let summary = "all threads of a warp arrive before any goes on";
  let assemblyFormat = "attr-dict";
}
def Simt_FenceOp : Simt_EffectOp<"fence", [Simt_ReadWrite]> {
  let summary = "memory fence of the executing threads (`membar`, `__threadfence`) (M4)";
  let arguments = (ins Tile_SemanticAttr:$sem, Tile_ScopeAttr:$scope);
  let assemblyFormat = "$sem $scope attr-dict";
  let hasVerifier = 1;
}
def Simt_LdOp : Simt_EffectOp<"ld", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "each thread reads a scalar or a `vector` of consecutive elements, aligned to its size";
  let arguments = (ins Tile_Ptr:$pointer, Tile_SemanticAttr:$sem, Tile_ScopeAttr:$scope, UnitAttr:$weak);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$sem $scope $pointer attr-dict `:` type($pointer) `->` type($result)";
  let hasVerifier = 1;
}
def Simt_StOp : Simt_EffectOp<"st", [MemoryEffects<[MemWrite]>]> {
  let summary = "each thread writes a scalar or a `vector` of consecutive elements, aligned to its size";
  let arguments = (ins Tile_Ptr:$pointer, AnyType:$value, Tile_SemanticAttr:$sem, Tile_ScopeAttr:$scope, UnitAttr:$weak);
  let assemblyFormat = "$sem $scope $pointer `,` $value attr-dict `:` type($pointer) `,` type($value)";
  let hasVerifier = 1;
}
def Simt_AtomicRmwOp : Simt_EffectOp<"atomic_rmw", [Simt_ReadWrite, Tile_VariesByThread]> {
  let summary = "each thread updates atomically; gives the old value";
  let arguments = (ins Tile_RmwAttr:$rmw, Tile_Ptr:$pointer, AnyType:$value, Tile_SemanticAttr:$sem, Tile_ScopeAttr:$scope);
  let results = (outs AnyType:$result);
  let assemblyFormat =
    "$rmw $sem $scope $pointer `,` $value attr-dict `:` type($pointer) `,` type($value) `->` "
    "type($result)";
  let hasVerifier = 1;
}
def Simt_AtomicCasOp : Simt_EffectOp<"atomic_cas", [Simt_ReadWrite, Tile_VariesByThread, AllTypesMatch<["expected", "value", "result"]>]> {
  let summary = "each thread compares and swaps; gives the old value";
  let arguments = (ins Tile_Ptr:$pointer, AnyType:$expected, AnyType:$value, Tile_SemanticAttr:$sem, Tile_ScopeAttr:$scope);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$sem $scope $pointer `,` $expected `,` $value attr-dict `:` type($pointer) `,` type($value)";
  let hasVerifier = 1;
}
def Simt_MultimemStOp : Simt_EffectOp<"multimem_st", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes a scalar or vector to a multicast address: to every rank of its team";
  let arguments = (ins Tile_Ptr:$pointer, AnyType:$value);
  let assemblyFormat = "$pointer `,` $value attr-dict `:` type($pointer) `,` type($value)";
  let hasVerifier = 1;
}
def Simt_MultimemLdReduceOp : Simt_EffectOp<"multimem_ld_reduce", [MemoryEffects<[MemRead]>]> {
  let summary = "reads a scalar or vector from every rank of a multicast address's team and adds them";
  let arguments = (ins Tile_Ptr:$pointer);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$pointer attr-dict `:` type($pointer) `->` type($result)";
  let hasVerifier = 1;
}
def Simt_ShuffleOp : Simt_EffectOp<"shuffle", [Simt_ReadWrite, Tile_VariesByThread]> {
  let summary = "reads a 32-bit value of another lane of the warp";
  let arguments = (ins Simt_ShuffleAttr:$mode, I32:$mask, AnyType:$value, I32:$lane);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$mode $value `,` $lane `mask` $mask attr-dict `:` type($value) `->` type($result)";
  let hasVerifier = 1;
}
def Simt_BallotOp : Simt_EffectOp<"ballot", [Simt_ReadWrite, Tile_VariesByThread]> {
  let summary = "one bit for each lane of the warp whose predicate is true";
  let arguments = (ins I32:$mask, I1:$predicate);
  let results = (outs I32:$result);
  let assemblyFormat = "$predicate `mask` $mask attr-dict";
}
def Simt_ElectOp : Simt_EffectOp<"elect", [Simt_ReadWrite, Tile_VariesByThread]> {
  let summary = "true in one active lane of each warp, the lowest";
  let results = (outs I1:$result);
  let assemblyFormat = "attr-dict";
}
def Simt_VectorOp : Simt_PureOp<"vector"> {
  let summary = "a per-thread vector from its elements";
  let arguments = (ins Variadic<AnyType>:$elements);
  let results = (outs AnyVectorOfNonZeroRank:$result);
  let assemblyFormat = "$elements attr-dict `:` type($elements) `->` type($result)";
  let hasVerifier = 1;
}
def Simt_VectorExtractOp : Simt_PureOp<"vector_extract"> {
  let summary = "one element of a per-thread vector";
  let arguments = (ins AnyVectorOfNonZeroRank:$vector, I32Attr:$index);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$vector `[` $index `]` attr-dict `:` type($vector) `->` type($result)";
  let hasVerifier = 1;
}
def Simt_VectorBitcastOp : Simt_PureOp<"vector_bitcast"> {
  let summary = "the same bits as a vector of other elements, or as one scalar";
  let arguments = (ins AnyType:$source);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}
def Simt_SmemAllocOp : Simt_EffectOp<"smem_alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "a shared-memory buffer, holding `init` when given; `swizzle` is vector, rows per phase, phases";
  let arguments = (ins Optional<AnyType>:$init, OptionalAttr<DenseI32ArrayAttr>:$swizzle);
  let results = (outs Tile_Smem:$result);
  let assemblyFormat = "($init^ `:` type($init))? attr-dict `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Type":$result, "::mlir::Value":$init),
                            [{ build($_builder, $_state, result, init, ::mlir::DenseI32ArrayAttr()); }]>];
  let hasVerifier = 1;
}
def Simt_SmemReadOp : Simt_EffectOp<"smem_read", [MemoryEffects<[MemRead]>]> {
  let summary = "the whole buffer as a tile";
  let arguments = (ins Tile_Smem:$buffer);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$buffer attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}
def Simt_SmemLoadOp : Simt_EffectOp<"smem_load", [MemoryEffects<[MemRead]>]> {
  let summary = "each thread reads one element";
  let arguments = (ins Tile_Smem:$buffer, Variadic<I32>:$indices);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$buffer `[` $indices `]` attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}
def Simt_SmemStoreOp : Simt_EffectOp<"smem_store", [MemoryEffects<[MemWrite]>]> {
  let summary = "each thread writes one element";
  let arguments = (ins Tile_Smem:$buffer, AnyType:$value, Variadic<I32>:$indices);
  let assemblyFormat = "$value `,` $buffer `[` $indices `]` attr-dict `:` type($value) `,` type($buffer)";
  let hasVerifier = 1;
}
def Simt_SmemIndexOp : Simt_PureOp<"smem_index"> {
  let summary = "the sub-buffer at `index` of dimension 0";
  let arguments = (ins Tile_Smem:$buffer, I32:$index);
  let results = (outs Tile_Smem:$result);
  let assemblyFormat = "$buffer `[` $index `]` attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}
def Simt_SmemPtrOp : Simt_PureOp<"smem_ptr"> {
  let summary = "the generic address of an element of a shared-memory buffer";
  let arguments = (ins Tile_Smem:$buffer, Variadic<I32>:$indices);
  let results = (outs Tile_Ptr:$result);
  let assemblyFormat = "$buffer `[` $indices `]` attr-dict `:` type($buffer) `->` type($result)";
  let hasVerifier = 1;
}
def Simt_SmemAtOp : Simt_PureOp<"smem_at"> {
  let summary = "the generic address of a 32-bit `.shared::cta` address";
  let arguments = (ins I32:$address);
  let results = (outs Tile_Ptr:$result);
  let assemblyFormat = "$address attr-dict `->` type($result)";
}
def Simt_DynamicSmemOp : Simt_EffectOp<"dynamic_smem", [Simt_ReadWrite]> {
  let summary = "the generic address of the program's first shared-memory buffer";
  let results = (outs Tile_Ptr:$result);
  let assemblyFormat = "attr-dict `->` type($result)";
}
def Simt_GridBarrierOp : Simt_EffectOp<"grid_barrier", [Simt_ReadWrite]> {
  let summary = "all programs of the launch arrive before any goes on; they must all be resident";
  let assemblyFormat = "attr-dict";
}
def Simt_MbarrierInitOp : Simt_EffectOp<"mbarrier_init", [Simt_ReadWrite]> {
  let summary = "makes 8 bytes of shared memory an mbarrier in phase 0, each phase of `count` arrivals";
  let arguments = (ins Tile_Ptr:$barrier, I32:$count);
  let assemblyFormat = "$barrier `,` $count attr-dict `:` type($barrier)";
}
def Simt_MbarrierArriveOp : Simt_EffectOp<"mbarrier_arrive", [Simt_ReadWrite]> {
  let summary = "each thread arrives once, first expecting `bytes` more of bulk copies when given";
  let arguments = (ins Tile_Ptr:$barrier, Optional<I32>:$bytes);
  let assemblyFormat = "$barrier (`expect` $bytes^)? attr-dict `:` type($barrier)";
}
def Simt_MbarrierExpectOp : Simt_EffectOp<"mbarrier_expect", [Simt_ReadWrite]> {
  let summary = "the current phase expects `bytes` more of bulk copies; does not arrive";
  let arguments = (ins Tile_Ptr:$barrier, I32:$bytes);
  let assemblyFormat = "$barrier `,` $bytes attr-dict `:` type($barrier)";
}
def Simt_MbarrierTryWaitOp : Simt_EffectOp<"mbarrier_try_wait", [Simt_ReadWrite]> {
  let summary = "whether the phase of that parity is complete";
  let arguments = (ins Tile_Ptr:$barrier, I32:$parity);
  let results = (outs I1:$result);
  let assemblyFormat = "$barrier `,` $parity attr-dict `:` type($barrier)";
}
def Simt_MbarrierWaitOp : Simt_EffectOp<"mbarrier_wait", [Simt_ReadWrite]> {
  let summary = "waits until the phase of that parity is complete; what was copied for it is there";
  let arguments = (ins Tile_Ptr:$barrier, I32:$parity);
  let assemblyFormat = "$barrier `,` $parity attr-dict `:` type($barrier)";
}
def Simt_MbarrierInvalidateOp : Simt_EffectOp<"mbarrier_invalidate", [Simt_ReadWrite]> {
  let summary = "ends an mbarrier; its bytes may be used for something else";
  let arguments = (ins Tile_Ptr:$barrier);
  let assemblyFormat = "$barrier attr-dict `:` type($barrier)";
}
def Simt_TmaLoadOp : Simt_EffectOp<"tma_load", [Simt_ReadWrite]> {
  let summary = "each thread starts copying the box at `coordinates` (innermost first) of a tensor map into shared memory; "
                "counts on `barrier`";
  let arguments = (ins Tile_Ptr:$map, Tile_Ptr:$dest, Tile_Ptr:$barrier, Variadic<I32>:$coordinates);
  let assemblyFormat =
    "$map `[` $coordinates `]` `to` $dest `,` $barrier attr-dict `:` type($map) `,` type($dest) `,` type($barrier)";
  let hasVerifier = 1;
}
def Simt_TmaStoreOp : Simt_EffectOp<"tma_store", [Simt_ReadWrite]> {
  let summary = "each thread starts copying shared memory to the box at `coordinates` (innermost first) of a tensor map; in its bulk group";
  let arguments = (ins Tile_Ptr:$map, Tile_Ptr:$source, Variadic<I32>:$coordinates);
  let assemblyFormat = "$source `to` $map `[` $coordinates `]` attr-dict `:` type($source) `,` type($map)";
  let hasVerifier = 1;
}
def Simt_BulkLoadOp : Simt_EffectOp<"bulk_load", [Simt_ReadWrite]> {
  let summary = "each thread starts copying bytes of global memory to shared memory; counts on `barrier`";
  let arguments = (ins Tile_Ptr:$dest, Tile_Ptr:$source, I32:$bytes, Tile_Ptr:$barrier);
  let assemblyFormat =
    "$source `to` $dest `,` $bytes `,` $barrier attr-dict `:` type($source) `,` type($dest) `,` type($barrier)";
}
def Simt_BulkStoreOp : Simt_EffectOp<"bulk_store", [Simt_ReadWrite]> {
  let summary = "each thread starts copying bytes of shared memory to global memory; in its bulk group";
  let arguments = (ins Tile_Ptr:$dest, Tile_Ptr:$source, I32:$bytes);
  let assemblyFormat = "$source `to` $dest `,` $bytes attr-dict `:` type($source) `,` type($dest)";
}
def Simt_BulkCommitOp : Simt_EffectOp<"bulk_commit", [Simt_ReadWrite]> {
  let summary = "each thread's bulk stores since its last commit become a group";
  let assemblyFormat = "attr-dict";
}
def Simt_BulkWaitOp : Simt_EffectOp<"bulk_wait", [Simt_ReadWrite]> {
  let summary = "waits until at most `pending` of each thread's groups are not complete; with `read`, "
                "not yet read out of shared memory";
  let arguments = (ins I32Attr:$pending, UnitAttr:$read);
  let assemblyFormat = "$pending (`read` $read^)? attr-dict";
  let hasVerifier = 1;
}
def Simt_CopyAsyncOp : Simt_EffectOp<"copy_async", [Simt_ReadWrite]> {
  let summary = "each thread starts copying `bytes` of global memory to shared memory, of which only the first `read` are read if given, "
                "and the others zeros; in its group of copies";
  let arguments = (ins Tile_Ptr:$dest, Tile_Ptr:$source, I32Attr:$bytes, Optional<I32>:$read);
  let assemblyFormat = "$source `to` $dest `,` $bytes (`read` $read^)? attr-dict `:` type($source) `,` type($dest)";
  let hasVerifier = 1;
}
def Simt_CopyCommitOp : Simt_EffectOp<"copy_commit", [Simt_ReadWrite]> {
  let summary = "each thread's `copy_async`s since its last commit become a group";
  let assemblyFormat = "attr-dict";
}
def Simt_CopyWaitOp : Simt_EffectOp<"copy_wait", [Simt_ReadWrite]> {
  let summary = "waits until at most `pending` of each thread's groups of copies are not complete";
  let arguments = (ins I32Attr:$pending);
  let assemblyFormat = "$pending attr-dict";
  let hasVerifier = 1;
}
def Simt_TensormapReplaceOp : Simt_EffectOp<"tensormap_replace", [Simt_ReadWrite]> {
  let summary = "writes one field of a tensor map; `ordinal` is the dimension, 0 for fields of the whole";
  let arguments = (ins Simt_MapFieldAttr:$field, I32Attr:$ordinal, Tile_Ptr:$map, AnyInteger:$value);
  let assemblyFormat = "$field $ordinal $map `,` $value attr-dict `:` type($map) `,` type($value)";
  let hasVerifier = 1;
}
def Simt_TensormapPublishOp : Simt_EffectOp<"tensormap_publish", [Simt_ReadWrite]> {
  let summary = "copies a tensor map from shared to global memory and releases it to bulk copies; called by a warp";
  let arguments = (ins Tile_Ptr:$dest, Tile_Ptr:$source);
  let assemblyFormat = "$source `to` $dest attr-dict `:` type($source) `,` type($dest)";
}
def Simt_TensormapPrefetchOp : Simt_EffectOp<"tensormap_prefetch", [Simt_ReadWrite]> {
  let summary = "brings a tensor map, or with `coordinates` the box there, near; changes nothing";
  let arguments = (ins Tile_Ptr:$map, Variadic<I32>:$coordinates);
  let assemblyFormat = "$map (`[` $coordinates^ `]`)? attr-dict `:` type($map)";
}
def Simt_ProxyFenceOp : Simt_EffectOp<"proxy_fence", [Simt_ReadWrite]> {
  let summary = "orders the thread's generic accesses with those of bulk copies; `tensormap_acquire` names the map (M3, M5)";
  let arguments = (ins Simt_ProxyFenceAttr:$kind, Optional<Tile_Ptr>:$map);
  let assemblyFormat = "$kind ($map^ `:` type($map))? attr-dict";
  let hasVerifier = 1;
}
#endif
