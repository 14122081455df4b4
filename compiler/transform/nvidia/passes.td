// The passes for NVIDIA's own units: TMA, wgmma, mma.sync, cp.async, warp roles. Their order is in compiler/pipeline/nvidia.cpp.
#ifndef TANDEM_TRANSFORM_NVIDIA_PASSES
#define TANDEM_TRANSFORM_NVIDIA_PASSES
include "compiler/transform/kernel_pass.td"

def ChooseWarps : KernelPass<"choose-warps"> {
  let summary = "give a program the threads that it needs: more for a product's sums, one for numbers alone";
  let description = [{
    In a program without tiles every thread would compute the same, the first would store, and all would meet at a barrier before they load
    what it has stored. Such a program gets one warp, whose first thread runs it in its own order; clusters and programs with assembly or
    code for single threads keep theirs.

    Programs get eight warps instead of four for products that wgmma does only then, and for loops whose sums of products take as many
    registers of a thread together. Kernels keep their number that have code for single threads or assembly, which could ask for it, or a
    bound on registers of their own.
  }];
  let options = [Target];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect", "::tandem::simt::SimtDialect"];
}

def WidenSteps : KernelPass<"widen-steps"> {
  let summary = "let products that TMA loads for take two steps along K at once, where a row of one is half a line of the cache";
  let description = [{
    A loop from zero to the end of K whose steps are rows of 64 bytes becomes one of half as many iterations over rows of 128: as many
    bytes come by half the copies. Rows of 32 bytes take four steps at once. Where K ends within an iteration, both operands have zeros
    there. All loops of products of the kernel are such, their tiles have 8192 sums or more, there are three slots then (two of four
    steps), and these have room, beside another block's where two have it before.
  }];
  let options = [Target];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def RecogniseBlocks : KernelPass<"recognise-blocks"> {
  let summary = "turn pointer accesses of products into block accesses, so that TMA can do them";
  let description = [{
    Accesses that are not provably blocks stay as they are. So do all of a kernel of four warps with a loop that needs the registers which a
    producer would keep, or that is to do without one (`producer=false`): threads copy these.
  }];
  let options = [Target, Option<"producer", "producer", "bool", "true", "false: a kernel of four warps does without one">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def NarrowProducts : KernelPass<"narrow-products"> {
  let summary = "multiply tiles of 16-bit floats as they are, not as float32";
  let description = [{
    Tensor cores multiply float32 with the bits of tf32, which hold every float16 and bfloat16, so a product of two tiles that were both
    widened from one of these types is the product of the narrow ones: half the registers and shared memory, twice the speed, and operands
    that wgmma reads where they were copied to.

    Operands in a microscaling format are decoded and scaled, exactly, into bfloat16 tiles, or float32 ones where float16 takes part, which
    are multiplied like any others.

    A product of float32 tiles that asks for `tf32x3` becomes three: of what tf32 holds of the operands, and of each one's rest by that of
    the other.
  }];
}

def DeferSums : KernelPass<"defer-sums"> {
  let summary = "keep the sums of rows that an online softmax carries in parts, and add these up behind the loop";
  let description = [{
    `sum = sum * exp(a) + reduce(exp(b))`, whose value nobody looks at in the loop, is carried as eight sums of every eighth
    column, of each warpgroup's columns where several share them: of a product's result a thread holds just those, so threads exchange sums
    once a loop, not once an iteration. Powers are never negative, so nothing cancels that did not.
  }];
  let options = [Target];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def TurnProducts : KernelPass<"turn-products"> {
  let summary = "compute the transpose of products whose right operand the loop computes, or that have few columns";
  let description = [{
    wgmma reads its right operand from shared memory, its left one from registers too. `a · f(b)`, where `a` is loaded and `f(b)` computed
    (a weight of eight bits made one of sixteen), becomes the transpose of `f(b)ᵀ · aᵀ`: what threads compute stays in their registers.

    mma.sync computes eight columns at least, and any rows that are missing can be zeros. A product of fewer columns becomes the transpose
    of one with fewer rows.
  }];
  let options = [Target];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def SelectProducts : KernelPass<"select-products"> {
  let summary = "choose the unit that does each product of tiles, and how its operands come";
  let description = [{
    1. Loops whose products read blocks of strided tensors get rings in shared memory that an added producer warp fills by TMA while the
       program's own warps multiply (`tgpu.warp_specialize`). Numbers that decide loops or addresses and that all warps make of tiles, once
       a program, the producer is told.
       Not where an operand comes through pointers that TMA can't follow: pipeline-loads copies all that such a loop reads.
    2. Other products that wgmma can do have their operands brought to shared memory, the left one to registers where it is computed in the
       same block.

    The other products stay `tile.dot`.
  }];
  let options = [Target];
  let dependentDialects = ["::tandem::simt::SimtDialect", "::tandem::tgpu::TgpuDialect", "::mlir::arith::ArithDialect",
                           "::mlir::scf::SCFDialect"];
}

def OverlapProducts : KernelPass<"overlap-products"> {
  let summary = "run an iteration's last product beside the next iteration's first ones";
  let description = [{
    Take a loop with products of which the last reads, from registers, values computed from another's result (attention: P·V after Q·Kᵀ),
    and only adds to a value that the loop carries. That last product moves into the next iteration:

        first products and computation of iteration 0
        for i = 1...:  start the first products of i, then the last one of i - 1; await the first; compute i; await the last one, rescale
        the last product of the last iteration

    The ops that make the left operand of float32 (P) come after the wait for the last product, which reads the one before from registers.

    The first product of an iteration has `takesTurn`, the last `givesTurn`: warpgroups start their products in turn, in pairs,
    so that one computes while the other multiplies. Where exponentials take at least as long as the products, the wait for the first
    product has `givesTurn` instead, so that the exponentials of the two fall less into one another.

    In all loops a warp whose factors are all 1 goes past the multiplication of a carried sum by factors that products decide.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def KeepOperands : KernelPass<"keep-operands"> {
  let summary = "keep in shared memory what mma.sync of a loop would have in every warp's registers";
  let description = [{
    An operand from before a loop, of which each warp multiplies all, takes a warp's registers as if it were alone: a row block of queries
    with 512 columns takes 128 of each thread. It is stored once before the loop, and each product reads it from there. So is an operand
    from before a loop that has no room for it beside its own tiles.
  }];
  let options = [Target];
  let dependentDialects = ["::tandem::tgpu::TgpuDialect"];
}

def PipelineLoads : KernelPass<"pipeline-loads"> {
  let summary = "load for later iterations of a loop by cp.async, while this one computes";
  let description = [{
    For each loop with products, or that asks for `num_stages`; in kernels with warp roles, for loops with products of what the producer
    copies and of tiles that threads load, and for these tiles alone, and for loops that load large tiles behind their products:

    1. Chooses the loads that nothing in the loop holds back, whose addresses can be computed ahead, and whose elements fill whole words.
    2. Gives them a ring of as many slots as stages were asked for, or as fit. Loops with products may do with one slot; where all others
       have fewer than two, all stays as it is. Slots are given up where they leave a multiprocessor one block of four warps, not two.
    3. Copies for the first iterations before the loop; in the loop, when an iteration begins, for the one that is slots - 1 ahead, if there
       is one. Where the iteration waits for its own products on wgmma, these begin first. A slot fewer is filled again behind its
       iteration, when all threads have read it, for the one that is as many ahead as there are slots. Values that addresses are loaded from
       come one iteration before the copies.
    4. Reads the slots where the loads were. A `tgpu.wgmma` whose operand was stored to a buffer of its own reads the slot itself.
    5. Where all products of a loop read slots and only add to what the loop carries, one iteration's are still under way while the next
       one's begin. Left operands that the loop computes are carried to the next iteration's begin, where their products start. Copies then
       come behind the wait for the older products, whose slot they fill, and a barrier: they are `slots` - 1 iterations ahead. A
       producer's slot is let go behind that wait, too.
    6. Where products are awaited in their iteration, groups of four warps each multiply rows of their own, and nothing else is copied, a
       group copies its rows and meets alone: one computes with its results while the other multiplies.
  }];
  let options = [Target];
  let dependentDialects = ["::tandem::tgpu::TgpuDialect", "::mlir::arith::ArithDialect"];
}

def ParkOperands : KernelPass<"park-operands"> {
  let summary = "keep operands of later products in shared memory, where registers are short";
  let description = [{
    A tile that is loaded early and multiplied late has registers in between; beside other large tiles, they are spilled. Where a block's
    floating-point tiles need three quarters of a thread's registers between the first product behind a load and the last one that reads it,
    the tile is stored before that first product, and each product reads it from shared memory, as many as there is room for without fewer
    blocks on a multiprocessor. What lies in shared memory anyway, in a ring's slot or a buffer, is read from there for each use instead of
    being kept, as long as the slot is not let go. Forms that are made anew from what is read, such as wider numbers, come along.
  }];
  let options = [Target];
  let dependentDialects = ["::tandem::tgpu::TgpuDialect"];
}

def ScheduleProducts : KernelPass<"schedule-products"> {
  let summary = "start a loop's products as early, and wait for them as late, as their operands and results allow";
  let description = [{
    For loops with several products, each of which select-products has awaited where it stands:

    1. A product whose result only another one is added to is waited for with that one.
    2. Products whose operands are there when the iteration begins come first.
    3. A wait goes to the first use of its result, and leaves under way what has been started since.
    4. A slot is let go when its last product is done.

    Around a loop with products, what is computed of scalars before it and used behind it comes behind it.
  }];
}

def PrepareOperands : KernelPass<"prepare-operands"> {
  let summary = "let a warpgroup of its own compute what two others multiply";
  let description = [{
    Where two warpgroups have the same 64 rows of a loop's products, and multiply what they make of the first ones' results (attention of
    few queries: P·V after Q·Kᵀ), each reads all of the first left operand, and both exchange maxima and weights in each iteration. Then a
    third warpgroup, `preparer`, computes the first products and what follows from them alone, an iteration ahead of the others, which
    read its tiles from shared memory.
  }];
  let options = [Target];
  let dependentDialects = ["::tandem::simt::SimtDialect", "::tandem::tgpu::TgpuDialect", "::mlir::arith::ArithDialect"];
}

def ComputeAnew : KernelPass<"compute-anew"> {
  let summary = "let a loop compute again what would take many registers of addresses";
  let description = [{
    Where each thread of a loop accesses many rows of a tile, the rows' places times a stride are the same in all iterations, and LLVM keeps
    each one, in two registers, beside the loop. From 24 on they are computed in the loop, by one multiplication and addition each, of a
    stride that LLVM cannot know to be the same. Loads of several neighbours at once, whose width is known by the stride, stay.
  }];
  let dependentDialects = ["::tandem::tile::TileDialect"];
}

def AssignLayouts : KernelPass<"assign-layouts"> {
  let summary = "give every tile a layout over the threads";
  let description = [{
    As assign-thread-layouts, but products take the layout of their instruction where wgmma or mma.sync does them, and blocks that TMA
    can store stay in a product's layout. Marks these products and stores.
  }];
  let options = [Target];
  let dependentDialects = ["::tandem::tgpu::TgpuDialect"];
}
#endif
