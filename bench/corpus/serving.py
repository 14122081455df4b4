"""conch-triton-kernels and sglang: what a server of language models calls: paged attention, experts, caches, sampling."""

import importlib

import torch
import torch.nn.functional as F
from case import case

HEADS, GROUPS, SIZE, PAGE = 32, 8, 128, 16


def conch(module, name):
    return getattr(importlib.import_module(f"conch.ops.{module}"), name)


def sglang(module, name):
    return getattr(importlib.import_module(f"sglang.kernels.ops.{module}"), name)


def tokens(make, width):
    return make(make.pick(64, 8192), width)


def rms(x, w, eps=1e-6):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w


@case("conch", "silu_and_mul", inputs=lambda m: (tokens(m, 22016),), reference=lambda x: F.silu(x.chunk(2, -1)[0]) * x.chunk(2, -1)[1])
def silu_and_mul(x):
    return conch("activation.silu_and_mul", "silu_and_mul")(x)


@case(
    "conch",
    "gelu_tanh_and_mul",
    inputs=lambda m: (m(m.pick(64, 8192), 22016, dtype=torch.float32),),
    reference=lambda x: F.gelu(x.chunk(2, -1)[0], approximate="tanh") * x.chunk(2, -1)[1],
)
def gelu_tanh_and_mul(x):
    return conch("activation.gelu_tanh_and_mul", "gelu_tanh_and_mul")(x)


@case("conch", "rms_norm", inputs=lambda m: (tokens(m, 4096), m(4096)), reference=rms)
def rms_norm(x, w):
    return conch("normalization.rms_norm", "rms_norm")(x, w, 1e-6)


@case("conch", "gemma_rms_norm", inputs=lambda m: (tokens(m, 4096), m(4096)), reference=lambda x, w: rms(x, 1 + w))
def gemma_rms_norm(x, w):
    return conch("normalization.gemma_rms_norm", "gemma_rms_norm")(x.clone(), w, 1e-6)


