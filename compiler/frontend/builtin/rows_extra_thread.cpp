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

static void fence(Context& c, tile::Semantic sem, tile::Scope scope) {
  simt::FenceOp::create(c.builder, c.loc(), sem, scope);
}

static Value fenceRow(Context& c, const Arguments& a) {
  tile::Semantic sem = order(c, a["semantic"], "semantic", tile::Semantic::SeqCst);
  fence(c, sem == tile::Semantic::SeqCst ? sem : tile::Semantic::AcqRel, scope(c, a["scope"], "scope"));
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

static Builtin specialRow(const std::string& name, simt::Special which, Scalar dtype) {
  return {name, "", [=](Context& c, const Arguments&) -> Value { return special(c, which, dtype); }};
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

static Builtin shuffleRow(const std::string& name, simt::Shuffle mode, const std::string& lane) {
  return {"extra." + name, "mask, value, " + lane, [mode, lane](Context& c, const Arguments& a) -> Value {
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
    rows.push_back({name, "", emitBare<simt::BarrierOp>});
  rows.push_back({"extra.__syncwarp", "mask=0xFFFFFFFF", emitBare<simt::WarpBarrierOp>});
  for (const char* module : {"extra.", "dl.tma."}) {
    std::string m = module;
    rows.push_back({m + "bar_warp_sync", "", emitBare<simt::WarpBarrierOp>});
    rows.push_back({m + "named_barrier_arrive", "barrier_id, num_threads",
                    [](Context& c, const Arguments& a) { return namedBarrier(c, a, true); }});
    rows.push_back({m + "named_barrier_sync", "barrier_id, num_threads",
                    [](Context& c, const Arguments& a) { return namedBarrier(c, a, false); }});
    rows.push_back({m + "elect_one_sync", "", electRow});
    rows.push_back({m + "warp_idx", "", warpRow});
  }
  rows.push_back({"extra.fence", "semantic='sc', scope='gpu'", fenceRow});
  rows.push_back({"extra.__fence", "semantic='sc', scope='gpu'", fenceRow});
  rows.push_back({"extra.membar", "scope='cta'", membarRow});
}

void addExtraThreadRows(Rows& rows) {
  rows.push_back({"extra.tid", "axis", [](Context& c, const Arguments& a) -> Value { return tid(c, axis(c, a)); }});
  rows.push_back({"extra.ntid", "axis", [](Context& c, const Arguments& a) -> Value {
                    return scalarTensor(simt::NtidOp::create(c.builder, c.loc(), c.builder.getI32Type(), axis(c, a)),
                                        Scalar::Int32);
                  }});
  rows.push_back({"extra.laneid", "", laneRow});
  rows.push_back({"extra.threads_per_warp", "", [](Context&, const Arguments&) -> Value { return Int(32); }});
  addBarriers(rows);
  rows.push_back(specialRow("tl.extra.cuda.globaltimer", simt::Special::GlobalTimer, Scalar::Int64));
  rows.push_back(specialRow("tl.extra.cuda.smid", simt::Special::SmId, Scalar::Int32));
  rows.push_back(specialRow("extra.globaltimer", simt::Special::GlobalTimer, Scalar::UInt64));
  rows.push_back(specialRow("extra.smid", simt::Special::SmId, Scalar::UInt32));
  rows.push_back(specialRow("extra.globaltimer_lo", simt::Special::GlobalTimer, Scalar::UInt32));
  rows.push_back(specialRow("extra.clock", simt::Special::Clock, Scalar::Int64));
  rows.push_back(specialRow("extra.wallclock", simt::Special::GlobalTimer, Scalar::Int64));
  rows.push_back(shuffleRow("__shfl_sync_i32", simt::Shuffle::Idx, "laneid"));
  rows.push_back(shuffleRow("__shfl_up_sync_i32", simt::Shuffle::Up, "delta"));
  rows.push_back(shuffleRow("__shfl_down_sync_i32", simt::Shuffle::Down, "delta"));
  rows.push_back(shuffleRow("__shfl_xor_sync_i32", simt::Shuffle::Xor, "delta"));
  rows.push_back({"extra.__shfl_sync_with_mode_i32", "mask, value, delta, mode='up', c=31", shuffleByWordRow});
  rows.push_back({"extra.__ballot_sync", "mask, predicate", ballotRow});
  rows.push_back({"extra.sync_grid", "", emitBare<simt::GridBarrierOp>});
  for (const char* name : {"seid", "cuid", "xccid"})
    rows.push_back(unsupported(std::string("extra.") + name, "it is a register of one vendor's chip; use `smid`"));
}

}  // namespace tandem::frontend::builtin
