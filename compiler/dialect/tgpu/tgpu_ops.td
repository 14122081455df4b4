// The dialect `tgpu` describes a thread block's use of its threads, shared memory and asynchronous units. This file has what any GPU
// may need; NVIDIA's units are in tgpu_nvidia_ops.td.
#ifndef TANDEM_TGPU_OPS
#define TANDEM_TGPU_OPS
include "compiler/dialect/tile/tile_base.td"
include "compiler/dialect/tgpu/tgpu_enums.td"

def Tgpu_Dialect : Dialect {
  let name = "tgpu";
  let cppNamespace = "::tandem::tgpu";
  let summary = "A thread block's layouts, shared-memory rings, asynchronous products and warp roles";
  let description = [{
    The passes of `compiler/transform` bring these ops in; kernels never name them. Any GPU's are `convert_layout` and `block_rank`; the
    others are of NVIDIA's units. A tile's layout over the threads is the
    discardable attribute `tgpu.layout` of the op that defines it (one `#tgpu.layout` a result; null for scalars); the values a loop
    carries have the layouts of the loop's results.
  }];
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::tandem::tile::TileDialect"];
  // Passes describe other dialects' ops by these; attributes.cpp has what may stand where. A name that is not here is refused.
  let discardableAttrs = (ins
    // of an op with tiles: its results' layouts; of a while loop: those of the values its condition looks at (layouts.h)
    "::mlir::ArrayAttr":$layout, "::mlir::ArrayAttr":$before_layout,
    // of a kernel (attributes.h, cluster.h)
    "::mlir::IntegerAttr":$longest_first, "::mlir::IntegerAttr":$blocks,
    // of accesses and products (attributes.h, cluster.h, bulk_store.h)
    "::mlir::DenseI32ArrayAttr":$vector, "::mlir::UnitAttr":$mma, "::mlir::UnitAttr":$whole, "::mlir::DenseI64ArrayAttr":$own_part,
    "::mlir::UnitAttr":$tma, "::mlir::DenseI64ArrayAttr":$uncertain, "::mlir::UnitAttr":$completes_own);
  let hasOperationAttrVerify = 1;
}

def Tgpu_LayoutAttr : AttrDef<Tgpu_Dialect, "Layout"> {
  let mnemonic = "layout";
  let summary = "a linear layout: what each bit of register, lane and warp number adds (XOR) to the row-major position in the tile";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, ArrayRefParameter<"int64_t">:$registers,
    ArrayRefParameter<"int64_t">:$lanes, ArrayRefParameter<"int64_t">:$warps);
  let hasCustomAssemblyFormat = 1;
}

def Tgpu_Effects : MemoryEffects<[MemRead, MemWrite]>;
class Tgpu_Op<string word, list<Trait> traits = []> : Op<Tgpu_Dialect, word, traits> { string example = ""; }
class Tgpu_PureOp<string word, list<Trait> traits = []> : Tgpu_Op<word, !listconcat(traits, [Pure])>;
// An op with effects of its own, which says in concurrency.cpp what they are to the block's threads.
class Tgpu_EffectOp<string word, list<Trait> traits = [Tgpu_Effects]>
    : Tgpu_Op<word, !listconcat(traits, [DeclareOpInterfaceMethods<Tile_ConcurrencyOpInterface>])>;

//===- tiles ---------------------------------------------------------------------------------------------------===//
def Tgpu_ConvertLayoutOp : Tgpu_PureOp<"convert_layout", [Tile_DerivesPointer, AllTypesMatch<["source", "result"]>]> {
  let summary = "the same tile in the layout that `tgpu.layout` says";
  let arguments = (ins Tile_Tile:$source);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}
//===- clusters ------------------------------------------------------------------------------------------------===//
def Tgpu_BlockRankOp : Tgpu_PureOp<"block_rank"> {
  let summary = "which of the program's blocks this is, from 0; all of a program's blocks are one cluster";
  let results = (outs I32:$result);
  let assemblyFormat = "attr-dict";
}

include "compiler/dialect/tgpu/tgpu_nvidia_ops.td"
#endif
