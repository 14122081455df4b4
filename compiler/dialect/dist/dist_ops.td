// The dialect `dist`: ranks, symmetric addresses, put/get, signals, barriers. Rules M1.. are in docs/spec/memory_model.md.
#ifndef TANDEM_DIST_OPS
#define TANDEM_DIST_OPS
include "compiler/dialect/tile/tile_base.td"
include "compiler/dialect/dist/dist_enums.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::tandem::dist";
  let summary = "One-sided communication between ranks, after OpenSHMEM";
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::tandem::tile::TileDialect"];
}
def Dist_GroupAttr : EnumAttr<Dist_Dialect, Dist_Group, "group">;
def Dist_CompareAttr : EnumAttr<Dist_Dialect, Dist_Compare, "compare">;
def Dist_CommScopeAttr : EnumAttr<Dist_Dialect, Dist_CommScope, "comm_scope">;
def Dist_SignalKindAttr : EnumAttr<Dist_Dialect, Dist_SignalKind, "signal">;

class Dist_Op<string word, list<Trait> traits> : Op<Dist_Dialect, word, traits> { string example = ""; }
class Dist_PureOp<string word, list<Trait> traits = []> : Dist_Op<word, !listconcat(traits, [Pure])>;
// An op with effects, which says in concurrency.cpp what they are to other threads, programs and ranks.
class Dist_EffectOp<string word>
    : Dist_Op<word, [MemoryEffects<[MemRead, MemWrite]>, DeclareOpInterfaceMethods<Tile_ConcurrencyOpInterface>]>;

