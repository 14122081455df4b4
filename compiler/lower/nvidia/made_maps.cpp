// A map begins as a template in shared memory, with what is known when the kernel is compiled. Where the kernel has made
// the descriptor of other values than before, the thread that starts its copies replaces these, writes the map to global
// memory, where the unit reads maps, and orders that before its copies.
//
// The place in global memory is the block's own while it runs. Each multiprocessor has a word of the module's memory,
// with a bit for each block that can be on it at once; a block takes a bit that is free, and that of another
// multiprocessor if all are taken. So launches beside each other share nothing, and nobody has to bring memory.
#include "compiler/lower/nvidia/made_maps.h"
#include "compiler/lower/nvidia/ring.h"
#include <llvm/IR/IntrinsicsNVPTX.h>

namespace tandem::lower::nvidia {
using namespace mlir;
namespace {

constexpr int64_t kMapBytes = 128, kNumberBytes = 8;
constexpr int kMultiprocessors = 192;  // words; more multiprocessors share them
constexpr int64_t kNothing = 1;        // no base address, for these are aligned
constexpr int64_t kOutside = -(int64_t(1) << 30);

const MadeMap& mapOf(KernelContext& cx, Operation* op) { return cx.madeMaps[cx.madeMapOf.lookup(op)]; }

// The values that a map has been made of follow it in shared memory: base, strides, sizes.
int64_t numbersOf(const MadeMap& map) { return map.shape.size() * 2; }
int64_t bytesOf(const MadeMap& map) { return kMapBytes + llvm::alignTo(numbersOf(map) * kNumberBytes, kMapBytes); }

llvm::Value* placeOf(KernelContext& cx, const MadeMap& map, llvm::Value* maker) {
  llvm::Value* offset = cx.b.CreateMul(maker, cx.b.getInt32(bytesOf(map)));
  return cx.sharedAddress(cx.b.CreateAdd(offset, cx.b.getInt32(map.shared)));
}

llvm::Value* numberAt(KernelContext& cx, llvm::Value* place, int64_t index) {
  return cx.b.CreateConstGEP1_64(cx.b.getInt8Ty(), place, kMapBytes + index * kNumberBytes);
}

int64_t mapsOfBlock(KernelContext& cx) {
  int64_t maps = 0;
  for (const MadeMap& map : cx.madeMaps) maps += map.makers;
  return maps;
}

// The most blocks of the kernel that a multiprocessor has at once, by their threads. A producer comes with a warpgroup.
int placesOfMultiprocessor(KernelContext& cx) {
  constexpr int kProducers = 128;
  bool haveProducer = llvm::any_of(cx.madeMaps, [](const MadeMap& map) { return !map.isStored; });
  return std::min(cx.target.blocksPerMultiprocessor(),
                  cx.target.threadsPerMultiprocessor() / (cx.numThreads() + (haveProducer ? kProducers : 0)));
}

//===- fields -------------------------------------------------------------------------------------------------------===//
void replace(KernelContext& cx, llvm::Value* place, const char* field, int ordinal, llvm::Value* value) {
  ptx::Call call(cx.b);
  std::string at = call.address(place), to = call.immediateOrIn(value);
  call.emit(std::string("tensormap.replace.tile.") + field + ".shared::cta.b1024.b" +
                std::to_string(value->getType()->getIntegerBitWidth()) + " " + at +
                (ordinal < 0 ? "" : ", " + std::to_string(ordinal)) + ", " + to + ";",
            ptx::Effect::Acts);
}

int elementWord(abi::TensorMapRecipe::Element element) {
  using E = abi::TensorMapRecipe::Element;
  switch (element) {
    case E::U8: return 0;
    case E::U16: return 1;
    case E::U32: return 2;
    case E::U64: return 4;
    case E::F16: return 6;
    case E::F32: return 7;
    case E::F64: return 9;
    case E::BF16: return 10;
  }
}

int bytesOfElement(abi::TensorMapRecipe::Element element) {
  using E = abi::TensorMapRecipe::Element;
  switch (element) {
    case E::U8: return 1;
    case E::U16:
    case E::F16:
    case E::BF16: return 2;
    case E::U32:
    case E::F32: return 4;
    case E::U64:
    case E::F64: return 8;
  }
}

int swizzleWord(int bytes) { return bytes == 128 ? 3 : bytes == 64 ? 2 : bytes == 32 ? 1 : 0; }

// All that does not change; the rest is zero.
void writeTemplate(KernelContext& cx, const MadeMap& map, llvm::Value* place) {
  auto word = [&](int64_t value) { return cx.b.getInt32(value); };
  llvm::Type* vector = llvm::FixedVectorType::get(cx.b.getInt32Ty(), 4);
  for (int64_t at = 0; at < kMapBytes; at += 16)
    cx.b.CreateAlignedStore(llvm::Constant::getNullValue(vector), cx.b.CreateConstGEP1_64(cx.b.getInt8Ty(), place, at),
                            llvm::Align(16));
  cx.b.CreateAlignedStore(cx.b.getInt64(kNothing), numberAt(cx, place, 0), llvm::Align(kNumberBytes));
  int rank = map.form.box.size();
  replace(cx, place, "rank", -1, word(rank - 1));
  for (int d = 0; d < rank; ++d) {
    replace(cx, place, "box_dim", d, word(map.form.box[rank - 1 - d]));
    replace(cx, place, "element_stride", d, word(1));
  }
  replace(cx, place, "elemtype", -1, word(elementWord(map.form.element)));
  replace(cx, place, "interleave_layout", -1, word(0));
  replace(cx, place, "swizzle_mode", -1, word(swizzleWord(map.form.swizzleBytes)));
  replace(cx, place, "fill_mode", -1, word(map.form.nanFill ? 1 : 0));
}

//===- places in global memory --------------------------------------------------------------------------------------===//
llvm::GlobalVariable* globalBytes(KernelContext& cx, const char* suffix, int64_t bytes) {
  std::string name = cx.image.name + suffix;
  if (auto* known = cx.module.getGlobalVariable(name, true)) return known;
  constexpr unsigned kGlobalSpace = 1;
  auto* type = llvm::ArrayType::get(cx.b.getInt8Ty(), bytes);
  auto* made = new llvm::GlobalVariable(cx.module, type, false, llvm::GlobalValue::InternalLinkage,
                                        llvm::Constant::getNullValue(type), name, nullptr,
                                        llvm::GlobalValue::NotThreadLocal, kGlobalSpace);
  made->setAlignment(llvm::Align(kMapBytes));
  return made;
}

// The words of bits that are taken.
llvm::Value* wordOf(KernelContext& cx, llvm::Value* multiprocessor) {
  llvm::GlobalVariable* words = globalBytes(cx, "_places", 4 * kMultiprocessors);
  return cx.b.CreateGEP(cx.b.getInt32Ty(), words, multiprocessor);
}

// Returns the number of a place that was free. The first try is for a multiprocessor's first place, without a look. What
// the block does there depends on the value, and so comes behind the exchange.
llvm::Value* takePlace(KernelContext& cx) {
  int places = placesOfMultiprocessor(cx);
  auto number = [&](int64_t value) { return cx.b.getInt32(value); };
  llvm::AllocaInst *at = cx.temporary(cx.b.getInt32Ty()), *wanted = cx.temporary(cx.b.getInt32Ty());
  cx.b.CreateStore(cx.b.CreateURem(ptx::special(cx.b, ptx::Special::Multiprocessor), number(kMultiprocessors)), at);
  cx.b.CreateStore(number(1), wanted);
  auto tryNext = [&]() -> llvm::Value* {
    llvm::Value* here = cx.b.CreateLoad(cx.b.getInt32Ty(), at);
    llvm::Value* bit = cx.b.CreateLoad(cx.b.getInt32Ty(), wanted);
    codegen::AtomicOptions relaxed;
    relaxed.order = codegen::Order::Relaxed;
    llvm::Value* taken =
        ptx::atomic(cx.b, codegen::AtomicOp::Or, codegen::AtomicType::B32, wordOf(cx, here), bit, relaxed);
    llvm::Value* isOurs = cx.b.CreateICmpEQ(cx.b.CreateAnd(taken, bit), number(0));
    llvm::Value* free = cx.b.CreateAnd(cx.b.CreateNot(taken), number(places == 32 ? -1 : (int64_t(1) << places) - 1));
    llvm::Value* isFull = cx.b.CreateICmpEQ(free, number(0));
    llvm::Value* next = cx.b.CreateAdd(here, number(1));
    next = cx.b.CreateSelect(cx.b.CreateICmpEQ(next, number(kMultiprocessors)), number(0), next);
    cx.b.CreateStore(cx.b.CreateSelect(isFull, next, here), at);
    cx.b.CreateStore(cx.b.CreateSelect(isFull, number(1), cx.b.CreateAnd(free, cx.b.CreateNeg(free))), wanted);
    llvm::Value* index = cx.b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, bit, cx.b.getFalse());
    llvm::Value* place = cx.b.CreateAdd(cx.b.CreateMul(here, number(places)), index);
    return cx.b.CreateSelect(isOurs, place, number(-1));
  };
  return cx.pollUntil(tryNext, [&](llvm::Value* place) { return cx.b.CreateICmpSGE(place, number(0)); });
}

void givePlace(KernelContext& cx, llvm::Value* place) {
  llvm::Value* places = cx.b.getInt32(placesOfMultiprocessor(cx));
  llvm::Value* bit = cx.b.CreateShl(cx.b.getInt32(1), cx.b.CreateURem(place, places));
  codegen::AtomicOptions release;
  release.order = codegen::Order::Release;
  ptx::reduceInto(cx.b, codegen::AtomicOp::And, codegen::AtomicType::B32, wordOf(cx, cx.b.CreateUDiv(place, places)),
                  {cx.b.CreateNot(bit)}, release);
}

llvm::Value* placeOfBlock(KernelContext& cx) {
  return cx.b.CreateAlignedLoad(cx.b.getInt32Ty(), cx.sharedAddress(cx.placeOfMaps), llvm::Align(4));
}

llvm::Value* globalMap(KernelContext& cx, const MadeMap& map, llvm::Value* maker) {
  int64_t maps = mapsOfBlock(cx), all = kMultiprocessors * placesOfMultiprocessor(cx) * maps * kMapBytes;
  llvm::Value* index = cx.b.CreateMul(placeOfBlock(cx), cx.b.getInt32(maps));
  index = cx.b.CreateAdd(index, cx.b.CreateAdd(maker, cx.b.getInt32(map.first)));
  return cx.b.CreateGEP(cx.b.getInt8Ty(), globalBytes(cx, "_maps", all),
                        cx.b.CreateMul(index, cx.b.getInt32(kMapBytes)));
}

// All threads of the block meet, the producer's too; the emitter's barrier is of one role's threads.
void meetInBlock(KernelContext& cx) {
  cx.b.CreateIntrinsic(cx.b.getVoidTy(), llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {cx.b.getInt32(0)});
}

//===- making -------------------------------------------------------------------------------------------------------===//
// A size, a stride or an index, in the 64 bits that maps have them in.
llvm::Value* wide(KernelContext& cx, mlir::Value number) {
  return cx.b.CreateSExt(cx.useScalar(number), cx.b.getInt64Ty());
}

// Base and strides in bytes, then sizes, outermost first.
Regs numbers(KernelContext& cx, const MadeMap& map) {
  Regs out{cx.toBits(cx.useScalar(map.base))};
  for (mlir::Value stride : ArrayRef(map.strides).drop_back())
    out.push_back(cx.b.CreateMul(wide(cx, stride), cx.b.getInt64(bytesOfElement(map.form.element))));
  for (mlir::Value size : map.shape) out.push_back(wide(cx, size));
  return out;
}

void replaceAll(KernelContext& cx, llvm::Value* place, const Regs& numbers) {
  int rank = numbers.size() / 2;
  replace(cx, place, "global_address", -1, numbers[0]);
  for (int d = 0; d + 1 < rank; ++d) replace(cx, place, "global_stride", d, numbers[rank - 1 - d]);
  for (int d = 0; d < rank; ++d) {
    llvm::Value* size = cx.b.CreateTrunc(numbers[2 * rank - 1 - d], cx.b.getInt32Ty());
    replace(cx, place, "global_dim", d, cx.b.CreateBinaryIntrinsic(llvm::Intrinsic::smax, size, cx.b.getInt32(1)));
  }
}

// Writes the map to global memory.
void writeOut(KernelContext& cx, llvm::Value* place, llvm::Value* map) {
  llvm::Type* vector = llvm::FixedVectorType::get(cx.b.getInt32Ty(), 4);
  for (int64_t at = 0; at < kMapBytes; at += 16) {
    auto part = [&](llvm::Value* of) { return cx.b.CreateConstGEP1_64(cx.b.getInt8Ty(), of, at); };
    llvm::Value* bytes = cx.b.CreateAlignedLoad(vector, part(place), llvm::Align(16));
    cx.b.CreateAlignedStore(bytes, part(map), llvm::Align(16));
  }
}

// The producer waits until what it has copied into slots has come.
void awaitFills(KernelContext& cx) {
  for (auto& [value, ring] : cx.rings) {
    if (ring.isGate || ring.isMailbox || ring.isCopied) continue;
    llvm::Value* next = cx.b.CreateLoad(cx.b.getInt32Ty(), ring.slot[kFill]);
    llvm::Value* parity = cx.b.CreateLoad(cx.b.getInt32Ty(), ring.parity[kFill]);
    for (int slot = 0; slot < ring.slots; ++slot) {
      // A slot was filled last in the round that is under way if `next` is behind it, else in the round before.
      llvm::Value* isNew = cx.b.CreateICmpUGT(next, cx.b.getInt32(slot));
      ptx::mbarrierWait(cx.b, cx.sharedAddress(ring.full + 8 * slot),
                        cx.b.CreateXor(parity, cx.b.CreateZExt(isNew, cx.b.getInt32Ty())));
    }
  }
}

}  // namespace