def pages(make, batch, length):
    """A cache of keys and values in shuffled pages: (keys, values, table of pages, lengths)."""
    count = -(-length // PAGE)
    table = make.permutation(batch * count).view(batch, count).to(torch.int32)
    shape = (batch * count, PAGE, GROUPS, SIZE)
    return make(*shape), make(*shape), table, torch.full((batch,), length, dtype=torch.int32, device="cuda")


def gathered(cache, table, length):
    return cache[table.long()].flatten(1, 2)[:, :length].repeat_interleave(HEADS // GROUPS, 2)


def paged_reference(q, keys, values, table, lengths):
    length = int(lengths[0])
    k, v = gathered(keys, table, length), gathered(values, table, length)
    scores = torch.einsum("bhd,bkhd->bhk", q, k) * SIZE**-0.5
    return torch.einsum("bhk,bkhd->bhd", scores.softmax(-1), v)


def paged_inputs(m):
    batch = m.pick(2, 32)
    return m(batch, HEADS, SIZE), *pages(m, batch, m.pick(200, 4000))


@case("conch", "paged_attention", inputs=paged_inputs, reference=paged_reference)
def paged_attention(q, keys, values, table, lengths):
    return conch("attention.paged_attention", "paged_attention")(q, keys, values, table, lengths)


def varlen_inputs(m):
    batch, length = m.pick(2, 4), m.pick(96, 2048)
    starts = torch.arange(0, (batch + 1) * length, length, dtype=torch.int32, device="cuda")
    return m(batch * length, HEADS, SIZE), *pages(m, batch, length), starts


def varlen_reference(q, keys, values, table, lengths, starts):
    length = int(lengths[0])
    k, v = gathered(keys, table, length), gathered(values, table, length)
    scores = torch.einsum("bqhd,bkhd->bhqk", q.unflatten(0, (-1, length)), k) * SIZE**-0.5
    hidden = torch.ones(length, length, dtype=torch.bool, device="cuda").triu(1)
    return torch.einsum("bhqk,bkhd->bqhd", scores.masked_fill(hidden, -torch.inf).softmax(-1), v).flatten(0, 1)


@case("conch", "varlen_attention", inputs=varlen_inputs, reference=varlen_reference)
def varlen_attention(q, keys, values, table, lengths, starts):
    length = q.shape[0] // lengths.shape[0]
    return conch("attention.varlen_attention", "varlen_attention")(q, keys, values, starts, length, lengths, length, table, causal=True)


def rotary_inputs(m):
    angle = torch.arange(8192, device="cuda")[:, None] / 10000 ** (torch.arange(0, 64, device="cuda") / 64)
    count = m.pick(64, 8192)
    cache = torch.cat((angle.cos(), angle.sin()), -1).bfloat16()
    return m.integers(count, below=8192), m(count, HEADS * SIZE), m(count, GROUPS * SIZE), cache


def rotary_reference(positions, q, k, cache):
    cos, sin = cache[positions][:, None].chunk(2, -1)
    turned = []
    for x in (q, k):
        a, b = x.unflatten(-1, (-1, SIZE)).chunk(2, -1)
        turned.append(torch.cat((a * cos - b * sin, b * cos + a * sin), -1).flatten(1))
    return turned


@case("conch", "rotary_embedding", inputs=rotary_inputs, reference=rotary_reference)
def rotary_embedding(positions, q, k, cache):
    return conch("embedding.rotary_embedding", "rotary_embedding")(positions, q.clone(), k.clone(), SIZE, cache)


def cache_inputs(m):
    count = m.pick(64, 8192)
    return m(count, GROUPS, SIZE), m(count, GROUPS, SIZE), m.permutation(2 * count)[:count]


def cache_reference(key, value, slots):
    def filled(x):
        cache = x.new_zeros(2 * x.shape[0], GROUPS, SIZE)
        cache[slots] = x
        return cache.view(-1, PAGE, GROUPS, SIZE)

    return filled(key), filled(value)


@case("conch", "reshape_and_cache", inputs=cache_inputs, reference=cache_reference, tolerance=0.0)
def reshape_and_cache(key, value, slots):
    keys, values = (torch.zeros(2 * key.shape[0] // PAGE, PAGE, GROUPS, SIZE, dtype=key.dtype, device="cuda") for _ in range(2))
    conch("vllm.reshape_and_cache", "reshape_and_cache")(key, value, keys, values, slots)
    return keys, values


def nms_inputs(m):
    corner = m.uniform(m.pick(256, 4096), 2, high=400.0, dtype=torch.float32)
    size = m.uniform(*corner.shape, low=1.0, high=90.0, dtype=torch.float32)
    return torch.cat((corner, corner + size), 1), m.permutation(len(corner)).float()


def nms_reference(boxes, scores):
    kept = []
    order = scores.argsort(descending=True)
    low, high = torch.maximum(boxes[:, None, :2], boxes[None, :, :2]), torch.minimum(boxes[:, None, 2:], boxes[None, :, 2:])
    shared = (high - low).clamp(min=0).prod(-1)
    area = (boxes[:, 2:] - boxes[:, :2]).prod(-1)
    above = (shared / (area[:, None] + area[None] - shared) > 0.5).cpu()
    gone = torch.zeros(len(boxes), dtype=torch.bool)
    for i in order.tolist():
        if not gone[i]:
            kept.append(i)
            gone |= above[i]
    return torch.tensor(kept, device="cuda")


@case("conch", "nms", inputs=nms_inputs, reference=nms_reference, tolerance=0.0)
def nms(boxes, scores):
    return conch("vision.nms", "nms")(boxes, scores, 0.5)


def decode_inputs(heads, groups, size, value_size):
    def inputs(m):
        batch, length = m.pick(2, 32), m.pick(200, 4096)
        slots = m.permutation(batch * length).to(torch.int32)
        starts = torch.arange(0, (batch + 1) * length, length, dtype=torch.int32, device="cuda")
        keys = m(batch * length, groups, size)
        values = keys[..., :value_size] if size != value_size else m(batch * length, groups, value_size)
        return m(batch, heads, size), keys, values, starts, slots

    return inputs


def decode_reference(q, keys, values, starts, slots):
    batch, repeat = q.shape[0], q.shape[1] // keys.shape[1]
    k, v = (x[slots.long()].unflatten(0, (batch, -1)).repeat_interleave(repeat, 2) for x in (keys, values))
    scores = torch.einsum("bhd,bkhd->bhk", q, k) * q.shape[-1] ** -0.5
    return torch.einsum("bhk,bkhd->bhd", scores.softmax(-1), v)


def decode(q, keys, values, starts, slots):
    batch, heads, splits = q.shape[0], q.shape[1], 8
    out = torch.empty(batch, heads, values.shape[-1], dtype=q.dtype, device="cuda")
    partial = torch.empty(batch, heads, splits, values.shape[-1], device="cuda")
    sums = torch.empty(batch, heads, splits, device="cuda")
    counts = torch.full((batch,), splits, dtype=torch.int32, device="cuda")
    sglang("attention.decode_attention", "decode_attention_fwd")(
        q, keys, values, out, starts, slots, partial, sums, counts, splits, q.shape[-1] ** -0.5, 1.0, 1.0
    )
    return out


case("sglang", "decode_attention_mha", inputs=decode_inputs(32, 32, 128, 128), reference=decode_reference)(decode)
case("sglang", "decode_attention_gqa", inputs=decode_inputs(32, 8, 128, 128), reference=decode_reference)(decode)
case("sglang", "decode_attention_mla", inputs=decode_inputs(128, 1, 576, 512), reference=decode_reference)(decode)


def extend_inputs(m):
    batch, before, new = m.pick(2, 8), m.pick(96, 1024), m.pick(64, 512)
    starts = torch.arange(batch + 1, dtype=torch.int32, device="cuda")
    return (
        m(batch * new, HEADS, SIZE),
        m(batch * new, GROUPS, SIZE),
        m(batch * new, GROUPS, SIZE),
        m(batch * before, GROUPS, SIZE),
        m(batch * before, GROUPS, SIZE),
        starts * new,
        starts * before,
        m.permutation(batch * before).to(torch.int32),
    )


def extend_reference(q, k, v, keys, values, new_starts, old_starts, slots):
    batch = new_starts.shape[0] - 1
    split = lambda x: x.unflatten(0, (batch, -1))
    k = torch.cat((split(keys[slots.long()]), split(k)), 1).repeat_interleave(HEADS // GROUPS, 2)
    v = torch.cat((split(values[slots.long()]), split(v)), 1).repeat_interleave(HEADS // GROUPS, 2)
    scores = torch.einsum("bqhd,bkhd->bhqk", split(q), k) * SIZE**-0.5
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device="cuda").triu(1 + scores.shape[-1] - scores.shape[-2])
    return torch.einsum("bhqk,bkhd->bqhd", scores.masked_fill(hidden, -torch.inf).softmax(-1), v).flatten(0, 1)


@case("sglang", "extend_attention", inputs=extend_inputs, reference=extend_reference)
def extend_attention(q, k, v, keys, values, new_starts, old_starts, slots):
    out = torch.empty_like(q)
    longest = q.shape[0] // (new_starts.shape[0] - 1)
    sglang("attention.extend_attention", "extend_attention_fwd")(
        q, k, v, out, keys, values, new_starts, old_starts, slots, None, True, None, longest, 1.0, 1.0
    )
    return out


def prefill_inputs(m):
    batch, length = m.pick(2, 4), m.pick(96, 2048)
    starts = torch.arange(0, batch * length, length, dtype=torch.int32, device="cuda")
    return (
        m(batch * length, HEADS, SIZE),
        m(batch * length, GROUPS, SIZE),
        m(batch * length, GROUPS, SIZE),
        starts,
        torch.full_like(starts, length),
    )


def prefill_reference(q, k, v, starts, lengths):
    split = lambda x: x.unflatten(0, (starts.shape[0], -1))
    k, v = (split(x).repeat_interleave(HEADS // GROUPS, 2) for x in (k, v))
    scores = torch.einsum("bqhd,bkhd->bhqk", split(q), k) * SIZE**-0.5
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device="cuda").triu(1)
    return torch.einsum("bhqk,bkhd->bqhd", scores.masked_fill(hidden, -torch.inf).softmax(-1), v).flatten(0, 1)


@case("sglang", "prefill_attention", inputs=prefill_inputs, reference=prefill_reference)
def prefill_attention(q, k, v, starts, lengths):
    out = torch.empty_like(q)
    sglang("attention.prefill_attention", "context_attention_fwd")(q, k, v, out, starts, lengths, q.shape[0] // starts.shape[0])
    return out


def merge_inputs(m):
    shape = (m.pick(64, 4096), HEADS, SIZE)
    sums = m(*shape[:2], dtype=torch.float32), m(*shape[:2], dtype=torch.float32)
    return m(*shape), sums[0], m(*shape), sums[1]


def merge_reference(a, x, b, y):
    both = torch.logaddexp(x, y)
    return a * (x - both).exp()[..., None] + b * (y - both).exp()[..., None], both


@case("sglang", "merge_state", inputs=merge_inputs, reference=merge_reference)
def merge_state(a, x, b, y):
    return sglang("attention.merge_state", "merge_state_triton")(a, x, b, y, output_lse=torch.empty_like(x))


def state_inputs(m):
    batch, heads, width, states, groups = m.pick(2, 64), 64, 64, 128, 8
    one = lambda *shape: m(*shape, dtype=torch.float32)
    return (
        one(batch, heads, width, states),
        m(batch, heads, width),
        m(batch, heads)[..., None].expand(-1, -1, width),
        -m.uniform(heads, low=0.5, high=2.0, dtype=torch.float32)[:, None, None].expand(-1, width, states),
        m(batch, groups, states),
        m(batch, groups, states),
        one(heads)[:, None].expand(-1, width),
    )


def state_reference(state, x, dt, a, b, c, d):
    dt = F.softplus(dt)
    repeat = state.shape[1] // b.shape[1]
    b, c = (y.repeat_interleave(repeat, 1) for y in (b, c))
    state = state * (dt[..., None] * a).exp() + (dt * x)[..., None] * b[:, :, None]
    return torch.einsum("bhwn,bhn->bhw", state, c) + x * d


@case("sglang", "selective_state_update", inputs=state_inputs, reference=state_reference)
def selective_state_update(state, x, dt, a, b, c, d):
    out = torch.empty_like(x)
    sglang("mamba.triton_ops.mamba_ssm", "selective_state_update")(state.clone(), x, dt, a, b, c, d, None, None, True, out=out)
    return out
