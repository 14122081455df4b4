// The handlers, one an op or a family of ops; prepare.cpp maps ops to them.
#pragma once
#include "interpreter/vm/prepared.h"

namespace tandem::interpreter {

// clang-format off
#define TANDEM_HANDLERS(X) \
  X(constant) X(copy) X(maskedCopy) X(splatOp) X(unaryOp) X(binaryOp) X(mulExtendedOp) X(selectOp) X(ternaryOp) \
  X(externOp) X(programId) X(numPrograms) X(makeRangeOp) X(reshapeOp) X(broadcastOp) X(permuteOp) X(joinOp) \
  X(splitOp) X(catOp) X(gatherOp) X(histogramOp) X(addPtr) X(load) X(store) X(blockLoad) X(blockStore) X(atomicRmw) \
  X(atomicCas) X(dotOp) X(dotScaledOp) X(reduceOp) X(scanOp) X(mapElementwise) X(jump) X(jumpBack) X(jumpSpin) X(branch) \
  X(forTest) X(loopBack) X(returnOp) X(ifBegin) X(ifElse) X(ifEnd) X(loopBegin) X(loopTest) X(loopEnd) X(rankOp) \
  X(numRanks) X(translateRank) X(symmAt) X(multicastAt) X(waitOp) X(consumeToken) X(notify) X(put) X(putSignal) \
  X(get) X(putValue) X(signalOp) X(signalWait) X(fence) X(quiet) X(barrier) X(broadcastmem) X(fcollect) X(tid) \
  X(ntid) X(special) X(threadBarrier) X(namedBarrier) X(warpBarrier) X(threadFence) X(ld) X(st) X(multimemSt) \
  X(multimemLdReduce) X(shuffle) X(ballot) X(elect) X(vectorOp) X(vectorExtract) X(vectorBitcast) X(deal) X(collect) X(smemAlloc) \
  X(smemRead) X(smemLoad) X(smemStore) X(smemIndex) X(smemPtr) X(smemAt) X(dynamicSmem) X(gridBarrier) \
  X(mbarrierInit) X(mbarrierArrive) X(mbarrierTryWait) X(mbarrierWait) X(mbarrierInvalidate) X(tmaLoad) X(tmaStore) \
  X(bulkLoad) X(bulkStore) X(bulkCommit) X(bulkWait) X(tensormapReplace) X(tensormapPublish) X(tensormapPrefetch) \
  X(proxyFence) X(printOp) X(assertOp) X(assumeOp) X(malformed)
// clang-format on

namespace handlers {
#define TANDEM_DECLARE(name) Step name(Machine&, Run&, const Prepared&);
TANDEM_HANDLERS(TANDEM_DECLARE)
#undef TANDEM_DECLARE
}  // namespace handlers

// A handler specialised for one-value registers, or null.
Handler scalarHandler(const PreparedProgram& program, const Instruction& i, const Prepared& p);

// Runs [begin, end) of a region to its end. Says false after a report.
bool runCode(Machine& m, Run& run, uint32_t begin, uint32_t end);

}  // namespace tandem::interpreter