void addMadeMap(KernelContext& cx, Operation* op, MadeMap map) {
  // Numbers are often made wide where they are used, behind the place where they are known.
  for (auto* numbers : {&map.shape, &map.strides})
    for (mlir::Value& number : *numbers)
      if (auto extension = number.getDefiningOp<arith::ExtSIOp>()) number = extension.getIn();
  auto it = llvm::find_if(cx.madeMaps, [&](const MadeMap& known) {
    return known.base == map.base && known.shape == map.shape && known.strides == map.strides &&
           known.form.element == map.form.element && known.form.box == map.form.box &&
           known.form.swizzleBytes == map.form.swizzleBytes && known.form.nanFill == map.form.nanFill &&
           known.makers == map.makers && known.isStored == map.isStored;
  });
  cx.madeMapOf[op] = it - cx.madeMaps.begin();
  if (it == cx.madeMaps.end()) cx.madeMaps.push_back(std::move(map));
}

void placeMadeMaps(KernelContext& cx) {
  if (cx.madeMaps.empty()) return;
  int64_t first = 0;
  for (MadeMap& map : cx.madeMaps) {
    map.first = std::exchange(first, first + map.makers);
    map.shared = cx.allocateShared(bytesOf(map) * map.makers, kMapBytes);
  }
  cx.placeOfMaps = cx.allocateShared(4, 4);
}

