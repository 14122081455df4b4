// The passes that make a thread block's program of a kernel, for any GPU. Each target's list of passes is in compiler/pipeline.
#ifndef TANDEM_TRANSFORM_GPU_PASSES
#define TANDEM_TRANSFORM_GPU_PASSES
include "compiler/transform/kernel_pass.td"

def LimitSize : KernelPass<"limit-size"> {
  let summary = "refuse a kernel that an assembler would take minutes for";
  let description = [{
    Fails at the line that most of the kernel's operations come from, or at a tile of which a thread would hold so many elements that the
    assembler's time, which grows faster than their number, is minutes.
  }];
  let options = [
    Option<"most", "most", "size_t", "200'000", "operations that are compiled">,
    Option<"mostHeld", "most-held", "int64_t", "4096", "elements of a tile for each thread that are compiled">,
    Option<"lanes", "lanes", "int64_t", "32", "threads of a warp">,
    Option<"blocks", "blocks", "int64_t", "1", "blocks that divide a program's tiles">,
  ];
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

def DealPrograms : KernelPass<"deal-programs"> {
  let summary = "let programs of the launch do the work of several, one after the other";
  let description = [{
    Where a `dist.dealt` says so, the author's programs are as many as its numbers say along each axis, and the kernel goes into a loop
    from the program's number in the launch on, by the number of programs of the launch. An iteration has one of the author's numbers, along
    the first axis, then the next. What is the same for all of them is computed before the loop. So a program loads operands for its next
    tile while it stores one, tells of it, or waits for the peers' parts. The pass fails if the numbers are no arguments of the kernel.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def SpreadPrograms : KernelPass<"spread-programs"> {
  let summary = "make a program of each tile that a loop deals out";
  let description = [{
    Where a `dist.spread` says so, a kernel that does nothing but deal tiles out, by a loop from the program's number on by the number of
    programs, loses that loop: the programs of the launch, as many as there are tiles, have one each. What the loop carries may only grow
    as the tile's number does. So such a kernel is waited for, told of and put into an order like any other, and `deal-programs` may
    deal its tiles out again. With a count the kernel does nothing but say how many tiles there are.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def DividePrograms : KernelPass<"divide-programs"> {
  let summary = "let several programs of the launch do the work of one";
  let description = [{
    Where a `dist.divided` says so, its `parts` programs one behind the other along the first axis are one of the author's: tiles are
    divided as `split-program` divides them among a cluster, and the author's numbers of programs along that axis are quotients by
    `parts`. These programs do not know of each other. So the pass fails, at its line, for an op with effects that is not divided, for
    one of the whole program, and for a store to memory that other ops of the kernel access.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def StoreInParts : KernelPass<"store-in-parts"> {
  let summary = "compute and store in a loop a tile that is long for its threads";
  let description = [{
    A tile that is computed element by element of loads, positions and scalars, and of which a thread has as many bytes as registers hold,
    1024 at most, is divided along one dimension into parts of a quarter of that; a loop loads, computes and stores part after part. Code
    and registers are those of one part, where a thread would hold all of each tile at once. Stores that share loads share the loop.

    The whole tile is loaded before any of it is stored, so this is done where no part is stored where a later one is loaded: in place, or
    through pointers that the launch promises to be apart; and where nothing else touches memory in between. What a sum needs as well stays
    whole.
  }];
  let options = [Target];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def LoadOnce : KernelPass<"load-once"> {
  let summary = "load once what a loop would load again, and elements that lie at quotients of positions";
  let description = [{
    What a loop does not change is loaded before it, if its constant bounds say that it runs, nothing in it writes there or through an
    argument that the launch may give the same memory, and a thread keeps 128 bytes at most. Loops of products are left as they are.

    Weights of 4 bits are loaded at `positions // 2`, so that two neighbours load one byte and none lie one behind the other. Where
    addresses, the mask and the values that stand in for masked elements are the same for runs of elements because positions are divided by
    the length of these runs, one element of each run is loaded, and repeated. Such loads are of elements one behind the other, which a
    thread loads together and which are copied ahead.

    Promises about neighbours hold of the elements left as far as these have been neighbours.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def ShareCounters : KernelPass<"share-counters"> {
  let summary = "take the index of a loop for what the loop counts beside it in the same way";
  let description = [{
    Persistent kernels count their tiles twice, for loads and for stores. A sum of integers that is the loop's index in every iteration is
    replaced by it, and what both were used for becomes one, so that rows loaded and rows stored are known to be the same.
  }];
}

def JoinNeighbours : KernelPass<"join-neighbours"> {
  let summary = "load and store together what lies side by side in memory and is named apart";
  let description = [{
    The real and the imaginary part of a complex number, the two columns that a rotation turns, the colours of a pixel: `x + 2 * i` and
    `x + 2 * i + 1` are two tiles of addresses, of which none has neighbours of its own. Loads of one mask become one load of a tile with
    one dimension more, which is split; stores that follow each other one store of joined tiles. Where the addresses of a row are as far
    apart as there are parts, the rows have no gaps and become rows of as many times the columns. A thread then moves up to 16
    bytes at once, and what were two stores of different threads need no barrier between them. It is done where the joined access is
    aligned as a whole and every thread has one at least; loads are moved up past no write, stores down past none.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def OrderOffsets : KernelPass<"order-offsets"> {
  let summary = "add to a tile of addresses first what most of its elements have in common";
  let description = [{
    `x + columns[None, :] + row[:, None] + at` adds three times for each element; in another order it adds twice for each row and once
    for each element. What is the same in all iterations of a loop stays in front, where it leaves the loop. Blocks that have loops are left
    as they are. Sums of addresses are exact in any order.
  }];
}

def NestLoops : KernelPass<"nest-loops"> {
  let summary = "make two loops of one that goes over the steps of all of a program's tiles";
  let description = [{
    A loop of products whose carried number counts from 0 to `steps - 1` over and over, of `steps * tiles` iterations, with a branch where
    the count begins (the next tile's place) and one where it ends (the tile is stored, its sum begun again), becomes a loop over tiles
    around one over steps. What the branches did happens between the loops, so later passes see sums that begin at zero and places that a
    loop does not change. The other ops of an iteration may read, but not write.

    Before that a `while` with products that counts becomes a `for`, whose iterations later passes know.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
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

def AwaitArrivals : KernelPass<"await-arrivals"> {
  let summary = "put waits before the loads of memory that arrives while the kernel runs";
  let description = [{
    1. Reads each load through a `dist.arriving` pointer as a strided access, or as bounds of its addresses; fails at a load that is
       neither, and at a store there. A `while` that counts is a `for` before.
    2. Finds the outermost loop that only reads, whose iterations do not go through rows, and before which the access is known; the wait
       goes there, for the chunks that the access touches in all iterations, and its token to the pointers of the load. Where chunks
       arrive in slices, the wait stays in the loop around the load: an iteration waits when its last column is not known to be there.
    3. Lets a rank's own share of the memory come first, then those of the ranks behind it: axes of the launch that decide what a program
       waits for, and loops that deal tiles out to the programs, begin at `rank / ranks` of their length. Where the memory is
       `dist.ordered`, programs have the numbers that its table says, and then their turn.
  }];
  let dependentDialects = ["::tandem::dist::DistDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def CheckSignals : KernelPass<"check-signals"> {
  let summary = "count the signals of a launch before it runs";
  let description = [{
    Goes through every program of every rank with the numbers of a launch, and evaluates only what decides its signals and waits. A wait for
    a multiple of `dist.call_number` is counted as in a first call. Fails at the line of

    1. a signal to a rank that is not there, or an assertion ahead of a signal that does not hold;
    2. a wait for a word to which fewer signals come than it waits for, or none, or more than all waits for it want;
    3. a wait that no order of programs ends, because ranks wait for each other.

    Where loaded values decide a signal the pass says nothing; a wait of which they decide the word is taken to end.
  }];
  let options = [
    Option<"ranks", "ranks", "int64_t", "1", "ranks of the run">,
    ListOption<"grid", "grid", "int64_t", "sizes of the launch">,
    ListOption<"numbers", "numbers", "int64_t", "the kernel's arguments in their order; what stands for pointers is not read">
  ];
}

def TellDepartures : KernelPass<"tell-departures"> {
  let summary = "put signals behind the stores of memory that leaves while the kernel runs";
  let description = [{
    1. Reads each access through a `dist.leaving` pointer as a strided one; fails at one that is none, at one that loaded values place, and
       at a comparison and exchange. What is loaded there is told of like what is stored: it must stay so long.
    2. Finds the outermost loop, short of one that deals tiles out, before which the access is known; behind it the program tells of each
       chunk that the access touches in all iterations. A mask that loaded values decide only makes the access smaller.
    3. Lets the share of the rank behind this one in the ring come first, and the rank's own last, as `await-arrivals` orders programs.
    4. Where the memory has `parts`, lets stores to the rank's own share add those of the peers (sum_parts.h). Fails where a store runs more
       than once or an access is none, and in a kernel whose programs may wait for each other.
    5. Where the memory is `dist.ordered`, too, each program has the number that the table says, and then its turn.
    6. Where `counted`, takes everything else out of the kernel: what is left counts the signals of each chunk, in the word behind
       theirs, the operations of the products that run fixed; to the table it writes which chunks the program in this place of the
       launch touches last, and to `parts`, where there are some, it adds 1 for each element that is stored.
  }];
  let dependentDialects = ["::tandem::dist::DistDialect", "::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect"];
}

def AccumulateProducts : KernelPass<"accumulate-products"> {
  let summary = "let products add to what their results are added to";
  let description = [{
    `x + dot(a, b)` becomes `dot(a, b, x)` where nothing else reads the product: tensor cores add for nothing, and a loop that sums products
    carries their accumulators.
  }];
}

def GroupPrograms : KernelPass<"group-programs"> {
  let summary = "let programs of a product go through its tiles in groups of rows";
  let description = [{
    Blocks start in the order of their numbers. Where a program takes its row of tiles as the quotient by the columns, and its column as
    the remainder, those that run together have few rows and all columns: a wide right operand is read from memory again for each few
    rows. In groups of eight rows, column by column, they read as much of both operands. In an overlapped kernel a group has no more
    rows than a rank's share. Only in kernels with a product in a loop, one operand's addresses of the row and the other's of the
    column; not where programs may wait for one another.
  }];
  let dependentDialects = ["::tandem::dist::DistDialect", "::mlir::arith::ArithDialect"];
}

def LoadBeforeBranch : KernelPass<"load-before-branch"> {
  let summary = "start a branch's loads while its condition is being loaded";
  let description = [{
    1. Finds branches whose condition depends on a load of the same block, which is not volatile.
    2. Moves before them the loads that a branch begins with, if an access beside the branch touches the same memory whichever way it goes:
       through the same pointers, under the same mask or none. Threads keep at most 256 bytes for what they may have loaded in vain.

    A critical section often reads whether there are sums yet, adds to them in a branch, and stores the new ones behind it.
  }];
}
def LongestFirst : KernelPass<"longest-first"> {
  let summary = "choose which programs start first";
  let description = [{
    Blocks start in the order of their numbers. Where a loop gets longer with a program's number along an axis (causal attention), the
    kernel gets the attribute `longest_first` with that axis: blocks then run programs in an order that leaves short ones for the end.
    Not in kernels whose programs may wait for one another: those before a program may have to run for it to end.
  }];
  let dependentDialects = ["::tandem::tgpu::TgpuDialect"];
}

def AssignThreadLayouts : KernelPass<"assign-thread-layouts"> {
  let summary = "give every tile a layout over the threads of a GPU whose matrix units nothing uses";
  let description = [{
    1. Anchors: memory accesses take the layout that coalesces, products by multiply-adds a patch for each thread.
    2. From anchors layouts spread, forwards and backwards, through ops that move no data; products first, then loads, then stores:
       these of what is cheap to compute again, and of values that nothing has reached.
    3. A tile that none of these reaches gets a default.
    4. Where an op needs an operand in another layout than it has, that is converted, or computed again from what is: whichever costs less.
  }];
  let options = [Option<"lanes", "lanes", "int64_t", "32", "threads of a warp">];
  let dependentDialects = ["::tandem::tgpu::TgpuDialect"];
}

def DeferReductions : KernelPass<"defer-reductions"> {
  let summary = "carry what each thread has of a fold, and fold that behind the loop";
  let description = [{
    `total += sum(x)`, whose value nobody looks at in the loop, is carried as a tile of as many totals as threads have shares of `x` along
    the axis: in the loop threads exchange nothing and meet at no barrier. The largest and the smallest are carried so, too, and the
    `and` and the `or` of bits. A fold is left as it is where a thread would carry more than 16 words of it, and in loops of
    products, which have no registers to spare. Layouts must be known.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::tandem::tgpu::TgpuDialect"];
}

def LayOutScans : KernelPass<"lay-out-scans"> {
  let summary = "scan where each thread has neighbours, if the way there and back costs less than it saves";
  let description = [{
    Where neighbours along a scan's axis are different threads', each of a thread's elements is scanned over lanes by itself, and all
    of them over the thread's parts. Where a thread has a run of neighbours it scans that alone, and one sum of each thread goes over
    lanes. So sources are converted to such a layout, and results back or to what they are wanted in, when that is less than it saves:
    what combines two elements, and shuffles, against conversions. Layouts must be known.
  }];
  let dependentDialects = ["::tandem::tgpu::TgpuDialect"];
}

def InsertBarriers : KernelPass<"insert-barriers"> {
  let summary = "keep a program's accesses to global memory in order by thread barriers (rule M1)";
  let description = [{
    Puts `simt.barrier` before a tile access that may touch, through other threads, an element that an earlier one wrote (or, if it writes
    itself, read). An element that one thread writes and the same thread reads needs none, so layouts must be known. Different parameters
    are taken to be different memory, but for reads after writes. For what came before a loop the barrier stands before it, unless the
    loop's own accesses need one in each iteration. A barrier after which stores of the asynchronous unit must be complete
    is `completing`.
  }];
  let dependentDialects = ["::tandem::simt::SimtDialect", "::tandem::tgpu::TgpuDialect"];
}
#endif
