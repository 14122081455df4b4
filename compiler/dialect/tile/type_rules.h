// Rules about types that verifiers of every dialect share: elements, shapes, masks, atomics. They report; they do not
// change.
#pragma once
#include "compiler/dialect/tile/tile.h"

namespace tandem::tile {

/// An error on `op` that starts with its name in backticks: "`tile.dot` ...".
mlir::InFlightDiagnostic fault(mlir::Operation* op);

/// The shape of a tile or a per-thread vector; empty for a scalar.
llvm::ArrayRef<int64_t> shapeOf(mlir::Type type);
/// True for a number or a pointer.
bool isScalar(mlir::Type type);
/// True when both are scalars, both tiles or both per-thread vectors, and their dimensions agree.
bool sameShape(mlir::Type a, mlir::Type b);
/// `shape`'s dimensions with elements of `element`; `element` itself when `shape` is a scalar.
mlir::Type withElement(mlir::Type shape, mlir::Type element);
/// A tile of `dimensions`, or the element itself when there are none.
mlir::Type tileOrScalar(llvm::ArrayRef<int64_t> dimensions, mlir::Type element);
/// The pointee of a pointer or of a tile of pointers.
mlir::Type pointeeOf(mlir::Type pointer);
/// "4x32", or "scalar" without dimensions.
std::string shapeText(llvm::ArrayRef<int64_t> shape);

llvm::LogicalResult verifyAxis(mlir::Operation* op, int32_t axis, int64_t rank);
/// `value` must have the type of `what` seen through `pointer`.
llvm::LogicalResult verifyPointed(mlir::Operation* op, mlir::Type pointer, mlir::Type value, llvm::StringRef what);
/// `mask`, when there is one, must be i1 of the shape of `like`.
llvm::LogicalResult verifyMask(mlir::Operation* op, mlir::Value mask, mlir::Type like);
/// Atomic updates work on 32- and 64-bit integers and floats; 16-bit floats can only be added (or, `block`, min and max
/// too).
llvm::LogicalResult verifyRmw(mlir::Operation* op, Rmw rmw, mlir::Type element, bool block = false);
/// Compare-and-swap works on 16-, 32- and 64-bit integers and floats.
llvm::LogicalResult verifyCas(mlir::Operation* op, mlir::Type element);
/// A signal is an i64 in memory.
llvm::LogicalResult verifySignal(mlir::Operation* op, mlir::Type pointer);

}  // namespace tandem::tile
