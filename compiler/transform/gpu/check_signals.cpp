// Programs are walked with a launch's numbers; what decides no signal is left out.
#include "compiler/dialect/dist/attributes.h"
#include "compiler/dialect/dist/dist.h"
#include "compiler/transform/gpu/accesses.h"
#include "compiler/transform/gpu/passes.h"
#include <deque>
#include <map>

namespace tandem::transform::gpu {
using namespace mlir;
#define GEN_PASS_DEF_CHECKSIGNALS
#include "compiler/transform/gpu/passes.h.inc"
namespace {

constexpr int64_t kMostSteps = 5'000'000;  // ops that are evaluated; a larger launch is not checked

// A number, or the place of an element behind one of the kernel's arguments.
struct Known {
  Attribute number;
  Value base;
  int64_t offset = 0;
  explicit operator bool() const { return number || base; }
};

// A word of a rank: behind which argument, the rank, and the place there.
using Word = std::tuple<unsigned, int64_t, int64_t>;

struct Event {
  Operation* op;
  bool waits;
  Word word;
  int64_t value;
};

using Program = std::vector<Event>;

bool isScalarInteger(Value value) { return isa<IntegerType, IndexType>(value.getType()); }

// The values that decide which signals and waits a program goes through, and the ops and regions to walk for them.
class Relevant {
 public:
  explicit Relevant(func::FuncOp kernel) {
    kernel.walk([&](Operation* op) {
      if (!isa<dist::NotifyOp, dist::WaitOp>(op)) return;
      add(op);
      for (Operation* at = op; !isa<func::FuncOp>(at); at = at->getParentOp()) addAssertionsAhead(at);
    });
  }

  bool contains(Operation* op) const { return ops_.contains(op); }
  bool contains(Value value) const { return values_.contains(value); }

  // Whether the value is computed from the number of a call.
  static bool isOfCall(Value value) {
    SmallVector<Value> left{value};
    llvm::DenseSet<Value> seen;
    while (!left.empty()) {
      Value next = left.pop_back_val();
      if (next.getDefiningOp<dist::CallNumberOp>()) return true;
      for (Value from : behind(next))
        if (seen.insert(from).second) left.push_back(from);
    }
    return false;
  }

 private:
  // Those whose condition is known say why a signal is not as it should be.
  void addAssertionsAhead(Operation* signal) {
    for (Operation* op = signal; op; op = op->getPrevNode())
      if (auto claim = dyn_cast<tile::AssertOp>(op); claim && isScalarInteger(claim.getCondition())) add(op);
  }

  // The values from which a value comes, also around a loop; not what decides how often a loop runs, or which branch.
  static SmallVector<Value> behind(Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    Operation* op = argument ? argument.getOwner()->getParentOp() : value.getDefiningOp();
    unsigned index = argument ? 0 : cast<OpResult>(value).getResultNumber();
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      BlockArgument carried = argument ? argument : loop.getRegionIterArg(index);
      if (!argument) return {carried};
      if (carried == loop.getInductionVar()) return {};
      return {loop.getTiedLoopInit(carried)->get(), loop.getTiedLoopYieldedValue(carried)->get()};
    }
    if (auto branch = dyn_cast<scf::IfOp>(op))
      return {branch.thenYield().getOperand(index), branch.elseYield().getOperand(index)};
    return op->getNumRegions() ? SmallVector<Value>() : llvm::to_vector(op->getOperands());
  }

  void add(Operation* op) {
    for (; !isa<func::FuncOp>(op) && ops_.insert(op).second; op = op->getParentOp()) {
      if (auto loop = dyn_cast<scf::ForOp>(op)) {
        for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()}) add(bound);
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        add(branch.getCondition());
      } else if (!op->getNumRegions() && !isa<dist::CallNumberOp>(op)) {
        for (Value operand : op->getOperands()) add(operand);
      }
    }
  }

  void add(Value value) {
    if (!values_.insert(value).second) return;
    Operation* op = value.getDefiningOp() ? value.getDefiningOp() : value.getParentBlock()->getParentOp();
    if (isa<func::FuncOp>(op)) return;
    add(op);
    if (op->getNumRegions())
      for (Value from : behind(value)) add(from);
  }

  llvm::DenseSet<Operation*> ops_;
  llvm::DenseSet<Value> values_;
};

// What cannot be told ends the check without an error.
struct Unknown {};

