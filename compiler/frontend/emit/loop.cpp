// `for`: ranges become `scf.for` with the loop's hints as attributes; constant sequences and static ranges are
// unrolled.
#include "compiler/dialect/tile/attributes.h"
#include "compiler/frontend/emit/emitter.h"

namespace tandem::frontend {
using ast::Stmt;

namespace {

// A loop's body while in scope: a `return` cannot leave it, a `continue` goes to its end.
class InLoop {
 public:
  InLoop(Frame& frame, const char* what, const std::map<std::string, SourceRange>* carried)
      : frame_(frame), blocksReturn_(std::exchange(frame.blocksReturn, what)),
        inLoop_(std::exchange(frame.inLoop, true)), carried_(std::exchange(frame.carried, carried)) {}
  ~InLoop() {
    frame_.blocksReturn = blocksReturn_;
    frame_.inLoop = inLoop_;
    frame_.carried = carried_;
  }
  InLoop(const InLoop&) = delete;

 private:
  Frame& frame_;
  const char* blocksReturn_;
  bool inLoop_;
  const std::map<std::string, SourceRange>* carried_;
};

Tensor integerBound(Context& cx, const Value& v, const char* what) {
  if (v.isTensor() || v.is<Int>() || v.is<bool>()) {
    Tensor t = semantic::toTensor(cx, v);
    if (t.type.isScalar() && t.type.dtype.isInt()) return t;
  }
  cx.fail("type-mismatch", std::string("the ") + what + " of a loop must be an integer scalar, but is " + describe(v));
}

// A negative constant step counts up instead, and the loop variable is mirrored.
LoopEnd promotedBounds(Context& cx, const RangeValue& range) {
  LoopEnd b;
  Value step = *range.step;
  if (step.is<Int>() && step.as<Int>() == 0) cx.fail("zero-step", "the step of a loop must not be zero");
  b.reversed = step.is<Int>() && step.as<Int>() < 0;
  if (b.reversed) step = -step.as<Int>();
  b.lower = integerBound(cx, b.reversed ? *range.stop : *range.start, b.reversed ? "end" : "start");
  b.upper = integerBound(cx, b.reversed ? *range.start : *range.stop, b.reversed ? "start" : "end");
  b.step = integerBound(cx, step, "step");
  DType type = semantic::promote(cx, b.lower.type.dtype, true, b.upper.type.dtype, true, false);
  type = semantic::promote(cx, type, true, b.step.type.dtype, true, false);
  if (type.isBool()) type = DType{Scalar::Int32};
  for (Tensor* t : {&b.lower, &b.upper, &b.step}) *t = semantic::cast(cx, *t, type);
  return b;
}

// Returns the loop's variable for a position that counts up from the lower bound.
Tensor variableAt(Context& cx, const LoopEnd& loop, Tensor position) {
  if (!loop.reversed) return position;
  mlir::Value mirrored = mlir::arith::SubIOp::create(cx.builder, cx.loc(), loop.upper.value, position.value);
  return {mlir::arith::AddIOp::create(cx.builder, cx.loc(), mirrored, loop.lower.value), position.type};
}

void setHints(mlir::scf::ForOp loop, const RangeValue& range, mlir::OpBuilder& builder) {
  for (const auto& [name, hint] : range.hints) {
    mlir::Attribute a;
    if (hint.is<bool>()) a = builder.getBoolAttr(hint.as<bool>());
    if (hint.is<Int>()) a = builder.getI32IntegerAttr(int32_t(hint.as<Int>()));
    if (hint.is<std::string>()) a = builder.getStringAttr(hint.as<std::string>());
    if (a) tile::setLoopHint(loop, name, a);
  }
}

}  // namespace

void Emitter::emitFor(const Stmt& s) {
  if (!s.orElse.empty()) failUnsupported(s.elseRange, "`else` of a loop");
  Value iterable = evaluate(*s.exprs[1]);
  At at(*this, s.exprs[1]->range);
  bool isRange = iterable.is<std::shared_ptr<RangeValue>>();
  if (isRange && !iterable.as<std::shared_ptr<RangeValue>>()->isStatic)
    return emitRangeLoop(s, *iterable.as<std::shared_ptr<RangeValue>>());
  emitUnrolledLoop(s, constantElements(iterable, s.exprs[1]->range));
}

void Emitter::emitUnrolledLoop(const Stmt& s, const Positional& values) {
  InLoop body(*frame_, "a `for` loop", nullptr);
  for (const Value& v : values) {
    if (s.exprs[0]->kind == ast::ExprKind::Name)
      frame_->locals[s.exprs[0]->text] = {v, s.exprs[0]->range, true, false};
    else
      assignSequence(*s.exprs[0], v);
    emitBody(s.body, 0, nullptr);
  }
}

void Emitter::emitRangeLoop(const Stmt& s, const RangeValue& range) {
  const ast::Expr& target = *s.exprs[0];
  if (target.kind != ast::ExprKind::Name) failUnsupported(target.range, "a loop variable other than one name");
  LoopEnd bounds = promotedBounds(cx, range);
  std::set<std::string> names = namesForLoop(s);
  names.erase(target.text);
  frame_->locals.erase(target.text);
  LoopVariables vars = prepareLoop(names);
  Locals before = frame_->locals;
  auto loop = mlir::scf::ForOp::create(cx.builder, cx.loc(), bounds.lower.value, bounds.upper.value, bounds.step.value,
                                       vars.initial);
  setHints(loop, range, cx.builder);
  cx.builder.setInsertionPointToStart(loop.getBody());
  std::vector<mlir::Value> inside(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
  bindLoop(vars, inside);
  Tensor index{loop.getInductionVar(), bounds.lower.type};
  {
    At at(*this, target.range);
    frame_->locals[target.text] = {variableAt(cx, bounds, index), target.range, false, false};
  }
  {
    InLoop body(*frame_, "a `for` loop", &vars.definedAt);
    emitBody(s.body, 0, nullptr);
  }
  std::vector<mlir::Value> yielded = collectLoop(vars);
  if (!yielded.empty()) mlir::scf::YieldOp::create(cx.builder, loop.getLoc(), yielded);
  cx.builder.setInsertionPointAfter(loop);
  std::vector<mlir::Value> results(loop.result_begin(), loop.result_end());
  finishLoop(vars, before, results);
  frame_->locals[target.text] = {None{}, target.range, false, true, std::make_shared<LoopEnd>(bounds)};
}

// The variable keeps its last value, as in Python. After a loop that never ran, its value has no meaning.
Tensor Emitter::lastValue(const LoopEnd& loop) {
  auto& builder = cx.builder;
  mlir::Location loc = cx.loc();
  mlir::Value one = semantic::constant(cx, Int(1), loop.lower.type.dtype).value;
  mlir::Value span = mlir::arith::SubIOp::create(builder, loc, loop.upper.value, loop.lower.value);
  mlir::Value turns = mlir::arith::SubIOp::create(builder, loc, span, one);
  if (loop.lower.type.dtype.isSigned())
    turns = mlir::arith::DivSIOp::create(builder, loc, turns, loop.step.value);
  else
    turns = mlir::arith::DivUIOp::create(builder, loc, turns, loop.step.value);
  mlir::Value distance = mlir::arith::MulIOp::create(builder, loc, turns, loop.step.value);
  return variableAt(cx, loop, {mlir::arith::AddIOp::create(builder, loc, loop.lower.value, distance), loop.lower.type});
}

// MLIR takes a loop without effects for dead code, though it may never end. An empty promise is an effect that costs
// nothing.
void Emitter::keepLoop() {
  tile::AssumeOp::create(cx.builder, cx.loc(), semantic::constant(cx, true, DType{Scalar::Int1}).value);
}

void Emitter::emitWhile(const Stmt& s) {
  if (!s.orElse.empty()) failUnsupported(s.elseRange, "`else` of a loop");
  LoopVariables vars = prepareLoop(namesForLoop(s));
  Locals before = frame_->locals;
  mlir::ValueRange initial(vars.initial);
  mlir::Location loc = cx.loc();
  auto loop = mlir::scf::WhileOp::create(cx.builder, loc, initial.getTypes(), initial);
  std::vector<mlir::Location> locs(initial.size(), loc);
  auto enter = [&](mlir::Region& region) {
    mlir::Block* block = cx.builder.createBlock(&region, region.end(), initial.getTypes(), locs);
    std::vector<mlir::Value> arguments(block->args_begin(), block->args_end());
    bindLoop(vars, arguments);
  };
  enter(loop.getBefore());
  {
    At at(*this, s.exprs[0]->range);
    mlir::Value condition = semantic::condition(cx, evaluate(*s.exprs[0])).value;
    mlir::scf::ConditionOp::create(cx.builder, cx.loc(), condition, collectLoop(vars));
  }
  enter(loop.getAfter());
  {
    InLoop body(*frame_, "a `while` loop", &vars.definedAt);
    emitBody(s.body, 0, nullptr);
  }
  keepLoop();
  mlir::scf::YieldOp::create(cx.builder, loc, collectLoop(vars));
  cx.builder.setInsertionPointAfter(loop);
  std::vector<mlir::Value> results(loop.result_begin(), loop.result_end());
  finishLoop(vars, before, results);
}

}  // namespace tandem::frontend
