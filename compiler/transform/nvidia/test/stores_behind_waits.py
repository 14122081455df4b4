# A product of rows that arrive: who waits for others publishes nothing, so its store goes by TMA. Not so where the words lie in the memory
# of the result, nor where a program tells others behind it.
# RUN: tandemc %s:arrived --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, *i64, i32:16, i32' \
# RUN:   --constexpr 'WORDS="own", TELLS=False' | FileCheck %s --check-prefix=BLOCK
# RUN: tandemc %s:arrived --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, *i64, i32:16, i32' \
# RUN:   --constexpr 'WORDS="in the result", TELLS=False' | FileCheck %s --check-prefix=STAYS
# RUN: tandemc %s:arrived --emit=gpu --num-warps 8 --signature '*bf16:16, *bf16:16, *bf16:16, *i64, i32:16, i32' \
# RUN:   --constexpr 'WORDS="own", TELLS=True' | FileCheck %s --check-prefix=STAYS
import tandem.dist as dl
import triton
import triton.language as tl


# BLOCK-NOT: tile.store
# BLOCK: tile.block_store
# BLOCK-NOT: tile.store
# STAYS-NOT: tile.block_store
# STAYS: tile.store
# STAYS-NOT: tile.block_store
@triton.jit
def arrived(a_ptr, b_ptr, c_ptr, words_ptr, K, chunk, WORDS: tl.constexpr, TELLS: tl.constexpr):
    words = words_ptr if WORDS == "own" else c_ptr.to(tl.pointer_type(tl.int64))
    a = dl.consume_token(a_ptr, dl.wait(words + chunk, 1, "sys", "acquire", waitValue=1))
    rows, columns, inner = tl.program_id(0) * 128 + tl.arange(0, 128), tl.arange(0, 256), tl.arange(0, 64)
    acc = tl.zeros((128, 256), tl.float32)
    for k in range(0, K, 64):
        left = tl.load(a + rows[:, None] * K + k + inner[None, :])
        acc = tl.dot(left, tl.load(b_ptr + (k + inner)[:, None] * 256 + columns[None, :]), acc)
    tl.store(c_ptr + rows[:, None] * 256 + columns[None, :], acc.to(tl.bfloat16))
    if TELLS:
        dl.notify(words + chunk, 0, signal=1, sig_op="add", comm_scope="intra_node")