class Walk {
 public:
  Walk(func::FuncOp kernel, const Relevant& relevant, ArrayRef<int64_t> grid, ArrayRef<int64_t> numbers, int64_t ranks)
      : kernel_(kernel), relevant_(relevant), grid_(grid), numbers_(numbers), ranks_(ranks) {}

  // Fails at the line of a signal or an assertion that is wrong by itself.
  FailureOr<Program> program(int64_t rank, ArrayRef<int64_t> ids) {
    rank_ = rank, ids_ = ids, failed_ = false;
    events_.clear(), known_.clear();
    for (BlockArgument argument : kernel_.getArguments())
      if (auto type = dyn_cast<IntegerType>(argument.getType()))
        known_[argument] = {IntegerAttr::get(type, numbers_[argument.getArgNumber()]), {}};
      else if (isa<tile::PtrType>(argument.getType()))
        known_[argument] = {{}, argument};
    run(kernel_.getBody().front());
    if (failed_) return failure();
    return std::move(events_);
  }

 private:
  Known of(Value value) const { return known_.lookup(value); }

  std::optional<int64_t> numberOf(Value value) const {
    auto number = dyn_cast_or_null<IntegerAttr>(of(value).number);
    return number ? std::optional(number.getType().isInteger(1) ? int64_t(number.getValue().getZExtValue())
                                                                : number.getValue().getSExtValue())
                  : std::nullopt;
  }

  void set(Value value, int64_t number) { known_[value] = {IntegerAttr::get(value.getType(), number), {}}; }

  void run(Block& block) {
    for (Operation& op : block) {
      if (failed_) return;
      if (!relevant_.contains(&op)) continue;
      if (++steps_ > kMostSteps) throw Unknown();
      if (auto loop = dyn_cast<scf::ForOp>(op))
        run(loop);
      else if (auto branch = dyn_cast<scf::IfOp>(op))
        run(branch);
      else if (op.getNumRegions())
        leaveOut(&op);
      else if (auto notify = dyn_cast<dist::NotifyOp>(op))
        run(notify);
      else if (auto wait = dyn_cast<dist::WaitOp>(op))
        run(wait);
      else if (auto claim = dyn_cast<tile::AssertOp>(op))
        run(claim);
      else
        evaluate(&op);
    }
  }

  // What the region would have done is not known; no signal may be in it.
  void leaveOut(Operation* op) {
    op->walk([](Operation* inner) {
      if (isa<dist::NotifyOp>(inner)) throw Unknown();
    });
    for (Value result : op->getResults()) known_.erase(result);
  }

  // By copies: what is read may be written in the same step.
  void move(ValueRange from, ValueRange to) {
    SmallVector<Known> values;
    for (Value value : from) values.push_back(of(value));
    for (auto [value, known] : llvm::zip_equal(to, values))
      if (known)
        known_[value] = known;
      else
        known_.erase(value);
  }

  void run(scf::ForOp loop) {
    auto from = numberOf(loop.getLowerBound()), to = numberOf(loop.getUpperBound()), step = numberOf(loop.getStep());
    if (!from || !to || !step || *step <= 0) return leaveOut(loop);
    move(loop.getInitArgs(), loop.getRegionIterArgs());
    for (int64_t i = *from; i < *to && !failed_; i += *step) {
      set(loop.getInductionVar(), i);
      run(*loop.getBody());
      move(loop.getYieldedValues(), loop.getRegionIterArgs());
    }
    move(loop.getRegionIterArgs(), loop.getResults());
  }

  void run(scf::IfOp branch) {
    std::optional<int64_t> condition = numberOf(branch.getCondition());
    if (!condition) return leaveOut(branch);
    Region& taken = *condition ? branch.getThenRegion() : branch.getElseRegion();
    if (taken.empty()) return;
    run(taken.front());
    move(taken.front().getTerminator()->getOperands(), branch.getResults());
  }

  void run(dist::NotifyOp notify) {
    Known place = of(notify.getPointer());
    auto peer = numberOf(notify.getPeer()), value = numberOf(notify.getValue());
    if (!place.base || !peer || !value) throw Unknown();
    if (*peer < 0 || *peer >= ranks_) {
      notify.emitError() << "this signal goes to rank " << *peer << " of " << ranks_ << ", by rank " << rank_;
      failed_ = true;
      return;
    }
    events_.push_back({notify, false, wordAt(place, *peer), *value});
  }

  void run(dist::WaitOp wait) {
    Known place = of(wait.getPointer());
    auto count = numberOf(wait.getCount()), value = numberOf(wait.getValue());
    bool isCounted = wait.getCompare() == dist::Compare::Ge && Relevant::isOfCall(wait.getValue());
    if (place.base && count == 1 && value && isCounted) events_.push_back({wait, true, wordAt(place, rank_), *value});
  }

