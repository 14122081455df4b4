// Ranks, symmetric addresses, waits and tokens: `triton_dist.language`.
#include "compiler/dialect/dist/attributes.h"
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

// The team that an axis names, none for the world, whose number is 0.
static mlir::Value teamOf(Context& c, const Value& axis, const std::string& name) {
  if (axis.is<Int>() && (axis.as<Int>() == -1 || axis.as<Int>() == 0)) return {};
  return integer(c, axis, Scalar::Int32, name);
}

static Value rankRow(Context& c, const Arguments& a) {
  return scalarTensor(dist::RankOp::create(c.builder, c.loc(), teamOf(c, a["axis"], "axis")), Scalar::Int32);
}

static Value numRanksRow(Context& c, const Arguments& a) {
  return scalarTensor(dist::NumRanksOp::create(c.builder, c.loc(), teamOf(c, a["axis"], "axis")), Scalar::Int32);
}

static Value symmAtRow(Context& c, const Arguments& a) {
  if (!a["ptr"].isTensor() || !a["ptr"].as<Tensor>().type.dtype.isPointer())
    c.fail("type", "`ptr` must be a pointer, not " + describe(a["ptr"]));
  const Tensor& pointer = a["ptr"].as<Tensor>();
  mlir::Value peer = integer(c, a["rank"], Scalar::Int32, "rank");
  if (mlir::Value team = teamOf(c, a["team"], "team"))
    peer =
        dist::TranslateRankOp::create(c.builder, c.loc(), team, peer, constant(c, Int(0), DType{Scalar::Int32}).value);
  return Tensor{dist::SymmAtOp::create(c.builder, c.loc(), pointer.value, peer), pointer.type};
}

static Value waitRow(Context& c, const Arguments& a) {
  Tensor barriers = pointer(c, a["barrierPtrs"], "barrierPtrs");
  DType element = barriers.type.dtype.pointee();
  if (!element.isInt() || (element.bitWidth() != 32 && element.bitWidth() != 64))
    c.fail("type", "`barrierPtrs` must point to 32-bit or 64-bit integers, not " + element.name());
  mlir::Value count = integer(c, a["numBarriers"], Scalar::Int32, "numBarriers");
  mlir::Value value = integer(c, a["waitValue"], element.scalar, "waitValue");
  tile::Semantic sem = order(c, a["semantic"], "semantic", tile::Semantic::Acquire);
  if (sem == tile::Semantic::Release)
    c.fail("argument-value", "`semantic` is `release`, but a wait only reads; use `acquire`");
  auto op = dist::WaitOp::create(c.builder, c.loc(), barriers.value, count, value, scope(c, a["scope"], "scope"), sem,
                                 comparison(c, a["compare"], "compare"));
  if (constexprBool(c, a["stays"], "stays")) dist::setStays(op);
  return scalarTensor(op, Scalar::Int32);
}

using PointerMap = llvm::function_ref<mlir::Value(mlir::Value)>;

static void eachPointer(std::vector<Tensor>& tensors, PointerMap tied) {
  for (Tensor& tensor : tensors) tensor.value = tied(tensor.value);
}

// Every pointer inside the value becomes what `tied` makes of it; sizes do not read memory.
static Value eachPointer(Context& c, const Value& value, PointerMap tied, const std::string& name) {
  if (value.isTensor()) return Tensor{tied(value.as<Tensor>().value), value.as<Tensor>().type};
  if (value.isTuple()) {
    auto tuple = std::make_shared<Tuple>(*value.as<std::shared_ptr<Tuple>>());
    for (Value& element : tuple->elements) element = eachPointer(c, element, tied, name);
    return tuple;
  }
  if (value.is<std::shared_ptr<BlockPointer>>()) {
    auto block = std::make_shared<BlockPointer>(*value.as<std::shared_ptr<BlockPointer>>());
    block->base.value = tied(block->base.value);
    eachPointer(block->offsets, tied);
    return block;
  }
  if (value.is<std::shared_ptr<Descriptor>>()) {
    auto descriptor = std::make_shared<Descriptor>(*value.as<std::shared_ptr<Descriptor>>());
    descriptor->base.value = tied(descriptor->base.value);
    return descriptor;
  }
  if (value.is<std::shared_ptr<Aggregate>>()) {
    auto aggregate = std::make_shared<Aggregate>(*value.as<std::shared_ptr<Aggregate>>());
    for (auto& [field, content] : aggregate->fields) content = eachPointer(c, content, tied, name);
    return aggregate;
  }
  if (value.is<std::shared_ptr<SmemBuffer>>() || value.isNumber() || value.isNone()) return value;
  c.fail("type", "`" + name + "` needs a tensor, a pointer or a descriptor, not " + describe(value));
}

