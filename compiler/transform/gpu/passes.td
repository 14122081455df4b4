// The passes that make a thread block's program of a kernel. Their order, and why it is so, is in compiler/pipeline/nvidia.cpp.
#ifndef TANDEM_TRANSFORM_GPU_PASSES
#define TANDEM_TRANSFORM_GPU_PASSES
include "mlir/Pass/PassBase.td"

class KernelPass<string word> : PassBase<word, "KernelPass">;
def Target : Option<"target", "target", "std::string", "\"sm_90a\"", "the GPU that the code is for">;

def LimitSize : KernelPass<"limit-size"> {
  let summary = "refuse a kernel that an assembler would take minutes for";
  let description = [{Fails at the line that most of the kernel's operations come from.}];
}

def SplitProgram : KernelPass<"split-program"> {
  let summary = "turn a program that several blocks run together into the program of each block of the cluster";
  let description = [{
    1. Separates positions that several tiles share.
    2. Decides which dimension of each tile the `blocks` blocks divide (program_axes.h).
    3. Gives these tiles the shapes of a block's part, and ranges and blocks of tensors the offset of the block's own.
    4. Marks the accesses that would be the same in all blocks.

    Later passes see an ordinary program of one block that knows its number. The pass fails, at its line, for an op that a cluster cannot
    do.
  }];
  let options = [Target, Option<"blocks", "blocks", "int64_t", "1", "blocks of a program's cluster">];
  let dependentDialects = ["::tandem::tgpu::TgpuDialect", "::mlir::arith::ArithDialect"];
}

def RecogniseBlocks : KernelPass<"recognise-blocks"> {
  let summary = "turn pointer accesses of products into block accesses, so that TMA can do them";
  let description = [{Accesses that are not provably blocks stay as they are.}];
  let options = [Target];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def CarryOffsets : KernelPass<"carry-offsets"> {
  let summary = "let loops that move a tile of addresses on carry how far, not the tile";
  let description = [{
    A tile of pointers or integers that every iteration adds the same number to at all places becomes its first value, plus a number that
    the loop carries. One addition an iteration takes the place of one for each element, and LLVM's analyses, which follow every carried
    address through all loops, see one.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def DeferSums : KernelPass<"defer-sums"> {
  let summary = "keep the sums of rows that an online softmax carries in parts, and add these up behind the loop";
  let description = [{
    `sum = sum * exp(a) + reduce(exp(b))`, whose value nobody looks at in the loop, is carried as eight sums of every eighth column: of a
    product's result a thread holds just those, so threads exchange sums once a loop, not once an iteration. Powers are never negative, so
    nothing cancels that did not.
  }];
  let options = [Target];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def AccumulateProducts : KernelPass<"accumulate-products"> {
  let summary = "let products add to what their results are added to";
  let description = [{
    `x + dot(a, b)` becomes `dot(a, b, x)` where nothing else reads the product: tensor cores add for nothing, and a loop that sums products
    carries their accumulators.
  }];
}

def SelectProducts : KernelPass<"select-products"> {
  let summary = "choose the unit that does each product of tiles, and how its operands come";
  let description = [{
    1. Loops whose products read blocks of strided tensors get rings in shared memory that an added producer warp fills by TMA while the
       program's own warps multiply (`tgpu.warp_specialize`).
       Not where an operand comes through pointers that TMA can't follow: pipeline-loads copies all that such a loop reads.
    2. Other products that wgmma can do have their operands brought to shared memory, the left one to registers where it is computed in the
       same block.

    The other products stay `tile.dot`.
  }];
  let options = [Target];
  let dependentDialects = ["::tandem::tgpu::TgpuDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
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

    The first product of an iteration has `tgpu.takes_turn`, the last `tgpu.gives_turn`: warpgroups start their products in turn, in pairs,
    so that one computes while the other multiplies. Where exponentials take at least as long as the products, the wait for the first
    product has `tgpu.gives_turn` instead, so that the exponentials of the two fall less into one another.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def PipelineLoads : KernelPass<"pipeline-loads"> {
  let summary = "load for later iterations of a loop by cp.async, while this one computes";
  let description = [{
    For each loop with products, or that asks for `num_stages`, in kernels without warp roles:

    1. Chooses the loads that nothing in the loop holds back, whose addresses can be computed ahead, and whose elements fill whole words.
    2. Gives them a ring of as many slots as stages were asked for, or as fit; with fewer than two all stays as it is.
    3. Copies for the first iterations before the loop; in the loop, for the iteration that is slots - 1 ahead, if there is one.
    4. Reads the slots where the loads were. A `tgpu.wgmma` whose operand was stored to a buffer of its own reads the slot itself.
    5. Where all products of a loop read slots and only add to what the loop carries, one iteration's are still under way while the next
       one's begin: copies are then slots - 2 ahead, and the ring has a slot more if that costs no block of a multiprocessor.
  }];
  let options = [Target];
  let dependentDialects = ["::tandem::tgpu::TgpuDialect", "::mlir::arith::ArithDialect"];
}

def LongestFirst : KernelPass<"longest-first"> {
  let summary = "choose which programs start first";
  let description = [{
    Blocks start in the order of their numbers. Where a loop gets longer with a program's number along an axis (causal attention), the
    kernel gets `tgpu.longest_first` with that axis: blocks then run programs in an order that leaves short ones for the end. Not in
    kernels whose programs may wait for one another: those before a program may have to run for it to end.
  }];
}

def AssignLayouts : KernelPass<"assign-layouts"> {
  let summary = "give every tile a layout over the threads";
  let description = [{
    1. Anchors: products take the layout of their instruction, memory accesses the one that coalesces.
    2. From anchors layouts spread, forwards and backwards, through ops that move no data; products first, then loads, then stores.
    3. A tile that none of these reaches gets a default.
    4. Where an op needs an operand in another layout than it has, cheap operands are computed again, others converted.
  }];
  let options = [Target];
  let dependentDialects = ["::tandem::tgpu::TgpuDialect"];
}

def InsertBarriers : KernelPass<"insert-barriers"> {
  let summary = "keep a program's accesses to global memory in order by thread barriers (rule M1)";
  let description = [{
    Puts `simt.barrier` before a tile access that may touch, through other threads, an element that an earlier one wrote (or, if it writes
    itself, read). An element that one thread writes and the same thread reads needs none, so layouts must be known. Different parameters
    are taken to be different memory, but for reads after writes. A barrier after which stores of the asynchronous unit must be complete
    has `tgpu.completes_bulk`.
  }];
  let dependentDialects = ["::tandem::simt::SimtDialect"];
}
#endif