  Word wordAt(const Known& place, int64_t rank) {
    return {cast<BlockArgument>(place.base).getArgNumber(), rank, place.offset};
  }

  void run(tile::AssertOp claim) {
    if (numberOf(claim.getCondition()).value_or(1)) return;
    claim.emitError() << claim.getMessage() << ", on rank " << rank_;
    failed_ = true;
  }

  void evaluate(Operation* op) {
    if (auto id = dyn_cast<tile::ProgramIdOp>(op)) return set(id, ids_[unsigned(id.getAxis())]);
    if (auto count = dyn_cast<tile::NumProgramsOp>(op)) return set(count, grid_[unsigned(count.getAxis())]);
    if (auto rank = dyn_cast<dist::RankOp>(op); rank && !rank.getTeam()) return set(rank, rank_);
    if (auto ranks = dyn_cast<dist::NumRanksOp>(op); ranks && !ranks.getTeam()) return set(ranks, ranks_);
    if (auto call = dyn_cast<dist::CallNumberOp>(op)) return set(call, 1);
    if (auto consume = dyn_cast<dist::ConsumeTokenOp>(op)) return move(consume.getValue(), consume.getResult());
    if (auto add = dyn_cast<tile::AddPtrOp>(op)) {
      Known pointer = of(add.getPointer());
      std::optional<int64_t> offset = numberOf(add.getOffset());
      if (pointer.base && offset)
        known_[add] = {{}, pointer.base, pointer.offset + *offset};
      else
        known_.erase(add);
      return;
    }
    fold(op);
  }

  void fold(Operation* op) {
    for (Value result : op->getResults()) known_.erase(result);
    SmallVector<Attribute> operands;
    for (Value operand : op->getOperands()) operands.push_back(of(operand).number);
    SmallVector<OpFoldResult> results;
    if (!isMemoryEffectFree(op) || llvm::is_contained(operands, nullptr) || failed(op->fold(operands, results))) return;
    for (auto [result, folded] : llvm::zip(op->getResults(), results)) {
      auto value = dyn_cast<Value>(folded);
      Attribute number = value ? of(value).number : cast<Attribute>(folded);
      if (isa_and_nonnull<IntegerAttr>(number)) known_[result] = {number, {}};
    }
  }

  func::FuncOp kernel_;
  const Relevant& relevant_;
  ArrayRef<int64_t> grid_, numbers_, ids_;
  int64_t ranks_, rank_ = 0, steps_ = 0;
  bool failed_ = false;
  llvm::DenseMap<Value, Known> known_;
  Program events_;
};

// What comes to a word in the whole launch, and what is waited for there.
struct Traffic {
  int64_t sum = 0, most = 0;  // of signals that add, and of those that set
  int64_t wanted = 0;
  Operation *signal = nullptr, *wait = nullptr;
  bool adds = false;
};

std::string nameOf(const Word& word) {
  return "word " + std::to_string(std::get<2>(word)) + " of rank " + std::to_string(std::get<1>(word));
}

class Launch {
 public:
  explicit Launch(std::vector<Program> programs) : programs_(std::move(programs)) {
    for (const Program& program : programs_)
      for (const Event& event : program) count(event);
  }

  LogicalResult check() { return success(succeeded(checkSums()) && succeeded(checkOrder())); }

 private:
  void count(const Event& event) {
    Traffic& traffic = traffic_[event.word];
    if (event.waits) {
      if (event.value > traffic.wanted) traffic.wait = event.op;
      traffic.wanted = std::max(traffic.wanted, event.value);
      return;
    }
    traffic.signal = event.op;
    traffic.adds |= adds(event);
    if (adds(event))
      traffic.sum += event.value;
    else
      traffic.most = std::max(traffic.most, event.value);
  }

  static bool adds(const Event& event) { return cast<dist::NotifyOp>(event.op).getSignal() == dist::SignalKind::Add; }

  LogicalResult checkSums() {
    for (auto& [word, traffic] : traffic_) {
      if (!traffic.wait) continue;
      int64_t sum = traffic.sum + traffic.most;
      if (!traffic.signal) return traffic.wait->emitError() << "nobody signals what this waits for, " << nameOf(word);
      if (sum < traffic.wanted)
        return traffic.wait->emitError() << "this waits for " << traffic.wanted << " signals at " << nameOf(word)
                                         << ", to which all programs together send " << sum;
      if (traffic.adds && sum > traffic.wanted) {
        InFlightDiagnostic error = traffic.signal->emitError()
                                   << "all programs together send " << sum << " signals to " << nameOf(word)
                                   << ", of which " << traffic.wanted << " are waited for";
        error.attachNote(traffic.wait->getLoc()) << "it passes before all of them are there";
        return error;
      }
    }
    return success();
  }

