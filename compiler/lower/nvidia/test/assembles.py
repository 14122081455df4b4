# ptxas takes what is emitted, for the oldest and the newest target.
# REQUIRES: ptxas
# RUN: tandemc %S/reduce.py:total --emit=cubin -o %t --target sm_80 --signature '*fp32, *fp32'
# RUN: tandemc %S/reduce.py:whole --emit=cubin -o %t --target sm_90a --signature '*i32, *i32'
# RUN: tandemc %S/reduce.py:first_largest --emit=cubin -o %t --target sm_80 --signature '*bf16, *i32'
# RUN: tandemc %S/scan.py:reversed --emit=cubin -o %t --target sm_80 --signature '*i64, *i64'
# RUN: tandemc %S/scan.py:recurrence --emit=cubin -o %t --target sm_90a --signature '*fp64, *fp64, *fp64'
# RUN: tandemc %S/dot.py:product --emit=cubin -o %t --target sm_80 --signature '*fp32, *fp32, *fp32' --constexpr 'N=64, K=64'
# RUN: tandemc %S/dot.py:product --emit=cubin -o %t --target sm_90a --signature '*fp8e5, *fp8e5, *fp32' --constexpr 'N=32, K=64'
# RUN: tandemc %S/dot.py:exact --emit=cubin -o %t --target sm_80 --signature '*fp32, *fp32, *fp32'
# RUN: tandemc %S/dot_scaled.py:fp4 --emit=cubin -o %t --target sm_90a --signature '*u8, *u8, *u8, *u8, *fp32'
# RUN: tandemc %S/gather.py:rows --emit=cubin -o %t --target sm_90a --signature '*fp16, *i32, *fp16'
# RUN: tandemc %S/gather.py:counts --emit=cubin -o %t --target sm_80 --signature '*i32, *i32'
# RUN: tandemc %S/simt.py:publish --emit=cubin -o %t --target sm_80 --signature '*i32, *i32'
# RUN: tandemc %S/simt.py:mirrored --emit=cubin -o %t --target sm_90a --signature '*bf16, *i32'
# RUN: tandemc %S/simt.py:everybody --emit=cubin -o %t --target sm_80 --signature '*i32'
# RUN: tandemc %S/dist.py:put --emit=cubin -o %t --target sm_80 --signature '*fp32, *fp32, *i64, i64'
# RUN: tandemc %S/dist.py:meet --emit=cubin -o %t --target sm_90a --signature '*fp32'
# RUN: tandemc %S/clusters.py:ticket --emit=cubin -o %t --num-ctas 2 --signature '*i32, *i32'
# RUN: tandemc %S/clusters.py:finish --emit=cubin -o %t --num-ctas 4 --signature '*fp32, *i32'
# RUN: tandemc %S/clusters.py:product --emit=cubin -o %t --num-warps 8 --num-ctas 2 \
# RUN:   --signature '*bf16:16, *bf16:16, *bf16:16, i32:16, i32:16'
# Copies ahead of their loops:
# RUN: tandemc %S/../../../transform/nvidia/test/pipeline_loads.py:product --emit=cubin -o %t --target sm_80 --num-warps 8 --num-stages 4 \
# RUN:   --signature '*fp16:16, *fp16:16, *fp32:16, i32:16, i32:16, i32:16' --constexpr 'BM=128, BN=128, BK=32'
# RUN: tandemc %S/../../../transform/nvidia/test/pipeline_loads.py:chained --emit=cubin -o %t --target sm_89 --num-warps 8 \
# RUN:   --signature '*fp16:16, *fp16:16, *fp16:16, *fp32:16, i32:16'
# RUN: tandemc %S/../../../transform/nvidia/test/pipeline_loads.py:chased --emit=cubin -o %t --target sm_90a \
# RUN:   --signature '*fp32:16, *i32:16, *fp32:16, i32'
