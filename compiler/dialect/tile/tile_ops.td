// Ops of the dialect `tile`: shape, pointer, memory, product, reduction.
#ifndef TANDEM_TILE_OPS
#define TANDEM_TILE_OPS
include "compiler/dialect/tile/tile_base.td"

//===- program -------------------------------------------------------------------------------------------------===//
def Tile_ProgramIdOp : Tile_PureOp<"program_id"> {
  let summary = "index of this program in the grid along `axis` (0, 1, 2)";
  let arguments = (ins I32Attr:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
  let hasVerifier = 1;
}
def Tile_NumProgramsOp : Tile_PureOp<"num_programs"> {
  let summary = "size of the grid along `axis` (0, 1, 2)";
  let arguments = (ins I32Attr:$axis);
  let results = (outs I32:$result);
  let assemblyFormat = "$axis attr-dict";
  let hasVerifier = 1;
}

//===- shape ---------------------------------------------------------------------------------------------------===//
def Tile_MakeRangeOp : Tile_PureOp<"make_range"> {
  let summary = "the integers `start` to `end - 1`";
  let arguments = (ins I32Attr:$start, I32Attr:$end);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$start `to` $end attr-dict `:` type($result)";
  let hasVerifier = 1;
}
def Tile_SplatOp : Tile_PureOp<"splat", [Tile_DerivesPointer]> {
  let summary = "a tile with one scalar in every place";
  let arguments = (ins AnyType:$source);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_ExpandDimsOp : Tile_PureOp<"expand_dims", [Tile_DerivesPointer]> {
  let summary = "inserts a dimension of size 1 at `axis`";
  let arguments = (ins Tile_Tile:$source, I32Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source `at` $axis attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let example = [{
    %row: tensor<4xf32>
    %0 = tile.expand_dims %row at 1 : tensor<4xf32> -> tensor<4x1xf32>
  }];
}
def Tile_BroadcastOp : Tile_PureOp<"broadcast", [Tile_DerivesPointer]> {
  let summary = "repeats dimensions of size 1";
  let arguments = (ins Tile_Tile:$source);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Tile_ReshapeOp : Tile_PureOp<"reshape", [Tile_DerivesPointer]> {
  let summary = "same elements in row-major order under another shape; `reorder` lets the order differ";
  let arguments = (ins Tile_Tile:$source, UnitAttr:$reorder);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Tile_PermuteOp : Tile_PureOp<"permute", [Tile_DerivesPointer]> {
  let summary = "result dimension i is source dimension order[i]";
  let arguments = (ins Tile_Tile:$source, DenseI32ArrayAttr:$order);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source $order attr-dict `:` type($source) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
  let example = [{
    %box: tensor<4x8xf32>
    %0 = tile.permute %box [1, 0] : tensor<4x8xf32> -> tensor<8x4xf32>
  }];
}
def Tile_JoinOp : Tile_PureOp<"join", [AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "stacks two tiles along a new last dimension of size 2";
  let arguments = (ins AnyType:$lhs, AnyType:$rhs);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_SplitOp : Tile_PureOp<"split", [AllTypesMatch<["lhs", "rhs"]>]> {
  let summary = "takes apart a last dimension of size 2; the inverse of `tile.join`";
  let arguments = (ins Tile_Tile:$source);
  let results = (outs AnyType:$lhs, AnyType:$rhs);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($lhs)";
  let hasVerifier = 1;
}
def Tile_CatOp : Tile_PureOp<"cat"> {
  let summary = "joins two tiles along dimension 0";
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
  let example = [{
    %box: tensor<4x8xf32>
    %0 = tile.cat %box, %box : tensor<4x8xf32>, tensor<4x8xf32> -> tensor<8x8xf32>
  }];
}
def Tile_GatherOp : Tile_PureOp<"gather"> {
  let summary = "result[.., i, ..] = source[.., indices[.., i, ..], ..] along `axis`; an index outside is an error";
  let arguments = (ins Tile_Tile:$source, Tile_Tile:$indices, I32Attr:$axis);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat =
    "$source `[` $indices `]` `along` $axis attr-dict `:` type($source) `,` type($indices) `->` "
    "type($result)";
  let hasVerifier = 1;
  let example = [{
    %box: tensor<4x8xf32>, %at: tensor<2x8xi32>
    %0 = tile.gather %box[%at] along 0 : tensor<4x8xf32>, tensor<2x8xi32> -> tensor<2x8xf32>
  }];
}
def Tile_HistogramOp : Tile_PureOp<"histogram"> {
  let summary = "counts of the values 0..n-1 in `source` where `mask`; other values are not counted";
  let arguments = (ins Tile_Tile:$source, Optional<Tile_Tile>:$mask);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$source (`mask` $mask^ `:` type($mask))? attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

//===- pointers and conversions --------------------------------------------------------------------------------===//
def Tile_AddPtrOp : Tile_PureOp<"addptr", [Tile_DerivesPointer, InferTypeOpInterface]> {
  let summary = "pointer plus a signed count of elements (not bytes)";
  let arguments = (ins Tile_PtrLike:$pointer, Tile_Int:$offset);
  let results = (outs Tile_PtrLike:$result);
  let assemblyFormat = "$pointer `,` $offset attr-dict `:` type($pointer) `,` type($offset)";
  let builders = [OpBuilder<(ins "::mlir::Value":$pointer, "::mlir::Value":$offset), [{
    build($_builder, $_state, pointer.getType(), pointer, offset); }]>];
  let extraClassDeclaration = [{
    static ::llvm::LogicalResult inferReturnTypes(
        ::mlir::MLIRContext*, std::optional<::mlir::Location>, ::mlir::ValueRange operands,
        ::mlir::DictionaryAttr, ::mlir::OpaqueProperties, ::mlir::RegionRange,
        ::llvm::SmallVectorImpl<::mlir::Type>& types) {
      types.push_back(operands[0].getType());
      return ::mlir::success();
    }
  }];
  let hasVerifier = 1;
}
def Tile_PtrToIntOp : Tile_PureOp<"ptr_to_int"> {
  let summary = "the address as a 64-bit integer";
  let arguments = (ins Tile_PtrLike:$source);
  let results = (outs Tile_Int:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let example = [{
    %p: tensor<8x!tile.ptr<f16>>
    %0 = tile.ptr_to_int %p : tensor<8x!tile.ptr<f16>> -> tensor<8xi64>
  }];
}
def Tile_IntToPtrOp : Tile_PureOp<"int_to_ptr"> {
  let summary = "a 64-bit integer as an address";
  let arguments = (ins Tile_Int:$source);
  let results = (outs Tile_PtrLike:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
  let example = [{
    %i: tensor<8xi64>
    %0 = tile.int_to_ptr %i : tensor<8xi64> -> tensor<8x!tile.ptr<f16>>
  }];
}
def Tile_BitcastOp : Tile_PureOp<"bitcast", [Tile_DerivesPointer]> {
  let summary = "the same bits as another type of the same width (numbers, or pointer to pointer)";
  let arguments = (ins AnyType:$source);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Tile_FpToFpOp : Tile_PureOp<"fp_to_fp"> {
  let summary = "float to float of another width or format";
  let description =
    "Narrowing rounds as `rounding` says. fp8 overflow saturates to the largest finite value for e4m3fn "
    "and goes to infinity for e5m2 under rtne.";
  let arguments = (ins Tile_Float:$source, DefaultValuedAttr<Tile_RoundingAttr, "::tandem::tile::Rounding::Rtne">:$rounding);
  let results = (outs Tile_Float:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Tile_MulHiUIOp : Tile_PureOp<"mulhi_ui", [SameOperandsAndResultType]> {
  let summary = "upper half of the double-width unsigned product";
  let arguments = (ins Tile_Int:$lhs, Tile_Int:$rhs);
  let results = (outs Tile_Int:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($result)";
  let example = [{
    %n: tensor<8xi32>
    %0 = tile.mulhi_ui %n, %n : tensor<8xi32>
  }];
}
def Tile_ExternElementwiseOp : Tile_PureOp<"extern_elementwise"> {
  let summary = "a device-library function applied to every element (`__nv_erff`, ...)";
  let arguments = (ins Variadic<AnyType>:$operands, StrAttr:$symbol);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$symbol `(` $operands `)` attr-dict `:` functional-type($operands, $result)";
  let hasVerifier = 1;
}
def Tile_InlineAsmOp : Tile_EffectOp<"inline_asm", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "target assembly applied to `pack` elements at a time";
  let arguments = (ins StrAttr:$assembly, StrAttr:$constraints, BoolAttr:$pure, I32Attr:$pack, Variadic<AnyType>:$operands);
  let results = (outs Variadic<AnyType>:$results);
  let assemblyFormat =
    "$assembly `,` $constraints `(` $operands `)` attr-dict `:` functional-type($operands, $results)";
  let hasVerifier = 1;
}

//===- memory --------------------------------------------------------------------------------------------------===//
def Tile_LoadOp : Tile_EffectOp<"load", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary =
    "reads through a pointer or a tile of pointers; where `mask` is false gives `other` (undefined "
    "without it)";
  let arguments = (ins Tile_PtrLike:$pointer, Optional<AnyType>:$mask, Optional<AnyType>:$other,
    DefaultValuedAttr<Tile_CacheAttr, "::tandem::tile::Cache::None">:$cache,
    DefaultValuedAttr<Tile_EvictAttr, "::tandem::tile::Evict::Normal">:$evict, UnitAttr:$isVolatile);
  let results = (outs AnyType:$result);
  let assemblyFormat =
    "$pointer (`mask` $mask^ `:` type($mask))? (`other` $other^ `:` type($other))? attr-dict `:` "
    "type($pointer) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_StoreOp : Tile_EffectOp<"store", [MemoryEffects<[MemWrite]>]> {
  let summary = "writes through a pointer or a tile of pointers where `mask` is true";
  let arguments = (ins Tile_PtrLike:$pointer, AnyType:$value, Optional<AnyType>:$mask,
    DefaultValuedAttr<Tile_CacheAttr, "::tandem::tile::Cache::None">:$cache,
    DefaultValuedAttr<Tile_EvictAttr, "::tandem::tile::Evict::Normal">:$evict);
  let assemblyFormat =
    "$pointer `,` $value (`mask` $mask^ `:` type($mask))? attr-dict `:` type($pointer) `,` type($value)";
  let hasVerifier = 1;
}
// A block of a strided tensor in global memory, given by the tensor's base, shape and strides (in elements) and the
// block's offsets. Block pointers and tensor descriptors are both this; the block's shape is the tile's type.
def Tile_BlockLoadOp : Tile_EffectOp<"block_load", [AttrSizedOperandSegments, MemoryEffects<[MemRead]>]> {
  let summary = "reads a block of a strided tensor";
  let description = [{`boundaryCheck` lists the dimensions whose out-of-range elements read as `padding`; outside along any
    other dimension is an error. `descriptor` marks accesses that came from a tensor descriptor.}];
  let arguments = (ins Tile_Ptr:$base, Variadic<I64>:$shape, Variadic<I64>:$strides, Variadic<I32>:$offsets,
    DenseI32ArrayAttr:$boundaryCheck, DefaultValuedAttr<Tile_PaddingAttr, "::tandem::tile::Padding::Zero">:$padding,
    DefaultValuedAttr<Tile_CacheAttr, "::tandem::tile::Cache::None">:$cache,
    DefaultValuedAttr<Tile_EvictAttr, "::tandem::tile::Evict::Normal">:$evict, UnitAttr:$descriptor);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat =
    "$base `shape` `(` $shape `)` `strides` `(` $strides `)` `at` `(` $offsets `)` `check` $boundaryCheck "
    "attr-dict `:` type($base) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_BlockStoreOp : Tile_EffectOp<"block_store", [AttrSizedOperandSegments, MemoryEffects<[MemWrite]>]> {
  let summary = "writes a block of a strided tensor; elements outside checked dimensions are dropped";
  let description =
    "`reduce` (add, min, max, and, or, xor) turns the write into a relaxed atomic update of each element.";
  let arguments = (ins Tile_Ptr:$base, Variadic<I64>:$shape, Variadic<I64>:$strides, Variadic<I32>:$offsets, Tile_Tile:$value,
    DenseI32ArrayAttr:$boundaryCheck, OptionalAttr<Tile_RmwAttr>:$reduce,
    DefaultValuedAttr<Tile_CacheAttr, "::tandem::tile::Cache::None">:$cache,
    DefaultValuedAttr<Tile_EvictAttr, "::tandem::tile::Evict::Normal">:$evict, UnitAttr:$descriptor);
  let assemblyFormat =
    "$value `,` $base `shape` `(` $shape `)` `strides` `(` $strides `)` `at` `(` $offsets `)` `check` "
    "$boundaryCheck (`reduce` $reduce^)? attr-dict `:` type($value) `,` type($base)";
  let hasVerifier = 1;
}
def Tile_AtomicRmwOp : Tile_EffectOp<"atomic_rmw", [MemoryEffects<[MemRead, MemWrite]>]> {
  let summary = "atomic update through a pointer or a tile of pointers; gives the old values";
  let description = "Through a scalar pointer it happens once for the program; in per-thread code once a thread (M14).";
  let arguments = (ins Tile_RmwAttr:$rmw, Tile_PtrLike:$pointer, AnyType:$value, Optional<AnyType>:$mask,
    Tile_SemanticAttr:$sem, Tile_ScopeAttr:$scope);
  let results = (outs AnyType:$result);
  let assemblyFormat =
    "$rmw $sem $scope $pointer `,` $value (`mask` $mask^ `:` type($mask))? attr-dict `:` type($pointer) "
    "`,` type($value) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_AtomicCasOp : Tile_EffectOp<"atomic_cas", [MemoryEffects<[MemRead, MemWrite]>, AllTypesMatch<["expected", "value", "result"]>]> {
  let summary = "stores `value` where memory equals `expected`; gives the old values";
  let arguments = (ins Tile_PtrLike:$pointer, AnyType:$expected, AnyType:$value, Tile_SemanticAttr:$sem, Tile_ScopeAttr:$scope);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$sem $scope $pointer `,` $expected `,` $value attr-dict `:` type($pointer) `,` type($value)";
  let hasVerifier = 1;
}

//===- product, reduction, scan --------------------------------------------------------------------------------===//
def Tile_DotOp : Tile_PureOp<"dot", [AllTypesMatch<["acc", "result"]>]> {
  let summary = "acc + lhs · rhs on the last two dimensions (a leading batch dimension is allowed)";
  let arguments = (ins Tile_Tile:$lhs, Tile_Tile:$rhs, Tile_Tile:$acc,
    DefaultValuedAttr<Tile_PrecisionAttr, "::tandem::tile::Precision::Tf32">:$precision,
    DefaultValuedAttr<I32Attr, "0">:$maxNumImpreciseAcc);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$lhs `,` $rhs `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let hasVerifier = 1;
}
def Tile_DotScaledOp : Tile_PureOp<"dot_scaled", [AttrSizedOperandSegments,
    TypesMatchWith<"accumulator and result have one type", "result", "acc", "$_self">]> {
  let summary = "acc + (lhs · scale) · (rhs · scale) with e8m0 scales (i8), one for every 32 elements of K, or e4m3 ones for 16 each";
  let arguments = (ins Tile_Tile:$lhs, Optional<Tile_Tile>:$lhsScale, Tile_Tile:$rhs, Optional<Tile_Tile>:$rhsScale, Tile_Tile:$acc,
    Tile_MicroScaleAttr:$lhsFormat, Tile_MicroScaleAttr:$rhsFormat, BoolAttr:$lhsKPack, BoolAttr:$rhsKPack);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat =
    "$lhs $lhsFormat (`scale` $lhsScale^ `:` type($lhsScale))? `,` $rhs $rhsFormat (`scale` $rhsScale^ "
    "`:` type($rhsScale))? `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$lhsScale, "::mlir::Value":$rhs, "::mlir::Value":$rhsScale,
    "::mlir::Value":$acc, "MicroScale":$lhsFormat, "MicroScale":$rhsFormat, "bool":$lhsKPack, "bool":$rhsKPack), [{
    build($_builder, $_state, acc.getType(), lhs, lhsScale, rhs, rhsScale, acc, lhsFormat, rhsFormat, lhsKPack, rhsKPack); }]>];
  let hasVerifier = 1;
}
def Tile_ReduceOp : Tile_Op<"reduce", [RecursiveMemoryEffects, RecursivelySpeculatable]> {
  let summary = "folds `axis` away with the region, which takes two rows of scalars and yields one";
  let description =
    "The order of combination is not defined; the region must be associative and commutative up to "
    "rounding.";
  let arguments = (ins Variadic<Tile_Tile>:$sources, I32Attr:$axis);
  let results = (outs Variadic<AnyType>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat = "`(` $sources `)` `along` $axis attr-dict `:` functional-type($sources, $results) $combine";
  let hasCanonicalizeMethod = 1;
  let hasVerifier = 1;
}
def Tile_ScanOp : Tile_Op<"scan", [RecursiveMemoryEffects, RecursivelySpeculatable]> {
  let summary = "inclusive scan along `axis` (from the end when `reverse`) with the region";
  let arguments = (ins Variadic<Tile_Tile>:$sources, I32Attr:$axis, BoolAttr:$reverse);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$combine);
  let assemblyFormat =
    "`(` $sources `)` `along` $axis `reverse` $reverse attr-dict `:` functional-type($sources, $results) "
    "$combine";
  let hasFolder = 1;
  let hasVerifier = 1;
}
def Tile_MapElementwiseOp : Tile_Op<"map_elementwise", [RecursiveMemoryEffects, RecursivelySpeculatable]> {
  let summary = "applies a scalar region to `pack` elements of the tiles at a time";
  let arguments = (ins Variadic<Tile_Tile>:$sources, I32Attr:$pack);
  let results = (outs Variadic<Tile_Tile>:$results);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "`(` $sources `)` `pack` $pack attr-dict `:` functional-type($sources, $results) $body";
  let hasVerifier = 1;
}
def Tile_YieldOp : Tile_Op<"yield", [Pure, Terminator, ReturnLike, ParentOneOf<["ReduceOp", "ScanOp", "MapElementwiseOp"]>]> {
  let summary = "the result of a combine region";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

//===- debugging and hints -------------------------------------------------------------------------------------===//
def Tile_PrintOp : Tile_EffectOp<"print", [MemoryEffects<[MemWrite]>]> {
  let summary = "prints values with the program's index";
  let arguments = (ins StrAttr:$prefix, BoolAttr:$hex, DenseBoolArrayAttr:$isSigned, Variadic<AnyType>:$values);
  let assemblyFormat = "$prefix attr-dict (`:` $values^ `:` type($values))?";
  let hasVerifier = 1;
}
def Tile_AssertOp : Tile_EffectOp<"assert", [MemoryEffects<[MemWrite]>]> {
  let summary = "stops with `message` unless every element is true (where `mask` is)";
  let arguments = (ins AnyType:$condition, StrAttr:$message, Optional<AnyType>:$mask);
  let assemblyFormat = "$condition `,` $message (`mask` $mask^ `:` type($mask))? attr-dict `:` type($condition)";
  let hasVerifier = 1;
}
def Tile_AssumeOp : Tile_EffectOp<"assume", [MemoryEffects<[MemWrite]>]> {
  let summary = "promises that a scalar condition holds; the simulator checks the promise";
  let arguments = (ins I1:$condition);
  let assemblyFormat = "$condition attr-dict";
}
#endif