def Dist_RankOp : Dist_PureOp<"rank"> {
  let summary = "index of this rank in `team` (0 is the world)";
  let arguments = (ins Optional<I32>:$team);
  let results = (outs I32:$result);
  let assemblyFormat = "(`in` $team^)? attr-dict";
}
def Dist_NumRanksOp : Dist_PureOp<"num_ranks"> {
  let summary = "number of ranks in `team` (0 is the world)";
  let arguments = (ins Optional<I32>:$team);
  let results = (outs I32:$result);
  let assemblyFormat = "(`in` $team^)? attr-dict";
}
def Dist_TranslateRankOp : Dist_PureOp<"translate_rank"> {
  let summary = "the index in `destTeam` of member `rank` of `sourceTeam`; -1 when it is not in it";
  let arguments = (ins I32:$sourceTeam, I32:$rank, I32:$destTeam);
  let results = (outs I32:$result);
  let assemblyFormat = "$rank `from` $sourceTeam `to` $destTeam attr-dict";
}
def Dist_SymmAtOp : Dist_PureOp<"symm_at", [Tile_DerivesPointer, InferTypeOpInterface]> {
  let summary = "the address on `peer` that corresponds to a symmetric address of this rank (M2)";
  let arguments = (ins Tile_PtrLike:$pointer, I32:$peer);
  let results = (outs Tile_PtrLike:$result);
  let assemblyFormat = "$pointer `,` $peer attr-dict `:` type($pointer)";
  let builders = [OpBuilder<(ins "::mlir::Value":$pointer, "::mlir::Value":$peer), [{
    build($_builder, $_state, pointer.getType(), pointer, peer); }]>];
  let extraClassDeclaration = [{
    static ::llvm::LogicalResult inferReturnTypes(
        ::mlir::MLIRContext*, std::optional<::mlir::Location>, ::mlir::ValueRange operands,
        ::mlir::DictionaryAttr, ::mlir::OpaqueProperties, ::mlir::RegionRange,
        ::llvm::SmallVectorImpl<::mlir::Type>& types) {
      types.push_back(operands[0].getType());
      return ::mlir::success();
    }
  }];
}
def Dist_MulticastAtOp : Dist_PureOp<"multicast_at"> {
  let summary = "the multicast address of a symmetric address over `team`; only simt.multimem_* may use it";
  let arguments = (ins I32:$team, Tile_Ptr:$pointer);
  let results = (outs Tile_Ptr:$result);
  let assemblyFormat = "$pointer `over` $team attr-dict `:` type($pointer) `->` type($result)";
  let hasVerifier = 1;
}
def Dist_WaitOp : Dist_EffectOp<"wait"> {
  let summary = "blocks until each of `count` signals from `pointer` on compares true with `value`; gives a token (M6)";
  let arguments = (ins Tile_Ptr:$pointer, I32:$count, AnyInteger:$value, Tile_ScopeAttr:$scope, Tile_SemanticAttr:$sem,
    DefaultValuedAttr<Dist_CompareAttr, "::tandem::dist::Compare::Eq">:$compare);
  let results = (outs I32:$token);
  let assemblyFormat =
    "$sem $scope $pointer `[` $count `]` $compare $value attr-dict `:` type($pointer) `,` type($value)";
  let hasVerifier = 1;
}
def Dist_ConsumeTokenOp : Dist_PureOp<"consume_token", [Tile_DerivesPointer, AllTypesMatch<["value", "result"]>]> {
  let summary = "ties a value to a wait: what is computed from the result happens after the wait (M7)";
  let arguments = (ins AnyType:$value, I32:$token);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$value `,` $token attr-dict `:` type($value)";
}
def Dist_ArrivingOp : Dist_PureOp<"arriving", [Tile_DerivesPointer, AllTypesMatch<["value", "result"]>]> {
  let summary =
    "a pointer to memory that arrives in chunks of `chunk` elements: the i-th is there when the i-th of the `chunks` words is at least "
    "`epoch`; the compiler puts waits before the loads. `slices`, the elements of a row and of a slice of it: a chunk arrives slice by "
    "slice, and the j-th is there when its word is at least `epoch` + j";
  let arguments = (ins Tile_Ptr:$value, Tile_Ptr:$words, I64:$chunk, I64:$chunks, AnyInteger:$epoch, Variadic<I64>:$slices);
  let results = (outs Tile_Ptr:$result);
  let assemblyFormat =
    "$value `by` $words `[` $chunk `x` $chunks `]` (`in` $slices^)? `at` $epoch attr-dict `:` type($value) `,` type($words) `,` "
    "type($epoch)";
  let hasVerifier = 1;
}
def Dist_LeavingOp : Dist_PureOp<"leaving", [AttrSizedOperandSegments, Tile_DerivesPointer, AllTypesMatch<["value", "result"]>]> {
  let summary =
    "a pointer to memory that leaves in chunks of `chunk` elements: behind its last store to the i-th, a program adds 1 to the i-th of the "
    "`chunks` words; the compiler puts these signals there. With `parts`, of all ranks in the order of ranks, and a word `ready` for each "
    "of their chunks, of which each rank has `bands`: stores to this rank's chunks add what the peers have there, when their word is 1. "
    "`counted`: the kernel does nothing but signal; its `parts` are i32, to which it adds 1 for each element that it would store";
  let arguments = (ins Tile_Ptr:$value, Tile_Ptr:$words, I64:$chunk, I64:$chunks, Optional<Tile_Ptr>:$parts, Optional<Tile_Ptr>:$ready,
    Optional<I64>:$bands, UnitAttr:$counted);
  let results = (outs Tile_Ptr:$result);
  let assemblyFormat =
    "$value `by` $words `[` $chunk `x` $chunks `]` (`plus` $parts^)? (`when` $ready^ `[` $bands `]`)? (`counted` $counted^)? attr-dict `:` "
    "type($value) `,` type($words) (`,` type($parts)^)? (`,` type($ready)^)?";
  let hasVerifier = 1;
}
def Dist_OrderedOp : Dist_PureOp<"ordered", [Tile_DerivesPointer, AllTypesMatch<["value", "result"]>]> {
  let summary =
    "`value`, in a kernel whose i-th program has the number that is the i-th of `order`, int32: along the first axis, then the next; the "
    "passes that know of memory that travels renumber the programs";
  let arguments = (ins Tile_Ptr:$value, Tile_Ptr:$order);
  let results = (outs Tile_Ptr:$result);
  let assemblyFormat = "$value `by` $order attr-dict `:` type($value) `,` type($order)";
}
def Dist_DividedOp : Dist_PureOp<"divided", [Tile_DerivesPointer, AllTypesMatch<["value", "result"]>]> {
  let summary =
    "`value`, in a kernel of which `parts` programs of the launch, one behind the other along the first axis, are one of the author's: "
    "each has its part of the tiles, and needs nothing of the others'; the pass `divide-programs` makes them so";
  let arguments = (ins Tile_Ptr:$value, I64Attr:$parts);
  let results = (outs Tile_Ptr:$result);
  let assemblyFormat = "$value `into` $parts attr-dict `:` type($value)";
}
def Dist_DealtOp : Dist_PureOp<"dealt", [Tile_DerivesPointer, AllTypesMatch<["value", "result"]>]> {
  let summary =
    "`value`, in a kernel whose text speaks of programs that are not those of the launch: as many along each axis as the numbers say. "
    "The programs of the launch, along its first axis, go through them in turns; the pass `deal-programs` makes the loop";
  let arguments = (ins Tile_Ptr:$value, I32:$x, I32:$y, I32:$z);
  let results = (outs Tile_Ptr:$result);
  let assemblyFormat = "$value `among` $x `,` $y `,` $z attr-dict `:` type($value)";
}
def Dist_SpreadOp : Dist_PureOp<"spread", [Tile_DerivesPointer, AllTypesMatch<["value", "result"]>]> {
  let summary =
    "`value`, in a kernel whose text deals tiles out by a loop from the program's number on: each program of the launch, along its first "
    "axis, has one of the tiles; the pass `spread-programs` takes the loop away. With `count`, an i64 there, the kernel does nothing "
    "but store how many tiles there are, or 0 if there is no such loop";
  let arguments = (ins Tile_Ptr:$value, Optional<Tile_Ptr>:$count);
  let results = (outs Tile_Ptr:$result);
  let assemblyFormat = "$value (`counted` $count^)? attr-dict `:` type($value) (`,` type($count)^)?";
}
def Dist_CallNumberOp : Dist_PureOp<"call_number", [AllTypesMatch<["number", "result"]>]> {
  let summary =
    "the number of a call, 1 in the first; words that are never put back are compared with multiples of it, and all their signals come "
    "from programs of the kernel, so that `check-signals` can count them";
  let arguments = (ins AnyInteger:$number);
  let results = (outs AnyInteger:$result);
  let assemblyFormat = "$number attr-dict `:` type($number)";
  let hasFolder = 1;
}
def Dist_NotifyOp : Dist_EffectOp<"notify"> {
  let summary =
    "signals `peer` after releasing all earlier writes of the whole program at `scope` (M5); happens once "
    "a program";
  let arguments = (ins Tile_Ptr:$pointer, I32:$peer, I64:$value, Dist_SignalKindAttr:$signal, Dist_CommScopeAttr:$scope);
  let assemblyFormat = "$signal $scope $pointer `,` $value `on` $peer attr-dict `:` type($pointer)";
  let hasVerifier = 1;
}
def Dist_PutOp : Dist_EffectOp<"put"> {
  let summary =
    "copies `bytes` from this rank to a symmetric address of `peer`; `nbi` may complete as late as quiet "
    "(M8, M9)";
  let arguments = (ins Dist_GroupAttr:$group, UnitAttr:$nbi, Tile_Ptr:$dest, Tile_Ptr:$source, I64:$bytes, I32:$peer);
  let assemblyFormat =
    "$group (`nbi` $nbi^)? $dest `,` $source `,` $bytes `on` $peer attr-dict `:` type($dest) `,` "
    "type($source)";
}
def Dist_PutSignalOp : Dist_EffectOp<"put_signal"> {
  let summary = "a put, then an update of a signal of the same peer that is seen only after the data (M10)";
  let arguments = (ins Dist_GroupAttr:$group, UnitAttr:$nbi, Tile_Ptr:$dest, Tile_Ptr:$source, I64:$bytes, Tile_Ptr:$signalPointer,
    I64:$value, Dist_SignalKindAttr:$signal, I32:$peer);
  let assemblyFormat =
    "$group (`nbi` $nbi^)? $dest `,` $source `,` $bytes `then` $signal $signalPointer `,` $value `on` "
    "$peer attr-dict `:` type($dest) `,` type($source) `,` type($signalPointer)";
  let hasVerifier = 1;
}
def Dist_GetOp : Dist_EffectOp<"get"> {
  let summary = "copies `bytes` from a symmetric address of `peer` to this rank; `nbi` may complete as late as quiet";
  let arguments = (ins Dist_GroupAttr:$group, UnitAttr:$nbi, Tile_Ptr:$dest, Tile_Ptr:$source, I64:$bytes, I32:$peer);
  let assemblyFormat =
    "$group (`nbi` $nbi^)? $dest `,` $source `,` $bytes `on` $peer attr-dict `:` type($dest) `,` "
    "type($source)";
}
def Dist_PutValueOp : Dist_EffectOp<"put_value"> {
  let summary = "stores one scalar to a symmetric address of `peer` (OpenSHMEM's p)";
  let arguments = (ins Tile_Ptr:$dest, AnyType:$value, I32:$peer);
  let assemblyFormat = "$dest `,` $value `on` $peer attr-dict `:` type($dest) `,` type($value)";
  let hasVerifier = 1;
}
def Dist_SignalOp : Dist_EffectOp<"signal"> {
  let summary =
    "updates a signal of `peer` atomically (OpenSHMEM's signal_op); not ordered after earlier puts "
    "without a fence (M11)";
  let arguments = (ins Tile_Ptr:$pointer, I64:$value, Dist_SignalKindAttr:$signal, I32:$peer);
  let assemblyFormat = "$signal $pointer `,` $value `on` $peer attr-dict `:` type($pointer)";
  let hasVerifier = 1;
}
def Dist_SignalWaitOp : Dist_EffectOp<"signal_wait_until"> {
  let summary = "blocks until the signal of this rank compares true with `value`; gives the value seen; acquires (M6)";
  let arguments = (ins Tile_Ptr:$pointer, Dist_CompareAttr:$compare, I64:$value);
  let results = (outs I64:$result);
  let assemblyFormat = "$pointer $compare $value attr-dict `:` type($pointer)";
  let hasVerifier = 1;
}
def Dist_FenceOp : Dist_EffectOp<"fence"> {
  let summary = "orders this program's earlier puts and signals before later ones to the same peer (M9): to `peer`, or to each";
  let arguments = (ins Optional<I32>:$peer);
  let assemblyFormat = "(`on` $peer^)? attr-dict";
}
def Dist_QuietOp : Dist_EffectOp<"quiet"> {
  let summary = "completes this program's earlier puts and gets (to `peer`, or to all)";
  let arguments = (ins Optional<I32>:$peer);
  let assemblyFormat = "(`on` $peer^)? attr-dict";
}
def Dist_BarrierOp : Dist_EffectOp<"barrier"> {
  let summary = "waits until the group on every rank of `team` arrives; without `syncOnly` also quiets first (M12)";
  let arguments = (ins Dist_GroupAttr:$group, UnitAttr:$syncOnly, I32:$team);
  let assemblyFormat = "$group (`sync` $syncOnly^)? $team attr-dict";
}
def Dist_BroadcastOp : Dist_EffectOp<"broadcast"> {
  let summary =
    "collective: copies `bytes` from `source` on member `root` of `team` to `dest` on every member. `element` "
    "is the type that all members name, if they name one; with `barrier` it is a barrier before and after (M12)";
  let arguments = (ins Dist_GroupAttr:$group, UnitAttr:$barrier, OptionalAttr<StrAttr>:$element, I32:$team, Tile_Ptr:$dest,
                   Tile_Ptr:$source, I64:$bytes, I32:$root);
  let assemblyFormat =
    "$group (`barrier` $barrier^)? (`typed` $element^)? $team $dest `,` $source `,` $bytes `from` $root attr-dict `:` type($dest) `,` "
    "type($source)";
}
def Dist_FcollectOp : Dist_EffectOp<"fcollect"> {
  let summary =
    "collective: concatenates `bytes` of `source` of every member of `team`, in team order, into `dest` "
    "everywhere. `barrier` and `element` as in `broadcast`";
  let arguments = (ins Dist_GroupAttr:$group, UnitAttr:$barrier, OptionalAttr<StrAttr>:$element, I32:$team, Tile_Ptr:$dest,
                   Tile_Ptr:$source, I64:$bytes);
  let assemblyFormat =
    "$group (`barrier` $barrier^)? (`typed` $element^)? $team $dest `,` $source `,` $bytes attr-dict `:` type($dest) `,` type($source)";
}
#endif
