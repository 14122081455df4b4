// The ops of `tgpu` for NVIDIA's units: TMA, mbarriers, cp.async, wgmma, warp roles. tgpu_ops.td includes this file.
#ifndef TANDEM_TGPU_NVIDIA_OPS
#define TANDEM_TGPU_NVIDIA_OPS

//===- tiles in shared memory ----------------------------------------------------------------------------------===//
def Tgpu_AllocOp : Tgpu_EffectOp<"alloc", [MemoryEffects<[MemAlloc]>]> {
  let summary = "shared memory for `slots` tiles, each stored in panels of `swizzle` bytes a row, swizzled as TMA and wgmma do";
  let description = [{`swizzle` 0: row after row. `fastest`: the dimension whose elements are neighbours; without it the last one.}];
  let arguments = (ins I32Attr:$slots, I32Attr:$swizzle, OptionalAttr<I32Attr>:$fastest);
  let results = (outs Tile_Smem:$result);
  let assemblyFormat = "$slots `x` type($result) `swizzle` $swizzle (`fastest` $fastest^)? attr-dict";
}
def Tgpu_LocalStoreOp : Tgpu_EffectOp<"local_store"> {
  let summary = "a tile into slot 0 of a buffer, then visible to the whole block and to the asynchronous units";
  let arguments = (ins Tile_Tile:$value, Tile_Smem:$buffer);
  let assemblyFormat = "$value `,` $buffer attr-dict `:` type($value) `,` type($buffer)";
}

//===- rings ---------------------------------------------------------------------------------------------------===//
def Tgpu_RingOp : Tgpu_EffectOp<"ring", [MemoryEffects<[MemAlloc]>]> {
  let summary = "the barriers and counters of a ring of `slots` slots that TMA fills with `bytes` bytes each";
  let description = [{
    Each slot has a `full` and an `empty` mbarrier. Each warp role has its own counters. The producer does acquire, tma_load...,
    commit; a consumer does await, reads, advance, and later release, in the order of the slots.

    Copies by copy_async may come beside those by TMA: then all threads of the producer's warpgroup run it, one of them does what TMA needs,
    and a slot is full when its bytes have come and each thread's copies, too.

    Two other uses have no bytes. A `gate` is where the producer waits for the consumers: these do release, await, advance, it does
    acquire, commit. A `mailbox` goes the other way, from the consumers (acquire, commit) to the signaller (await, release, advance). It
    may come with a buffer: then consumers put a tile there (acquire, stage, commit), which the signaller stores (await, tma_store,
    release, advance). Mailboxes with buffers go from the preparer to the consumers, too; at a gate the preparer does as the producer.

    A slot of a `cluster` ring is empty when the consumers of all the cluster's blocks have released it: producers of other blocks write
    to it too.
  }];
  let arguments = (ins I32Attr:$slots, I32Attr:$bytes, UnitAttr:$gate, UnitAttr:$mailbox, UnitAttr:$cluster);
  let results = (outs I32:$result);
  let assemblyFormat = "$slots `bytes` $bytes (`gate` $gate^)? (`mailbox` $mailbox^)? (`cluster` $cluster^)? attr-dict";
}
def Tgpu_AcquireOp : Tgpu_EffectOp<"acquire"> {
  let summary = "producer: waits until the next slot is empty and announces the bytes that will arrive";
  let description = "`bytes`: fewer than the ring's, of a slot that is not filled to its end.";
  let arguments = (ins I32:$ring, OptionalAttr<I32Attr>:$bytes);
  let assemblyFormat = "$ring (`bytes` $bytes^)? attr-dict";
}
def Tgpu_TmaLoadOp : Tgpu_EffectOp<"tma_load", [AttrSizedOperandSegments, Tgpu_Effects]> {
  let summary = "producer: starts the copy of a block of a strided tensor (as tile.block_load) into the slot being filled";
  let description = [{`multicast`: each block of the cluster copies its part of the block of the tensor, to all of them. `evictFirst`:
    nobody reads the block of the tensor again.}];
  let arguments = (ins Tile_Ptr:$base, Variadic<I64>:$shape, Variadic<I64>:$strides, Variadic<I32>:$offsets, Tile_Smem:$buffer, I32:$ring,
    DefaultValuedAttr<Tile_PaddingAttr, "::tandem::tile::Padding::Zero">:$padding, UnitAttr:$multicast, UnitAttr:$evictFirst);
  let assemblyFormat =
    "$base `shape` `(` $shape `)` `strides` `(` $strides `)` `at` `(` $offsets `)` `into` $buffer `of` $ring "
    "(`multicast` $multicast^)? attr-dict "
    "`:` type($base) `,` type($buffer)";
}
def Tgpu_CommitOp : Tgpu_EffectOp<"commit"> {
  let summary = "producer: goes on to the next slot";
  let arguments = (ins I32:$ring);
  let assemblyFormat = "$ring attr-dict";
}
def Tgpu_AwaitOp : Tgpu_EffectOp<"await"> {
  let summary = "consumer: waits until the ring's current slot is full; of a copy_ring the next slot, whose reads may follow";
  let arguments = (ins I32:$ring);
  let assemblyFormat = "$ring attr-dict";
}
def Tgpu_AdvanceOp : Tgpu_EffectOp<"advance"> {
  let summary = "consumer: later reads are of the next slot";
  let arguments = (ins I32:$ring);
  let assemblyFormat = "$ring attr-dict";
}
def Tgpu_ReleaseOp : Tgpu_EffectOp<"release"> {
  let summary = "consumer: the oldest slot not yet released has been read";
  let arguments = (ins I32:$ring);
  let assemblyFormat = "$ring attr-dict";
}

