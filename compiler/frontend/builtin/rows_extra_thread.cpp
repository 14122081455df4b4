// Threads, warps, barriers, fences and special registers: `language_extra`.
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static uint32_t axis(Context& c, const Arguments& a) {
  Int number = constexprInt(c, a["axis"], "axis");
  if (number < 0 || number > 2)
    c.fail("argument-value", "`axis` is " + repr(a["axis"]) + "; threads have axes 0, 1 and 2");
  return static_cast<uint32_t>(number);
}

static Tensor tid(Context& c, uint32_t axis) {
  return scalarTensor(simt::TidOp::create(c.builder, c.loc(), c.builder.getI32Type(), axis), Scalar::Int32);
}

static Value laneRow(Context& c, const Arguments&) { return binary(c, ast::BinaryOp::Mod, tid(c, 0), Int(32)); }
static Value warpRow(Context& c, const Arguments&) { return binary(c, ast::BinaryOp::FloorDiv, tid(c, 0), Int(32)); }

template <class Op>
static Value emitBare(Context& c, const Arguments&) {
  Op::create(c.builder, c.loc());
  return None{};
}

static Value warpBarrierRow(Context& c, const Arguments& a) {
  if (Int mask = constexprInt(c, a["mask"], "mask"); mask != -1 && mask != 0xFFFFFFFF)
    c.fail("argument-value",
           "`mask` is " + repr(a["mask"]) + "; all 32 lanes of a warp take part, which is 0xFFFFFFFF");
  return emitBare<simt::WarpBarrierOp>(c, a);
}

static void fence(Context& c, tile::Semantic sem, tile::Scope scope) {
  simt::FenceOp::create(c.builder, c.loc(), sem, scope);
}

// AMD's word for the weakest order, which its fences have by default, stands for both halves.
static Value fenceRow(Context& c, const Arguments& a) {
  bool isDefault = a["semantic"].is<std::string>() && a["semantic"].as<std::string>() == "monotonic";
  tile::Semantic sem = isDefault ? tile::Semantic::AcqRel : order(c, a["semantic"], "semantic", tile::Semantic::SeqCst);
  if (sem == tile::Semantic::Relaxed)
    c.fail("argument-value",
           "`semantic` is " + repr(a["semantic"]) + ", which orders nothing; a fence is `acq_rel` or `sc`");
  fence(c, sem, scope(c, a["scope"], "scope"));
  return None{};
}

static Value membarRow(Context& c, const Arguments& a) {
  fence(c, tile::Semantic::SeqCst, scope(c, a["scope"], "scope"));
  return None{};
}

static Tensor special(Context& c, simt::Special which, Scalar dtype) {
  auto type = DType{dtype, {}}.toMLIR(c.builder.getContext());
  return scalarTensor(simt::SpecialOp::create(c.builder, c.loc(), type, which), dtype);
}

constexpr const char* kTimer = "The device's time in nanoseconds.";
constexpr const char* kMultiprocessor = "The number of the multiprocessor that runs the thread.";

static Builtin specialRow(const std::string& name, const char* doc, simt::Special which, Scalar dtype) {
  return {
      name, "", {doc, Caller::Thread}, [=](Context& c, const Arguments&) -> Value { return special(c, which, dtype); }};
}

static Value namedBarrier(Context& c, const Arguments& a, bool arriveOnly) {
  Int id = constexprInt(c, a["barrier_id"], "barrier_id"), threads = constexprInt(c, a["num_threads"], "num_threads");
  if (id < 0 || id > 15)
    c.fail("argument-value", "`barrier_id` is " + repr(a["barrier_id"]) + "; barriers are 0 to 15");
  if (threads < 32 || threads > 1024 || threads % 32 != 0)
    c.fail("argument-value", "`num_threads` is " + repr(a["num_threads"]) + "; it must be a multiple of 32 up to 1024");
  simt::NamedBarrierOp::create(c.builder, c.loc(), static_cast<uint32_t>(id), static_cast<uint32_t>(threads),
                               arriveOnly);
  return None{};
}