static Value consumeTokenRow(Context& c, const Arguments& a) {
  const Value& token = a["token"];
  bool isToken = token.isTensor() && token.as<Tensor>().type == Type{DType{Scalar::Int32}, {}};
  if (!isToken) c.fail("type", "`token` must be what `dl.wait` returns, an `int32` scalar, but is " + describe(token));
  auto consumed = [&](mlir::Value value) -> mlir::Value {
    return dist::ConsumeTokenOp::create(c.builder, c.loc(), value, token.as<Tensor>().value);
  };
  return eachPointer(c, a["value"], consumed, "consume_token");
}

static Value leavingRow(Context& c, const Arguments& a) {
  Tensor words = writableSignal(c, a["words"], "words");
  mlir::Value chunk = integer(c, a["chunk"], Scalar::Int64, "chunk"),
              chunks = integer(c, a["chunks"], Scalar::Int64, "chunks"), parts, ready, bands;
  bool counted = constexprBool(c, a["counted"], "counted");
  if (!a["parts"].isNone()) parts = pointer(c, a["parts"], "parts").value;
  bool hasReady = !a["ready"].isNone(), mayLack = counted || a["parts"].isNone();
  if (hasReady == a["bands"].isNone() || (hasReady ? counted : !mayLack))
    c.fail("type", "`parts` need `ready` and `bands`, which go together, and with `counted` there are `parts` alone");
  if (!a["ready"].isNone()) {
    ready = writableSignal(c, a["ready"], "ready").value;
    bands = integer(c, a["bands"], Scalar::Int64, "bands");
    if (!parts) parts = ready;  // none apart
  }
  if (a["value"].isTensor()) pointer(c, a["value"], "value");
  auto leaving = [&](mlir::Value value) -> mlir::Value {
    if (!mlir::isa<tile::PtrType>(value.getType())) return value;  // where a block pointer is
    return dist::LeavingOp::create(c.builder, c.loc(), value, words.value, chunk, chunks, parts, ready, bands, counted);
  };
  return eachPointer(c, a["value"], leaving, "leaving");
}

static Value arrivingRow(Context& c, const Arguments& a) {
  Tensor words = pointer(c, a["words"], "words");
  DType element = words.type.dtype.pointee();
  if (!element.isInt() || (element.bitWidth() != 32 && element.bitWidth() != 64))
    c.fail("type", "`words` must point to 32-bit or 64-bit integers, not " + element.name());
  mlir::Value chunk = integer(c, a["chunk"], Scalar::Int64, "chunk"),
              chunks = integer(c, a["chunks"], Scalar::Int64, "chunks"),
              epoch = integer(c, a["epoch"], element.scalar, "epoch");
  if (a["value"].isTensor()) pointer(c, a["value"], "value");
  llvm::SmallVector<mlir::Value> slices;
  if (a["row"].isNone() != a["slice"].isNone()) c.fail("type", "`row` and `slice` go together");
  for (const char* name : {"row", "slice"})
    if (!a[name].isNone()) slices.push_back(integer(c, a[name], Scalar::Int64, name));
  auto arriving = [&](mlir::Value value) -> mlir::Value {
    if (!mlir::isa<tile::PtrType>(value.getType())) return value;  // where a block pointer is
    return dist::ArrivingOp::create(c.builder, c.loc(), value, words.value, chunk, chunks, epoch, slices);
  };
  return eachPointer(c, a["value"], arriving, "arriving");
}

static Value orderedRow(Context& c, const Arguments& a) {
  Tensor order = pointer(c, a["order"], "order");
  DType element = order.type.dtype.pointee();
  if (element != DType{Scalar::Int32} && element != DType{Scalar::Int64})
    c.fail("type",
           "`order` must point to `int32`, or to `int64` where a kernel only counts, not `" + element.name() + "`");
  if (a["value"].isTensor()) pointer(c, a["value"], "value");
  auto ordered = [&](mlir::Value value) -> mlir::Value {
    if (!mlir::isa<tile::PtrType>(value.getType())) return value;  // where a block pointer is
    return dist::OrderedOp::create(c.builder, c.loc(), value, order.value);
  };
  return eachPointer(c, a["value"], ordered, "ordered");
}