//===- copies by the block's own threads ------------------------------------------------------------------------===//
def Tgpu_CopyRingOp : Tgpu_EffectOp<"copy_ring", [MemoryEffects<[MemAlloc]>]> {
  let summary = "the counters of a ring of `slots` slots that the block's threads fill by cp.async";
  let description = [{
    Before the loop: rewind, then `ahead` times copy_async..., commit. Each iteration: await, then, in any order, reads of the slot
    (local_load, wgmma) and the copies of a later iteration with their commit. `ahead` is `slots` - 1; or `slots`, where the copies come
    behind the reads and a meeting of all threads.

    `ofGroups`: each group of four warps copies the rows that it alone multiplies, and meets without the others.
  }];
  let arguments = (ins I32Attr:$slots, I32Attr:$ahead, UnitAttr:$ofGroups);
  let results = (outs I32:$result);
  let assemblyFormat = "$slots `ahead` $ahead (`of_groups` $ofGroups^)? attr-dict";
}
def Tgpu_RewindOp : Tgpu_EffectOp<"rewind"> {
  let summary = "the next fill is of slot 0; all threads have read what the ring held";
  let arguments = (ins I32:$ring);
  let assemblyFormat = "$ring attr-dict";
}
def Tgpu_CopyAsyncOp : Tgpu_EffectOp<"copy_async", [AttrSizedOperandSegments, Tgpu_Effects]> {
  let summary = "where `valid`, starts the copy of a tile to the slot being filled; where `mask` is false zeros come";
  let description = [{
    `tgpu.vector` has the number of elements that are copied at once, and the dimension along which they are neighbours; the mask is one
    for all of them. From element `end` of that dimension on zeros come too.
  }];
  let arguments = (ins Tile_Tile:$pointer, Optional<Tile_Tile>:$mask, Optional<I64>:$end, I1:$valid, Tile_Smem:$buffer, I32:$ring);
  let assemblyFormat =
    "$pointer (`mask` $mask^ `:` type($mask))? (`end` $end^)? `if` $valid `into` $buffer `of` $ring attr-dict "
    "`:` type($pointer) `,` type($buffer)";
}
def Tgpu_LocalLoadOp : Tgpu_EffectOp<"local_load", [MemoryEffects<[MemRead]>]> {
  let summary = "the tile in the slot that the last await has been for; without a ring, the tile that a local_store has left";
  let arguments = (ins Tile_Smem:$buffer, Optional<I32>:$ring);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$buffer (`of` $ring^)? attr-dict `:` type($buffer) `->` type($result)";
}

