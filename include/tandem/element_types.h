/* The types of elements: a row each, X(name in tandem::DType, name in the frontend, name in memory, MLIR's type,
 * word of signatures, name in tl, name in NumPy (ml_dtypes) and PyTorch, bits, explicit bits of the mantissa, bias
 * of the exponent, which codes of a float are infinite or NaN (interpreter/kernels/narrow.h), DLPack's code). In memory
 * integers have no sign. The C++ enums of element types are made of these rows, in this order. */
#ifndef TANDEM_ELEMENT_TYPES_H
#define TANDEM_ELEMENT_TYPES_H

#define TANDEM_SIGNED_TYPES(X)                                              \
  X(Bool, Int1, I1, Integer, "i1", "int1", "bool", 1, 0, 0, None, 6)        \
  X(Int8, Int8, I8, Integer, "i8", "int8", "int8", 8, 0, 0, None, 0)        \
  X(Int16, Int16, I16, Integer, "i16", "int16", "int16", 16, 0, 0, None, 0) \
  X(Int32, Int32, I32, Integer, "i32", "int32", "int32", 32, 0, 0, None, 0) \
  X(Int64, Int64, I64, Integer, "i64", "int64", "int64", 64, 0, 0, None, 0)

#define TANDEM_UNSIGNED_TYPES(X)                                                \
  X(UInt8, UInt8, I8, Integer, "u8", "uint8", "uint8", 8, 0, 0, None, 1)        \
  X(UInt16, UInt16, I16, Integer, "u16", "uint16", "uint16", 16, 0, 0, None, 1) \
  X(UInt32, UInt32, I32, Integer, "u32", "uint32", "uint32", 32, 0, 0, None, 1) \
  X(UInt64, UInt64, I64, Integer, "u64", "uint64", "uint64", 64, 0, 0, None, 1)

#define TANDEM_FLOAT8_TYPES(X)                                                                              \
  X(Float8E4NV, Fp8E4NV, F8E4M3FN, Float8E4M3FN, "fp8e4nv", "float8e4nv", "float8_e4m3fn", 8, 3, 7, Fn, 10) \
  X(Float8E5, Fp8E5, F8E5M2, Float8E5M2, "fp8e5", "float8e5", "float8_e5m2", 8, 2, 15, Ieee, 12)

#define TANDEM_FLOAT16_TYPES(X)                                                     \
  X(Float16, Fp16, F16, Float16, "fp16", "float16", "float16", 16, 10, 15, Ieee, 2) \
  X(BFloat16, Bf16, BF16, BFloat16, "bf16", "bfloat16", "bfloat16", 16, 7, 127, Ieee, 4)

#define TANDEM_WIDE_FLOAT_TYPES(X)                                                   \
  X(Float32, Fp32, F32, Float32, "fp32", "float32", "float32", 32, 23, 127, Ieee, 2) \
  X(Float64, Fp64, F64, Float64, "fp64", "float64", "float64", 64, 52, 1023, Ieee, 2)

/* Of other vendors' chips: kernels convert them, and arrays of frameworks may hold them. */
#define TANDEM_FNUZ_TYPES(X)                                                                                  \
  X(None, Fp8E4B8, F8E4M3FNUZ, Float8E4M3FNUZ, "fp8e4b8", "float8e4b8", "float8_e4m3fnuz", 8, 3, 8, Fnuz, 11) \
  X(None, Fp8E5B16, F8E5M2FNUZ, Float8E5M2FNUZ, "fp8e5b16", "float8e5b16", "float8_e5m2fnuz", 8, 2, 16, Fnuz, 13)

#define TANDEM_FLOAT_TYPES(X) TANDEM_FLOAT8_TYPES(X) TANDEM_FLOAT16_TYPES(X) TANDEM_WIDE_FLOAT_TYPES(X)
/* Floats that the simulator computes with as 32-bit floats. */
#define TANDEM_NARROW_FLOAT_TYPES(X) TANDEM_FLOAT8_TYPES(X) TANDEM_FNUZ_TYPES(X) TANDEM_FLOAT16_TYPES(X)
/* The types of tandem::DType. */
#define TANDEM_ARRAY_TYPES(X) TANDEM_SIGNED_TYPES(X) TANDEM_UNSIGNED_TYPES(X) TANDEM_FLOAT_TYPES(X)
/* The types as memory holds them. */
#define TANDEM_MEMORY_TYPES(X) TANDEM_SIGNED_TYPES(X) TANDEM_FLOAT_TYPES(X) TANDEM_FNUZ_TYPES(X)
#define TANDEM_ELEMENT_TYPES(X) TANDEM_ARRAY_TYPES(X) TANDEM_FNUZ_TYPES(X)

#endif