static Value dividedRow(Context& c, const Arguments& a) {
  int64_t parts = integers(c, a["parts"], "parts").front();
  if (parts < 2 || !llvm::isPowerOf2_64(uint64_t(parts)))
    c.fail("argument-value", "`parts` must be a power of two, 2 or more, but is " + std::to_string(parts));
  if (a["value"].isTensor()) pointer(c, a["value"], "value");
  auto divided = [&](mlir::Value value) -> mlir::Value {
    if (!mlir::isa<tile::PtrType>(value.getType())) return value;  // where a block pointer is
    return dist::DividedOp::create(c.builder, c.loc(), value, uint64_t(parts));
  };
  return eachPointer(c, a["value"], divided, "divided");
}

static Value dealtRow(Context& c, const Arguments& a) {
  mlir::Value x = integer(c, a["x"], Scalar::Int32, "x"), y = integer(c, a["y"], Scalar::Int32, "y"),
              z = integer(c, a["z"], Scalar::Int32, "z");
  if (a["value"].isTensor()) pointer(c, a["value"], "value");
  auto dealt = [&](mlir::Value value) -> mlir::Value {
    if (!mlir::isa<tile::PtrType>(value.getType())) return value;  // where a block pointer is
    return dist::DealtOp::create(c.builder, c.loc(), value, x, y, z);
  };
  return eachPointer(c, a["value"], dealt, "dealt");
}

static Value spreadRow(Context& c, const Arguments& a) {
  mlir::Value count;
  if (!a["count"].isNone()) {
    Tensor word = pointer(c, a["count"], "count");
    DType element = word.type.dtype.pointee();
    if (element != DType{Scalar::Int64}) c.fail("type", "`count` must point to `int64`, not `" + element.name() + "`");
    count = word.value;
  }
  if (a["value"].isTensor()) pointer(c, a["value"], "value");
  auto spread = [&](mlir::Value value) -> mlir::Value {
    if (!mlir::isa<tile::PtrType>(value.getType())) return value;  // where a block pointer is
    return dist::SpreadOp::create(c.builder, c.loc(), value, count);
  };
  return eachPointer(c, a["value"], spread, "spread");
}

static Value callNumberRow(Context& c, const Arguments& a) {
  mlir::Value number = integer(c, a["number"], Scalar::Int64, "number");
  return scalarTensor(dist::CallNumberOp::create(c.builder, c.loc(), number), Scalar::Int64);
}

static Value notifyRow(Context& c, const Arguments& a) {
  std::string word = constexprString(c, a["comm_scope"], "comm_scope");
  std::optional<dist::CommScope> scope = dist::symbolizeCommScope(word);
  if (!scope)
    c.fail("argument-value", "`comm_scope` is `" + word + "`, which is none of `gpu`, `intra_node`, `inter_node`");
  Tensor signal = writableSignal(c, a["ptr"], "ptr");
  mlir::Value peer = integer(c, a["rank"], Scalar::Int32, "rank"),
              value = integer(c, a["signal"], Scalar::UInt64, "signal");
  dist::NotifyOp::create(c.builder, c.loc(), signal.value, peer, value, signalKind(c, a["sig_op"], "sig_op"), *scope);
  return None{};
}

