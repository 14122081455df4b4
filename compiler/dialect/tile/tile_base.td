// The dialect `tile`, its types and the words its ops share.
#ifndef TANDEM_TILE_BASE
#define TANDEM_TILE_BASE
include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "compiler/dialect/tile/tile_enums.td"
include "compiler/dialect/tile/concurrency.td"
include "mlir/IR/BuiltinTypeInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"

def Tile_Dialect : Dialect {
  let name = "tile";
  let cppNamespace = "::tandem::tile";
  let summary = "What Triton's language needs beyond arith, math, scf and func";
  let useDefaultAttributePrinterParser = 1;
  let description = [{
    Values are builtin scalars and builtin ranked tensors (a tile), whose elements may be pointers.
    Integers are signless; signedness lives in the op (`arith.divsi`). One op acts on a whole tile of one program.
  }];
  let useDefaultTypePrinterParser = 1;
  // Ops of other dialects tell the passes these; attributes.h has the accessors, attributes.cpp what may stand where. A name that
  // is not here is refused.
  let discardableAttrs = (ins
    // of a kernel: its warps, and how many slots of loads and how many registers its author asks for
    "::mlir::IntegerAttr":$num_warps, "::mlir::IntegerAttr":$num_stages, "::mlir::IntegerAttr":$maxnreg,
    // of a kernel: pairs of its parameters that may address the same memory, where others do not; pairs that passes took to be apart
    "::mlir::DenseI32ArrayAttr":$overlapping, "::mlir::DenseI32ArrayAttr":$apart,
    // of a kernel's parameter
    "::mlir::StringAttr":$name, "::mlir::StringAttr":$type, "::mlir::IntegerAttr":$multiple_of,
    // of a number: what `tl.multiple_of` and its kin promise, one number a dimension
    "::mlir::DenseI32ArrayAttr":$divisibility, "::mlir::DenseI32ArrayAttr":$contiguity, "::mlir::DenseI32ArrayAttr":$constancy,
    // of a division or a square root of float32
    "::mlir::UnitAttr":$precise,
    // of a loop: the hints of `tl.range`
    "::mlir::IntegerAttr":$loop_unroll_factor, "::mlir::BoolAttr":$disallow_acc_multi_buffer, "::mlir::BoolAttr":$flatten,
    "::mlir::BoolAttr":$warp_specialize, "::mlir::BoolAttr":$disable_licm);
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
}

class Tile_Type<string cppName, string word> : TypeDef<Tile_Dialect, cppName> { let mnemonic = word; }

def Tile_PtrType : Tile_Type<"Ptr", "ptr"> {
  let summary = "an address in the global (or symmetric) memory of one rank";
  let parameters = (ins "::mlir::Type":$pointee);
  let assemblyFormat = "`<` $pointee `>`";
  let genVerifyDecl = 1;
  let builders = [TypeBuilderWithInferredContext<(ins "::mlir::Type":$pointee), [{ return $_get(pointee.getContext(), pointee); }]>];
}
def Tile_SmemType : Tile_Type<"Smem", "smem"> {
  let summary = "a buffer in the shared memory of one program";
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

// One attribute for each enum.
class Tile_EnumAttr<EnumAttrInfo e, string word> : EnumAttr<Tile_Dialect, e, word>;

def Tile_SemanticAttr : Tile_EnumAttr<Tile_Semantic, "sem">;
def Tile_ScopeAttr : Tile_EnumAttr<Tile_Scope, "scope">;
def Tile_RmwAttr : Tile_EnumAttr<Tile_Rmw, "rmw">;
def Tile_RoundingAttr : Tile_EnumAttr<Tile_Rounding, "rounding">;
def Tile_CacheAttr : Tile_EnumAttr<Tile_Cache, "cache">;
def Tile_EvictAttr : Tile_EnumAttr<Tile_Evict, "evict">;
def Tile_PrecisionAttr : Tile_EnumAttr<Tile_Precision, "precision">;
def Tile_PaddingAttr : Tile_EnumAttr<Tile_Padding, "padding">;
def Tile_MicroScaleAttr : Tile_EnumAttr<Tile_MicroScale, "microscale">;

// A scalar or a tile of static shape; `vector` lets per-thread vectors in too.
class Tile_Like<string element, string what, string vector = "false"> : Type<And<[CPred<element>,
  CPred<"(!::llvm::isa<::mlir::ShapedType>($_self) || (" # vector # " && ::llvm::isa<::mlir::VectorType>($_self)) || "
        # "(::llvm::isa<::mlir::RankedTensorType>($_self) && "
        # "::llvm::cast<::mlir::ShapedType>($_self).hasStaticShape()))">]>, what>;

def Tile_Ptr : Type<CPred<"::llvm::isa<::tandem::tile::PtrType>($_self)">, "pointer">;
def Tile_PtrLike : Tile_Like<"::llvm::isa<::tandem::tile::PtrType>(::mlir::getElementTypeOrSelf($_self))", "pointer or tile of pointers">;
def Tile_PtrScalar : Type<CPred<"::llvm::isa<::tandem::tile::PtrType>($_self)">, "pointer">;
def Tile_Int : Tile_Like<"::mlir::getElementTypeOrSelf($_self).isSignlessInteger()", "integer or tile of integers", "true">;
def Tile_Float : Tile_Like<"::llvm::isa<::mlir::FloatType>(::mlir::getElementTypeOrSelf($_self))", "float or tile of floats", "true">;
def Tile_Tile : Type<CPred<"::llvm::isa<::mlir::RankedTensorType>($_self) && "
                           "::llvm::cast<::mlir::RankedTensorType>($_self).hasStaticShape()">, "tile (static ranked tensor)">;
def Tile_Smem : Type<CPred<"::llvm::isa<::tandem::tile::SmemType>($_self)">, "shared-memory buffer">;

// An op. `example` is a round trip, which test/every_op.test makes: a line with the operands and their types, a line with the op. An op
// that has only one form needs no other.
class Tile_Op<string word, list<Trait> traits = []> : Op<Tile_Dialect, word, traits> { string example = ""; }
class Tile_PureOp<string word, list<Trait> traits = []> : Tile_Op<word, !listconcat(traits, [Pure])>;
// An op with effects of its own, which says in concurrency.cpp what they are to others.
class Tile_EffectOp<string word, list<Trait> traits = []>
    : Tile_Op<word, !listconcat(traits, [DeclareOpInterfaceMethods<Tile_ConcurrencyOpInterface>])>;
#endif
