"""fla-core: linear attention and recurrent models, forward and backward, and the small kernels around them. The reference goes step by
step."""

import importlib

import torch
import torch.nn.functional as F
from case import case


def fla(module, name):
    return getattr(importlib.import_module(f"fla.{module}"), name)


def decays(make, *shape, grad=False):
    """Logarithms of decays close to one, in fp32."""
    return F.logsigmoid(make(*shape, dtype=torch.float32) + 4).detach().requires_grad_(grad)


def heads(make, batch=4, count=8, size=128, length=None):
    return batch if make.size == "time" else 1, length or make.pick(128, 4096), count if make.size == "time" else 2, size


def qkv(make, size=128, grad=True, **options):
    shape = heads(make, size=size, **options)
    q, k = (F.normalize(make(*shape), dim=-1).detach().requires_grad_(grad) for _ in range(2))
    return shape, q, k, make(*shape, grad=grad)


def step_by_step(q, k, v, decay=None, beta=None, scale=None):
    """o_t = S_t^T q_t for S_t = decay_t * S_{t-1} + k_t v_t^T. `decay` is a logarithm: a head's, or of each key channel. With `beta` the
    state first forgets what it holds under k_t (the delta rule)."""
    b, length, h, d = q.shape
    state = q.new_zeros(b, h, d, v.shape[-1])
    scale = d**-0.5 if scale is None else scale
    outs = []
    for t in range(length):
        if decay is not None:
            state = state * (decay[:, t].exp()[..., None] if decay.dim() == 4 else decay[:, t].exp()[..., None, None])
        value = v[:, t]
        if beta is not None:
            value = (value - torch.einsum("bhd,bhde->bhe", k[:, t], state)) * beta[:, t][..., None]
        state = state + torch.einsum("bhd,bhe->bhde", k[:, t], value)
        outs.append(torch.einsum("bhd,bhde->bhe", q[:, t] * scale, state))
    return torch.stack(outs, 1)


def plain(make):
    return qkv(make)[1:]


def with_head_decay(make):
    shape, q, k, v = qkv(make)
    return q, k, v, decays(make, *shape[:3], grad=True)


def with_channel_decay(make):
    shape, q, k, v = qkv(make)
    return q, k, v, decays(make, *shape, grad=True)


def delta(make):
    shape, q, k, v = qkv(make)
    return q, k, v, make.uniform(*shape[:3], low=0.1, high=0.9, grad=True)


def gated_delta(make):
    q, k, v, beta = delta(make)
    return q, k, v, decays(make, *q.shape[:3], grad=True), beta


def gated_delta_channels(make):
    q, k, v, beta = delta(make)
    return q, k, v, decays(make, *q.shape, grad=True), beta


@case("fla", "chunk_linear_attn", inputs=plain, reference=step_by_step, grad=True)
def chunk_linear_attn(q, k, v):
    return fla("ops.linear_attn", "chunk_linear_attn")(q, k, v, normalize=False)[0]


@case(
    "fla",
    "chunk_retention",
    inputs=plain,
    reference=lambda q, k, v: step_by_step(q, k, v, retention_decay(q).log().expand(q.shape[:3])),
    grad=True,
)
def chunk_retention(q, k, v):
    return fla("ops.retention", "chunk_retention")(q, k, v)[0]


def retention_decay(q):
    return 1 - 2.0 ** (-5 - torch.arange(q.shape[2], device=q.device, dtype=q.dtype))


# fla refuses this backward under Triton 3.6 on this GPU: its results would be wrong.
@case("fla", "chunk_simple_gla", inputs=lambda m: [x.detach() for x in with_head_decay(m)], reference=step_by_step)
def chunk_simple_gla(q, k, v, g):
    return fla("ops.simple_gla", "chunk_simple_gla")(q, k, v, g)[0]


@case("fla", "chunk_gla", inputs=with_channel_decay, reference=step_by_step, grad=True)
def chunk_gla(q, k, v, g):
    return fla("ops.gla", "chunk_gla")(q, k, v, g)[0]