// Two warps share the work.
void takeMadeMaps(KernelContext& cx) {
  if (cx.madeMaps.empty()) return;
  llvm::Value* thread = cx.threadId();
  cx.when(cx.b.CreateICmpEQ(thread, cx.b.getInt32(0)), [&] {
    for (const MadeMap& map : cx.madeMaps)
      for (unsigned maker = 0; maker < map.makers; ++maker)
        writeTemplate(cx, map, placeOf(cx, map, cx.b.getInt32(maker)));
  });
  cx.when(cx.b.CreateICmpEQ(thread, cx.b.getInt32(32)),
          [&] { cx.b.CreateAlignedStore(takePlace(cx), cx.sharedAddress(cx.placeOfMaps), llvm::Align(4)); });
  meetInBlock(cx);
}

// Loads are done: consumers have awaited them. The threads that store wait for their own stores. The producer may have
// made a map that nothing was loaded by.
void giveMadeMaps(KernelContext& cx) {
  if (cx.madeMaps.empty()) return;
  if (llvm::any_of(cx.madeMaps, [](const MadeMap& map) { return map.isStored; })) ptx::waitBulk(cx.b, 0, false);
  meetInBlock(cx);
  cx.when(cx.isFirstThread(), [&] { givePlace(cx, placeOfBlock(cx)); });
}