//===- stores by the signaller ---------------------------------------------------------------------------------===//
def Tgpu_StageOp : Tgpu_EffectOp<"stage"> {
  let summary = "consumer: as many columns of a tile, from `column` on, as the buffer has, into the slot being filled";
  let arguments = (ins Tile_Tile:$value, Tile_Smem:$buffer, I32:$ring, I32Attr:$column);
  let assemblyFormat = "$value `from` $column `into` $buffer `of` $ring attr-dict `:` type($value) `,` type($buffer)";
}
def Tgpu_TmaStoreOp : Tgpu_EffectOp<"tma_store", [AttrSizedOperandSegments, Tgpu_Effects]> {
  let summary = "signaller: starts the copy of the slot to a block of a strided tensor, and waits until the slot has been read";
  let description = [{`reduce`: what the slot holds is combined with the block, as by tile.block_store. `paced`: it goes in pieces, each
    when the one before has left shared memory, and has been written when the slot is free.}];
  let arguments = (ins Tile_Ptr:$base, Variadic<I64>:$shape, Variadic<I64>:$strides, Variadic<I32>:$offsets, Tile_Smem:$buffer, I32:$ring,
    OptionalAttr<Tile_RmwAttr>:$reduce, UnitAttr:$paced);
  let assemblyFormat =
    "$base `shape` `(` $shape `)` `strides` `(` $strides `)` `at` `(` $offsets `)` `from` $buffer `of` $ring "
    "(`reduce` $reduce^)? attr-dict `:` type($base) `,` type($buffer)";
}

//===- asynchronous products -----------------------------------------------------------------------------------===//
def Tgpu_WgmmaOp : Tgpu_EffectOp<"wgmma", [AttrSizedOperandSegments, Tgpu_Effects, AllTypesMatch<["acc", "result"]>]> {
  let summary = "starts acc + lhs · rhs by warpgroups; operands from shared memory, or lhs from registers";
  let description = [{`transposed` says that the buffer holds the operand's transpose. The result may be used by another wgmma, or after a
    wgmma_wait. `beginsAtZero`: in the first iteration of the loop that carries `acc` the product overwrites the sum, which is zero there.
    `joinsPrevious`: the instructions of the product before it compute this one as well. `takesTurn`: a warpgroup begins when the other one
    of its pair has given it the turn; `givesTurn`: it gives the turn when it has come here.}];
  let arguments = (ins AnyType:$lhs, Tile_Smem:$rhs, Tile_Tile:$acc, Optional<I32>:$lhsRing, Optional<I32>:$rhsRing,
    UnitAttr:$lhsTransposed, UnitAttr:$rhsTransposed, UnitAttr:$beginsAtZero, UnitAttr:$joinsPrevious, UnitAttr:$takesTurn,
    UnitAttr:$givesTurn);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat =
    "$lhs (`of` $lhsRing^)? `,` $rhs (`of` $rhsRing^)? `,` $acc attr-dict `:` type($lhs) `,` type($rhs) `->` "
    "type($result)";
}
def Tgpu_WgmmaWaitOp : Tgpu_EffectOp<"wgmma_wait", [Tgpu_Effects, AllTypesMatch<["acc", "result"]>]> {
  let summary = "waits until at most `pending` wgmma groups are under way";
  let description = [{`acc` is a product's result, or any tile of which the result is wanted only behind the wait. `givesTurn` as
    of wgmma.}];
  let arguments = (ins Tile_Tile:$acc, I32Attr:$pending, UnitAttr:$givesTurn);
  let results = (outs Tile_Tile:$result);
  let assemblyFormat = "$acc `pending` $pending attr-dict `:` type($acc)";
}

def Tgpu_WarpAnyOp : Tgpu_PureOp<"warp_any"> {
  let summary = "whether the condition holds anywhere in the part of a product's rows and columns that the thread's warp has";
  let arguments = (ins Tile_Tile:$condition);
  let results = (outs I1:$result);
  let assemblyFormat = "$condition attr-dict `:` type($condition)";
}

//===- warp roles ----------------------------------------------------------------------------------------------===//
def Tgpu_WarpSpecializeOp : Tgpu_Op<"warp_specialize", [RecursiveMemoryEffects, SingleBlock, NoRegionArguments, NoTerminator]> {
  let summary = "the block's `num_warps` warps run `consumer`; of an added warpgroup one thread or all run `producer`, one `signaller`";
  let description = [{The four warps of a second added warpgroup run `preparer`: it reads slots that the producer has filled, and fills
    others, which the consumers read.}];
  let regions = (region SizedRegion<1>:$consumer, SizedRegion<1>:$producer, AnyRegion:$signaller, AnyRegion:$preparer);
  let assemblyFormat =
    "attr-dict-with-keyword `consumer` $consumer `producer` $producer (`signaller` $signaller^)? (`preparer` $preparer^)?";
}
#endif