static Value electRow(Context& c, const Arguments&) {
  return scalarTensor(simt::ElectOp::create(c.builder, c.loc()), Scalar::Int1);
}

// A mask of lanes; Python's -1 is all of them.
static mlir::Value lanes(Context& c, const Value& value) {
  if (value.is<Int>()) return constant(c, value.as<Int>() & 0xFFFFFFFF, DType{Scalar::UInt32}).value;
  return integer(c, value, Scalar::UInt32, "mask");
}

static Value shuffle(Context& c, simt::Shuffle mode, const Value& mask, const Value& given, const Value& lane) {
  Tensor value = scalar(c, given, "value");
  if (value.type.dtype.isPointer() || value.type.dtype.bitWidth() != 32)
    c.fail("type", "`value` must have 32 bits, not " + describe(given));
  mlir::Value active = lanes(c, mask), from = integer(c, lane, Scalar::Int32, "lane");
  return Tensor{simt::ShuffleOp::create(c.builder, c.loc(), value.value.getType(), mode, active, value.value, from),
                value.type};
}

static Value shuffleByWordRow(Context& c, const Arguments& a) {
  std::string mode = constexprString(c, a["mode"], "mode");
  std::optional<simt::Shuffle> known = simt::symbolizeShuffle(mode == "bfly" ? "xor" : mode);
  if (!known) c.fail("argument-value", "`mode` is `" + mode + "`, which is none of `idx`, `up`, `down`, `bfly`");
  return shuffle(c, *known, a["mask"], a["value"], a["delta"]);
}

static Builtin shuffleRow(const std::string& name, const std::string& whose, simt::Shuffle mode,
                          const std::string& lane) {
  return {"extra." + name,
          "mask, value, " + lane,
          {"The 32 bits of `value` in " + whose + ".", Caller::Warp},
          [mode, lane](Context& c, const Arguments& a) -> Value {
            return shuffle(c, mode, a["mask"], a["value"], a[lane]);
          }};
}

static Value ballotRow(Context& c, const Arguments& a) {
  mlir::Value mask = lanes(c, a["mask"]);
  Tensor predicate = condition(c, a["predicate"]);
  return scalarTensor(simt::BallotOp::create(c.builder, c.loc(), mask, predicate.value), Scalar::Int32);
}

static void addBarriers(Rows& rows) {
  for (const char* name : {"extra.__syncthreads", "extra.sync_threads"})
    rows.push_back({name,
                    "",
                    {"A barrier of the block's threads, which orders their accesses.", Caller::Block, "M3"},
                    emitBare<simt::BarrierOp>});
  rows.push_back({"extra.__syncwarp",
                  "mask=0xFFFFFFFF",
                  {"A barrier of the warp's threads, which orders their accesses.", Caller::Warp, "M3"},
                  warpBarrierRow});
  for (const char* module : {"extra.", "dl.tma."}) {
    std::string m = module;
    rows.push_back({m + "bar_warp_sync",
                    "",
                    {"A barrier of the warp's threads, which orders their accesses.", Caller::Warp, "M3"},
                    emitBare<simt::WarpBarrierOp>});
    rows.push_back(
        {m + "named_barrier_arrive",
         "barrier_id, num_threads",
         {"Arrives at the block's barrier `barrier_id` (0 to 15) and goes on; `num_threads` arrive or wait in all.",
          Caller::Warp, "M3"},
         [](Context& c, const Arguments& a) { return namedBarrier(c, a, true); }});
    rows.push_back({m + "named_barrier_sync",
                    "barrier_id, num_threads",
                    {"Waits at the block's barrier `barrier_id` (0 to 15) until `num_threads` threads have come.",
                     Caller::Warp, "M3"},
                    [](Context& c, const Arguments& a) { return namedBarrier(c, a, false); }});
    rows.push_back({m + "elect_one_sync", "", {"True in one thread of the warp.", Caller::Warp}, electRow});
    rows.push_back({m + "warp_idx", "", {"The index of the thread's warp in its block.", Caller::Thread}, warpRow});
  }
  rows.push_back({"extra.fence",
                  "semantic='sc', scope='gpu'",
                  {"Orders the thread's accesses, at `scope` cta, gpu or sys.", Caller::Thread, "M4"},
                  fenceRow});
  rows.push_back({"extra.__fence",
                  "semantic='sc', scope='gpu'",
                  {"Orders the thread's accesses, at `scope` cta, gpu or sys.", Caller::Thread, "M4"},
                  fenceRow});
  rows.push_back({"extra.membar",
                  "scope='cta'",
                  {"A sequentially consistent fence of the thread.", Caller::Thread, "M4"},
                  membarRow});
}

