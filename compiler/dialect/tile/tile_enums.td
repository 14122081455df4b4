// The enums of the dialect `tile`: one C++ enum each. The word stands in the text of an op.
#ifndef TANDEM_TILE_ENUMS
#define TANDEM_TILE_ENUMS
include "mlir/IR/EnumAttr.td"

class Tile_Enum<string cppName, string what, list<I32EnumAttrCase> cases> : I32EnumAttr<cppName, what, cases> {
  let cppNamespace = "::tandem::tile";
  let genSpecializedAttr = 0;
}
def Tile_Semantic : Tile_Enum<"Semantic", "memory order of an access", [
  I32EnumAttrCase<"Relaxed", 0, "relaxed">, I32EnumAttrCase<"Acquire", 1, "acquire">,
  I32EnumAttrCase<"Release", 2, "release">, I32EnumAttrCase<"AcqRel", 3, "acq_rel">, I32EnumAttrCase<"SeqCst", 4, "sc">]>;
def Tile_Scope : Tile_Enum<"Scope", "who must see the access", [
  I32EnumAttrCase<"Cta", 0, "cta">, I32EnumAttrCase<"Gpu", 1, "gpu">, I32EnumAttrCase<"Sys", 2, "sys">]>;
def Tile_Rmw : Tile_Enum<"Rmw", "atomic read-modify-write", [
  I32EnumAttrCase<"Add", 0, "add">, I32EnumAttrCase<"FAdd", 1, "fadd">, I32EnumAttrCase<"And", 2, "and">,
  I32EnumAttrCase<"Or", 3, "or">, I32EnumAttrCase<"Xor", 4, "xor">, I32EnumAttrCase<"Xchg", 5, "xchg">,
  I32EnumAttrCase<"Max", 6, "max">, I32EnumAttrCase<"Min", 7, "min">, I32EnumAttrCase<"UMax", 8, "umax">,
  I32EnumAttrCase<"UMin", 9, "umin">]>;
def Tile_Rounding : Tile_Enum<"Rounding", "rounding of a narrowing conversion", [
  I32EnumAttrCase<"Rtne", 0, "rtne">, I32EnumAttrCase<"Rtz", 1, "rtz">]>;
def Tile_Cache : Tile_Enum<"Cache", "cache operator", [
  I32EnumAttrCase<"None", 0, "none">, I32EnumAttrCase<"Ca", 1, "ca">, I32EnumAttrCase<"Cg", 2, "cg">,
  I32EnumAttrCase<"Cv", 3, "cv">, I32EnumAttrCase<"Wb", 4, "wb">, I32EnumAttrCase<"Cs", 5, "cs">, I32EnumAttrCase<"Wt", 6, "wt">]>;
def Tile_Evict : Tile_Enum<"Evict", "eviction priority", [
  I32EnumAttrCase<"Normal", 0, "normal">, I32EnumAttrCase<"First", 1, "evict_first">, I32EnumAttrCase<"Last", 2, "evict_last">]>;
def Tile_Precision : Tile_Enum<"Precision", "arithmetic of a float32 dot", [
  I32EnumAttrCase<"Tf32", 0, "tf32">, I32EnumAttrCase<"Tf32x3", 1, "tf32x3">, I32EnumAttrCase<"Ieee", 2, "ieee">,
  I32EnumAttrCase<"Bf16x3", 3, "bf16x3">, I32EnumAttrCase<"Bf16x6", 4, "bf16x6">]>;
def Tile_Padding : Tile_Enum<"Padding", "value read outside a block's tensor", [
  I32EnumAttrCase<"Zero", 0, "zero">, I32EnumAttrCase<"Nan", 1, "nan">]>;
def Tile_MicroScale : Tile_Enum<"MicroScale", "element format of a scaled dot operand", [
  I32EnumAttrCase<"E2M1", 0, "e2m1">, I32EnumAttrCase<"E4M3", 1, "e4m3">, I32EnumAttrCase<"E5M2", 2, "e5m2">,
  I32EnumAttrCase<"Bf16", 3, "bf16">, I32EnumAttrCase<"Fp16", 4, "fp16">]>;
#endif