// Makes the maps of `ops`, unless they are of the same values already. One thread executes this, number `maker` of those
// that have maps of their own; `drain` waits until the copies that it has started are done.
static void makeMaps(KernelContext& cx, ArrayRef<Operation*> ops, llvm::Value* maker,
                     llvm::function_ref<void()> drain) {
  struct Making {
    llvm::Value *place, *map;
    Regs values;
  };
  llvm::SmallVector<Making, 2> all;
  llvm::SmallDenseSet<unsigned> seen;
  llvm::Value* isOther = cx.b.getFalse();
  for (Operation* op : ops) {
    if (!seen.insert(cx.madeMapOf.lookup(op)).second) continue;
    const MadeMap& map = mapOf(cx, op);
    Making& m = all.emplace_back(Making{placeOf(cx, map, maker), globalMap(cx, map, maker), numbers(cx, map)});
    for (auto [i, value] : llvm::enumerate(m.values)) {
      llvm::Value* made =
          cx.b.CreateAlignedLoad(cx.b.getInt64Ty(), numberAt(cx, m.place, i), llvm::Align(kNumberBytes));
      isOther = cx.b.CreateOr(isOther, cx.b.CreateICmpNE(made, value));
    }
  }
  cx.when(isOther, [&] {
    drain();
    for (const Making& m : all) {
      replaceAll(cx, m.place, m.values);
      for (auto [i, value] : llvm::enumerate(m.values))
        cx.b.CreateAlignedStore(value, numberAt(cx, m.place, i), llvm::Align(kNumberBytes));
      writeOut(cx, m.place, m.map);
    }
    ptx::fenceTensorMapRelease(cx.b);
    for (const Making& m : all) ptx::fenceTensorMapAcquire(cx.b, m.map);
  });
}