@case("fla", "fused_recurrent_gla", inputs=with_channel_decay, reference=step_by_step, grad=True)
def fused_recurrent_gla(q, k, v, g):
    return fla("ops.gla", "fused_recurrent_gla")(q, k, v, g)[0]


@case("fla", "fused_recurrent_simple_gla", inputs=with_head_decay, reference=step_by_step, grad=True)
def fused_recurrent_simple_gla(q, k, v, g):
    return fla("ops.simple_gla", "fused_recurrent_simple_gla")(q, k, v, g)[0]


@case("fla", "chunk_delta_rule", inputs=delta, reference=lambda q, k, v, beta: step_by_step(q, k, v, None, beta), grad=True)
def chunk_delta_rule(q, k, v, beta):
    return fla("ops.delta_rule", "chunk_delta_rule")(q, k, v, beta)[0]


@case("fla", "fused_recurrent_delta_rule", inputs=delta, reference=lambda q, k, v, beta: step_by_step(q, k, v, None, beta), grad=True)
def fused_recurrent_delta_rule(q, k, v, beta):
    return fla("ops.delta_rule", "fused_recurrent_delta_rule")(q, k, v, beta)[0]


@case("fla", "chunk_gated_delta_rule", inputs=lambda m: [x.detach() for x in gated_delta(m)], reference=step_by_step)
def chunk_gated_delta_rule(q, k, v, g, beta):
    return fla("ops.gated_delta_rule", "chunk_gated_delta_rule")(q, k, v, g, beta)[0]


@case("fla", "fused_recurrent_gated_delta_rule", inputs=lambda m: [x.detach() for x in gated_delta(m)], reference=step_by_step)
def fused_recurrent_gated_delta_rule(q, k, v, g, beta):
    return fla("ops.gated_delta_rule", "fused_recurrent_gated_delta_rule")(q, k, v, g=g, beta=beta)[0]


@case("fla", "chunk_kda", inputs=gated_delta_channels, reference=step_by_step, grad=True)
def chunk_kda(q, k, v, g, beta):
    return fla("ops.kda", "chunk_kda")(q, k, v, g, beta)[0]


def hgrn_reference(x, g):
    state, outs = torch.zeros_like(x[:, 0]), []
    for t in range(x.shape[1]):
        state = g[:, t].exp() * state + x[:, t]
        outs.append(state)
    return torch.stack(outs, 1)


def hgrn_inputs(make):
    shape = (make.pick(1, 8), make.pick(128, 4096), 1024)
    return make(*shape, dtype=torch.float32, grad=True), decays(make, *shape, grad=True)


@case("fla", "chunk_hgrn", inputs=hgrn_inputs, reference=hgrn_reference, grad=True)
def chunk_hgrn(x, g):
    return fla("ops.hgrn", "chunk_hgrn")(x, g)[0]


@case("fla", "fused_recurrent_hgrn", inputs=hgrn_inputs, reference=hgrn_reference, grad=True, tolerance=1e-3)
def fused_recurrent_hgrn(x, g):
    return fla("ops.hgrn", "fused_recurrent_hgrn")(x, g)[0]


def causal(q, k, v, bias=None):
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) * q.shape[-1] ** -0.5
    scores = scores if bias is None else scores + bias
    hidden = torch.ones(scores.shape[-2:], device=q.device, dtype=torch.bool).triu(1)
    return torch.einsum("bhqk,bkhd->bqhd", scores.masked_fill(hidden, -torch.inf).softmax(-1), v)


@case("fla", "parallel_attn", inputs=plain, reference=causal, grad=True)
def parallel_attn(q, k, v):
    return fla("ops.attn", "parallel_attn")(q, k, v)


def forgetting_reference(q, k, v, g):
    sums = g.cumsum(1).transpose(1, 2)
    return causal(q, k, v, sums[..., :, None] - sums[..., None, :])


