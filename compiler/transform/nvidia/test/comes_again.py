# A tile that all loops of a turn read has two slots, so that the next turn's comes while this one's is read: where there is
# room, and in programs that are alone on their multiprocessor.
# RUN: tandemc %s:turns --emit=gpu --num-warps 8 --num-stages 2 --signature '*bf16:16, *bf16:16, *fp32:16, i32:16, i32:16' \
# RUN:   --constexpr 'D=128, N_TILE=128' | FileCheck %s --check-prefix=TWO
# RUN: tandemc %s:turns --emit=gpu --num-warps 8 --num-stages 2 --signature '*bf16:16, *bf16:16, *fp32:16, i32:16, i32:16' \
# RUN:   --constexpr 'D=256, N_TILE=128' | FileCheck %s --check-prefix=ONE
# RUN: tandemc %s:turns --emit=gpu --num-warps 4 --num-stages 2 --signature '*bf16:16, *bf16:16, *fp32:16, i32:16, i32:16' \
# RUN:   --constexpr 'D=64, N_TILE=64, M_TILE=64' | FileCheck %s --check-prefix=BESIDE
import triton
import triton.language as tl


# TWO: tgpu.ring 2 bytes 32768
# TWO: tgpu.alloc 2 x !tile.smem<128x128xbf16>
# TWO: tgpu.ring 2 bytes 32768
# ONE: tgpu.ring 1 bytes 65536
# ONE: tgpu.ring 2 bytes 65536
# BESIDE: tgpu.ring 1 bytes 8192
@triton.jit
def turns(q_ptr, k_ptr, out_ptr, M, N, D: tl.constexpr, N_TILE: tl.constexpr, M_TILE: tl.constexpr = 128):
    q_desc = tl.make_tensor_descriptor(q_ptr, shape=[M, D], strides=[D, 1], block_shape=[M_TILE, D])
    k_desc = tl.make_tensor_descriptor(k_ptr, shape=[N, D], strides=[D, 1], block_shape=[N_TILE, D])
    for turn in range(tl.program_id(0), M // M_TILE, 132):
        q = q_desc.load([turn * M_TILE, 0])
        most = tl.zeros((M_TILE,), tl.float32)
        for n in range(0, N, N_TILE):
            most = tl.maximum(most, tl.max(tl.dot(q, k_desc.load([n, 0]).T), 1))
        tl.store(out_ptr + turn * M_TILE + tl.arange(0, M_TILE), most)