llvm::Value* madeMap(KernelContext& cx, Operation* op, llvm::Value* maker) {
  return cx.b.CreateAddrSpaceCast(globalMap(cx, mapOf(cx, op), maker), cx.b.getPtrTy());
}

llvm::Value* unlessEmpty(KernelContext& cx, Operation* op, llvm::Value* at) {
  llvm::Value* isEmpty = cx.b.getFalse();
  for (mlir::Value size : mapOf(cx, op).shape)
    isEmpty = cx.b.CreateOr(isEmpty, cx.b.CreateICmpSLT(wide(cx, size), cx.b.getInt64(1)));
  return cx.b.CreateSelect(isEmpty, cx.b.getInt32(kOutside), at);
}

// The first thread of each group of four warps makes the maps, because it starts the group's stores.
static void makeMapsOfStores(KernelContext& cx, ArrayRef<Operation*> stores) {
  llvm::Value* isLeader = cx.b.CreateICmpEQ(cx.b.CreateAnd(cx.threadId(), 127), cx.b.getInt32(0));
  cx.when(isLeader,
          [&] { makeMaps(cx, stores, cx.b.CreateLShr(cx.ownWarp(), 2), [&] { ptx::waitBulk(cx.b, 0, false); }); });
}

static bool isKnownBefore(scf::ForOp loop, const MadeMap& map) {
  auto isBefore = [&](mlir::Value v) {
    Operation* op = v.getDefiningOp();
    if (op && op->getBlock() == loop->getBlock()) return op->isBeforeInBlock(loop);
    return !loop->isAncestor(v.getParentBlock()->getParentOp());
  };
  return isBefore(map.base) && llvm::all_of(map.shape, isBefore) && llvm::all_of(map.strides, isBefore);
}

void makeMapsBefore(KernelContext& cx, scf::ForOp loop) {
  if (cx.madeMaps.empty()) return;
  llvm::SmallVector<Operation*> accesses;
  auto add = [&](Operation* op) {
    bool isNew = cx.madeMapOf.contains(op) && !cx.mapsOfLoads.contains(op) && !cx.storesWithMaps.contains(op);
    if (isNew && isKnownBefore(loop, mapOf(cx, op))) accesses.push_back(op);
  };
  if (cx.role == Role::Producer) {
    loop.walk([&](tgpu::TmaLoadOp load) { add(load); });
    if (accesses.empty()) return;
    llvm::Value* one = cx.b.getInt32(0);
    byOneProducer(cx, loop, [&] { makeMaps(cx, accesses, one, [&] { awaitFills(cx); }); });
    for (Operation* load : accesses) cx.mapsOfLoads[load] = madeMap(cx, load, one);
    return;
  }
  for (Operation* op = loop->getNextNode(); op; op = op->getNextNode())
    if (isa<tile::BlockStoreOp>(op)) add(op);
  if (accesses.empty()) return;
  makeMapsOfStores(cx, accesses);
  cx.storesWithMaps.insert_range(accesses);
}

void makeMapOfStore(KernelContext& cx, tile::BlockStoreOp store) {
  if (!cx.storesWithMaps.contains(store)) makeMapsOfStores(cx, store.getOperation());
}

llvm::Value* mapOfLoad(KernelContext& cx, tgpu::TmaLoadOp load) {
  if (llvm::Value* made = cx.mapsOfLoads.lookup(load)) return made;
  llvm::Value* one = cx.b.getInt32(0);
  makeMaps(cx, load.getOperation(), one, [&] { awaitFills(cx); });
  return madeMap(cx, load, one);
}

}  // namespace tandem::lower::nvidia