void addExtraThreadRows(Rows& rows) {
  rows.push_back({"extra.tid",
                  "axis",
                  {"The thread's index in its block along `axis`, an int32.", Caller::Thread},
                  [](Context& c, const Arguments& a) -> Value { return tid(c, axis(c, a)); }});
  rows.push_back({"extra.ntid",
                  "axis",
                  {"The size of the block along `axis` in threads, an int32.", Caller::Thread},
                  [](Context& c, const Arguments& a) -> Value {
                    return scalarTensor(simt::NtidOp::create(c.builder, c.loc(), c.builder.getI32Type(), axis(c, a)),
                                        Scalar::Int32);
                  }});
  rows.push_back({"extra.laneid", "", {"The thread's index in its warp, 0 to 31.", Caller::Thread}, laneRow});
  rows.push_back({"extra.threads_per_warp", "", {"32.", Caller::Compiler}, [](Context&, const Arguments&) -> Value {
                    return Int(32);
                  }});
  addBarriers(rows);
  rows.push_back(specialRow("tl.extra.cuda.globaltimer", kTimer, simt::Special::GlobalTimer, Scalar::Int64));
  rows.push_back(specialRow("tl.extra.cuda.smid", kMultiprocessor, simt::Special::SmId, Scalar::Int32));
  rows.push_back(specialRow("extra.globaltimer", kTimer, simt::Special::GlobalTimer, Scalar::UInt64));
  rows.push_back(specialRow("extra.smid", kMultiprocessor, simt::Special::SmId, Scalar::UInt32));
  rows.push_back(specialRow("extra.globaltimer_lo", "The low 32 bits of `globaltimer`.", simt::Special::GlobalTimer,
                            Scalar::UInt32));
  rows.push_back(
      specialRow("extra.clock", "The multiprocessor's count of cycles.", simt::Special::Clock, Scalar::Int64));
  rows.push_back(specialRow("extra.wallclock", kTimer, simt::Special::GlobalTimer, Scalar::Int64));
  rows.push_back(shuffleRow("__shfl_sync_i32", "lane `laneid`", simt::Shuffle::Idx, "laneid"));
  rows.push_back(shuffleRow("__shfl_up_sync_i32", "the lane `delta` below", simt::Shuffle::Up, "delta"));
  rows.push_back(shuffleRow("__shfl_down_sync_i32", "the lane `delta` above", simt::Shuffle::Down, "delta"));
  rows.push_back(shuffleRow("__shfl_xor_sync_i32", "the lane whose number differs in the bits of `delta`",
                            simt::Shuffle::Xor, "delta"));
  rows.push_back({"extra.__shfl_sync_with_mode_i32",
                  "mask, value, delta, mode='up', c=31",
                  {"Another lane's `value`: `mode` is \"idx\", \"up\", \"down\" or \"bfly\".", Caller::Warp},
                  shuffleByWordRow});
  rows.push_back({"extra.__ballot_sync",
                  "mask, predicate",
                  {"A bit for each lane of `mask`: its `predicate`.", Caller::Warp},
                  ballotRow});
  rows.push_back({"extra.sync_grid",
                  "",
                  {"A barrier of all the kernel's programs, which must be resident at once.", Caller::Block, "M3"},
                  emitBare<simt::GridBarrierOp>});
  for (const char* name : {"seid", "cuid", "xccid"})
    rows.push_back(unsupported(std::string("extra.") + name, "it is a register of one vendor's chip; use `smid`"));
}

}  // namespace tandem::frontend::builtin