@case("fla", "parallel_forgetting_attn", inputs=with_head_decay, reference=forgetting_reference, grad=True)
def parallel_forgetting_attn(q, k, v, g):
    return fla("ops.forgetting_attn", "parallel_forgetting_attn")(q, k, v, g)


@case(
    "fla",
    "l2norm",
    inputs=lambda m: (m(m.pick(256, 65536), 128, grad=True),),
    grad=True,
    reference=lambda x: x * torch.rsqrt((x * x).sum(-1, keepdim=True) + 1e-6),
)
def l2norm(x):
    return fla("modules.norm.l2norm", "l2norm")(x)


@case(
    "fla",
    "layer_norm",
    inputs=lambda m: (m(m.pick(256, 8192), 2048, grad=True), m(2048, grad=True), m(2048, grad=True)),
    reference=lambda x, w, b: F.layer_norm(x, (2048,), w, b),
    grad=True,
)
def layer_norm(x, w, b):
    return fla("modules.norm.layernorm", "layer_norm")(x, w, b)


@case(
    "fla",
    "rms_norm_gated",
    inputs=lambda m: (m(m.pick(256, 65536), 128, grad=True), m(m.pick(256, 65536), 128, grad=True), m(128, grad=True)),
    reference=lambda x, g, w: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * w * F.silu(g),
    grad=True,
)
def rms_norm_gated(x, g, w):
    return fla("modules.norm.fused_norm_gate", "rms_norm_gated")(x, g, w, None, "swish")


def convolution(x, w):
    return F.silu(F.conv1d(x.transpose(1, 2), w[:, None], padding=3, groups=x.shape[-1])[..., : x.shape[1]].transpose(1, 2))


@case(
    "fla",
    "causal_conv1d",
    inputs=lambda m: (m(m.pick(1, 4), m.pick(128, 4096), 2048, grad=True), m(2048, 4, grad=True)),
    reference=convolution,
    grad=True,
)
def causal_conv1d(x, w):
    return fla("modules.causal_conv1d.ops", "causal_conv1d")(x, w, activation="silu")[0]


@case(
    "fla",
    "token_shift",
    inputs=lambda m: (m(m.pick(1, 8), m.pick(128, 4096), 2048, grad=True),),
    reference=lambda x: F.pad(x, (0, 0, 1, -1)) - x,
    grad=True,
)
def token_shift(x):
    return fla("modules.token_shift", "token_shift")(x)


@case(
    "fla",
    "chunk_local_cumsum",
    inputs=lambda m: (decays(m, *heads(m)),),
    tolerance=1e-5,
    reference=lambda g: g.unflatten(1, (-1, 64)).cumsum(2).flatten(1, 2),
)
def chunk_local_cumsum(g):
    return fla("ops.utils.cumsum", "chunk_local_cumsum")(g, 64)


@case("fla", "chunk_global_cumsum", inputs=lambda m: (decays(m, *heads(m)),), tolerance=1e-4, reference=lambda g: g.cumsum(1))
def chunk_global_cumsum(g):
    return fla("ops.utils.cumsum", "chunk_global_cumsum")(g)


@case("fla", "softmax", inputs=lambda m: (m(m.pick(64, 8192), 2048),), reference=lambda x: x.softmax(-1))
def softmax(x):
    return fla("ops.utils.softmax", "softmax_fwd")(x)


def rotary_inputs(m):
    angle = torch.arange(m.pick(128, 4096), device="cuda")[:, None] / 10000 ** (torch.arange(0, 64, device="cuda") / 64)
    return m(*heads(m, count=16), grad=True), angle.cos().bfloat16(), angle.sin().bfloat16()


def rotary_reference(x, cos, sin):
    a, b = x.chunk(2, -1)
    cos, sin = cos[:, None], sin[:, None]
    return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)


@case("fla", "rotary", inputs=rotary_inputs, reference=rotary_reference, grad=True)
def rotary(x, cos, sin):
    return fla("modules.rotary.ops", "rotary_embedding")(x, cos, sin)