void addDistributedRows(Rows& rows) {
  rows.push_back(
      {"dl.rank", "axis=-1",
       "This rank's number, an int32 from 0, in the run, or in the team whose number `axis` is; -1: it is not there.",
       rankRow});
  rows.push_back({"dl.num_ranks", "axis=-1",
                  "How many ranks the run has, an int32, or the team whose number `axis` is.", numRanksRow});
  rows.push_back(
      {"dl.symm_at",
       "ptr, rank, team=-1",
       {"The address of `rank`'s copy of the symmetric memory at `ptr`; with `team`, a team's number, `rank` is one of "
        "its.",
        Caller::Program, "M2"},
       symmAtRow});
  rows.push_back(
      {"dl.wait",
       "barrierPtrs, numBarriers, scope, semantic, waitValue=1, compare='eq', stays=False",
       {"Waits until each of the `numBarriers` words from `barrierPtrs` on compares true with `waitValue`, signed. "
        "Returns a token for `consume_token`. With `stays` a word that has compared true does so until the kernel ends: a wait "
        "for what was waited for last may cost nothing.",
        Caller::Block, "M6"},
       waitRow});
  rows.push_back({"dl.consume_token",
                  "value, token",
                  {"`value`, of which every use comes after the wait that made `token`.", Caller::Program, "M7"},
                  consumeTokenRow});
  rows.push_back(
      {"dl.arriving",
       "value, words, chunk, chunks, epoch, row=None, slice=None",
       {"`value`, a pointer or a descriptor to memory that arrives while the kernel runs, in `chunks` pieces of `chunk` "
        "elements: the i-th is there when `words[i]` is at least `epoch`. Each load waits for what it reads. With `row` and "
        "`slice` the rows of a piece have `row` elements and come in slices of `slice` columns: the j-th slice, from 0, is there "
        "when `words[i]` is at least `epoch` + j.",
        Caller::Block, "M6"},
       arrivingRow});
  rows.push_back(
      {"dl.leaving",
       "value, words, chunk, chunks, parts=None, ready=None, bands=None, counted=False",
       {"`value`, a pointer or a descriptor to memory that leaves while the kernel runs, in `chunks` pieces of `chunk` "
        "elements: a program adds 1 to this rank's `words[i]` when it has stored its part of the i-th. With `parts`, "
        "where the ranks' parts of this rank's `bands` pieces lie rank by rank, what it stores to these are the sums over "
        "the ranks, each added when its word of `ready`, in the same order, is 1. With `ready` and no `parts` the other one's "
        "part of two ranks is where the sum is to be, and stores add to it. With `counted` it does nothing else, "
        "and adds 1 to the int32 `parts`, if they are there, for each element that it would store.",
        Caller::Block, "M5"},
       leavingRow});
  rows.push_back(
      {"dl.ordered",
       "value, order",
       {"`value`, memory that arrives or leaves, in a kernel whose programs take other numbers: the i-th of the launch, "
        "counted along the first axis, then the next, takes that of the one whose place is the i-th of `order`. That is an "
        "argument of the kernel with each place once.",
        Caller::Program},
       orderedRow});
  rows.push_back(
      {"dl.divided",
       "value, parts",
       {"`value`, an argument of a kernel that is launched with `parts` programs along the first axis for each one that its "
        "text speaks of, a power of two: each of them computes its part of the tiles. A kernel whose parts need one another's "
        "elements, or would all write the same, does not compile.",
        Caller::Program},
       dividedRow});
  rows.push_back(
      {"dl.dealt",
       "value, x, y=1, z=1",
       {"`value`, an argument of a kernel whose text speaks of `x` programs along the first axis, `y` and `z` along the others, which "
        "those of the launch, along its first axis, do in turns, one after the other. The three are arguments of the kernel, or constants.",
        Caller::Program},
       dealtRow});
  rows.push_back(
      {"dl.spread",
       "value, count=None",
       {"`value`, an argument of a kernel whose text deals tiles out by a loop from the program's number on, in which each program of the "
        "launch has one tile. A kernel that does more than such a loop does not compile. With `count` it does nothing but store there, an "
        "int64, how many tiles its loop deals out, or 0.",
        Caller::Program},
       spreadRow});
  rows.push_back(
      {"dl.call_number",
       "number",
       {"`number`, an int64 that is 1 in a kernel's first call and one more in each that follows. Words that are "
        "compared with multiples of it are never put back and get all their signals from this kernel, so that the "
        "signals of a launch can be counted before it runs.",
        Caller::Program, "M6"},
       callNumberRow});
  rows.push_back({"dl.notify",
                  "ptr, rank, signal=1, sig_op='set', comm_scope='inter_node'",
                  {"Releases all earlier writes of the program, then sets the signal at `ptr` of `rank` to `signal`, "
                   "or adds to it.",
                   Caller::Block, "M5"},
                  notifyRow});
  rows.push_back(
      {"dl.simt_exec_region",
       "",
       {"A region of the program in which each thread runs for itself: `with simt_exec_region() as (thread_idx, "
        "block_size):`.",
        Caller::Thread},
       [](Context& c, const Arguments&) -> Value {
         c.fail("unsupported", "`simt_exec_region` is used as `with simt_exec_region() as (thread_idx, block_size):`");
       }});
  rows.push_back(unsupported("dl.dispatch", "bitcode libraries other than libdevice are not linked"));
  rows.push_back(unsupported("dl.extract", "inside `simt_exec_region` read an element as `x[i, j]`"));
  rows.push_back(unsupported("dl.insert", "inside `simt_exec_region` write an element as `x[i, j] = value`"));
}

}  // namespace tandem::frontend::builtin
