// Ops describe themselves by these to the passes that keep accesses in order and move them.
#ifndef TANDEM_TILE_CONCURRENCY
#define TANDEM_TILE_CONCURRENCY
include "mlir/IR/OpBase.td"

def Tile_ConcurrencyOpInterface : OpInterface<"ConcurrencyOpInterface"> {
  let cppNamespace = "::tandem::tile";
  let description = [{
    Each op of tile, dist, simt and tgpu that has effects of its own says what these are to other threads, programs and ranks: which
    memory it accesses through which operand, which threads meet in it, whether it waits, and what it releases and acquires
    (concurrency.h). No pass names the ops that have a property: it asks for the property. An op without effects (`Pure`) and one that
    has only its region's say nothing; any other op that says nothing does not link, and a test finds it.
  }];
  let methods = [
    InterfaceMethod<"Returns what the op does, by its attributes and operands.", "::tandem::tile::Concurrency", "getConcurrency">];
}

// The results of the op may differ from thread to thread though its operands do not.
def Tile_VariesByThread : NativeOpTrait<"VariesByThread"> { let cppNamespace = "::tandem::tile"; }
// A pointer in the result leads into the memory that the pointer in the first operand leads into.
def Tile_DerivesPointer : NativeOpTrait<"DerivesPointer"> { let cppNamespace = "::tandem::tile"; }
#endif