  // Programs go on as far as they come; which one first does not matter, because words only grow.
  LogicalResult checkOrder() {
    std::vector<size_t> at(programs_.size(), 0);
    std::map<Word, int64_t> words;
    std::map<Word, std::vector<size_t>> blocked;
    std::deque<size_t> ready;
    for (size_t i = 0; i < programs_.size(); ++i) ready.push_back(i);
    while (!ready.empty()) {
      size_t i = ready.front();
      ready.pop_front();
      for (; at[i] < programs_[i].size(); ++at[i]) {
        const Event& event = programs_[i][at[i]];
        int64_t& now = words[event.word];
        if (event.waits && now < event.value) {
          blocked[event.word].push_back(i);
          break;
        }
        if (event.waits) continue;
        now = adds(event) ? now + event.value : std::max(now, event.value);
        auto others = blocked.extract(event.word);
        if (others) ready.insert(ready.end(), others.mapped().begin(), others.mapped().end());
      }
    }
    for (size_t i = 0; i < programs_.size(); ++i)
      if (at[i] < programs_[i].size()) return refuse(programs_[i][at[i]], at);
    return success();
  }

  LogicalResult refuse(const Event& wait, const std::vector<size_t>& at) {
    InFlightDiagnostic error = wait.op->emitError()
                               << "this never ends, because programs wait for each other: " << nameOf(wait.word);
    for (size_t i = 0; i < programs_.size(); ++i)
      for (size_t nth = at[i]; nth < programs_[i].size(); ++nth) {
        const Event& event = programs_[i][nth];
        if (event.waits || event.word != wait.word) continue;
        error.attachNote(event.op->getLoc()) << "the signal for it is here";
        error.attachNote(programs_[i][at[i]].op->getLoc())
            << "behind this wait, for " << nameOf(programs_[i][at[i]].word);
        return error;
      }
    return error;
  }

  std::vector<Program> programs_;
  std::map<Word, Traffic> traffic_;
};

// Other ops may write words that are waited for: then nothing can be said.
bool onlySignalsWrite(func::FuncOp kernel) {
  llvm::DenseSet<BlockArgument> words;
  kernel.walk([&](dist::WaitOp wait) { words.insert(argumentBehind(wait.getPointer())); });
  return !kernel
              .walk([&](Operation* op) {
                std::optional<tile::Concurrency> does = tile::concurrencyOf(op);
                bool writes =
                    does && !isa<dist::NotifyOp>(op) &&
                    llvm::any_of(does->accesses, [&](const tile::MemoryAccess& access) {
                      return access.writes && access.address && words.contains(argumentBehind(access.address));
                    });
                return writes ? WalkResult::interrupt() : WalkResult::advance();
              })
              .wasInterrupted();
}

struct CheckSignals : impl::CheckSignalsBase<CheckSignals> {
  using Base::Base;
  void runOnOperation() override {
    markAllAnalysesPreserved();
    func::FuncOp kernel = getOperation();
    Relevant relevant(kernel);
    for (BlockArgument argument : kernel.getArguments())
      if (relevant.contains(argument)) dist::setDecidesSignals(argument);
    if (!onlySignalsWrite(kernel)) return;
    SmallVector<int64_t> sizes(grid.begin(), grid.end()), given(numbers.begin(), numbers.end());
    sizes.resize(3, 1);
    given.resize(kernel.getNumArguments(), 0);
    Walk walk(kernel, relevant, sizes, given, ranks);
    std::vector<Program> programs;
    try {
      for (int64_t rank = 0; rank < ranks; ++rank)
        for (int64_t i = 0; i < sizes[0] * sizes[1] * sizes[2]; ++i) {
          FailureOr<Program> program =
              walk.program(rank, {i % sizes[0], i / sizes[0] % sizes[1], i / sizes[0] / sizes[1]});
          if (failed(program)) return signalPassFailure();
          programs.push_back(std::move(*program));
        }
    } catch (const Unknown&) {
      return;
    }
    if (failed(Launch(std::move(programs)).check())) signalPassFailure();
  }
};

}  // namespace
}  // namespace tandem::transform::gpu
