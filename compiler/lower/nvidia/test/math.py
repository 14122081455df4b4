# Math functions: the special function unit for what Triton approximates, libdevice for the rest, float32 for what is narrower.
# RUN: tandemc %s:approximate --emit=ptx --target sm_80 --signature '*fp32, *fp32' | FileCheck %s --check-prefix=APPROX
# RUN: tandemc %s:approximate --emit=ptx --target sm_89 --signature '*fp32, *fp32' | FileCheck %s --check-prefix=APPROX
# RUN: tandemc %s:approximate --emit=ptx --target sm_90a --signature '*fp32, *fp32' | FileCheck %s --check-prefix=APPROX
# RUN: tandemc %s:precise --emit=ptx --target sm_90a --signature '*fp32, *fp32' | FileCheck %s --check-prefix=PRECISE
# RUN: tandemc %s:library --emit=ptx --target sm_80 --signature '*fp32, *fp32' | FileCheck %s --check-prefix=LIBRARY
# RUN: tandemc %s:library --emit=ptx --target sm_90a --signature '*fp64, *fp64' | FileCheck %s --check-prefix=DOUBLE
# RUN: tandemc %s:rounding --emit=ptx --target sm_90a --signature '*fp32, *fp32' | FileCheck %s --check-prefix=ROUNDING
import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def approximate(x, o):
    i = tl.arange(0, 128)
    v = tl.load(x + i)
    # APPROX-DAG: mul{{.*}}.f32 {{.*}}, 0f3FB8AA3B
    # APPROX-DAG: ex2.approx.ftz.f32
    # APPROX-DAG: sqrt.approx.ftz.f32
    # APPROX-DAG: rsqrt.approx.ftz.f32
    # APPROX-DAG: div.full.f32
    # APPROX-NOT: sqrt.rn
    tl.store(o + i, tl.exp(v) + tl.exp2(v) + tl.sqrt(v) + tl.rsqrt(v) + 1.0 / v)


@triton.jit
def precise(x, o):
    i = tl.arange(0, 128)
    v = tl.load(x + i)
    # PRECISE-DAG: sqrt.rn.f32
    # PRECISE-DAG: div.rn.f32
    # PRECISE-NOT: .approx
    tl.store(o + i, tl.sqrt_rn(v) + tl.div_rn(v, v + 1.0))


@triton.jit
def library(x, o):
    i = tl.arange(0, 128)
    v = tl.load(x + i)
    # LIBRARY-NOT: call{{.*}}__nv_
    # LIBRARY: fma.rn{{.*}}f32
    # DOUBLE-NOT: call{{.*}}__nv_
    # DOUBLE: fma.rn.f64
    tl.store(o + i, tl.sin(v) + tl.log(v) + tl.erf(v) + libdevice.tanh(v) + libdevice.pow(v, v) + tl.exp(v))


@triton.jit
def rounding(x, o):
    i = tl.arange(0, 128)
    v = tl.load(x + i)
    # ROUNDING-DAG: cvt.rmi{{.*}}f32.f32
    # ROUNDING-DAG: cvt.rpi{{.*}}f32.f32
    # ROUNDING-DAG: cvt.rzi{{.*}}f32.f32
    # ROUNDING-DAG: abs.f32
    tl.store(o + i, tl.floor(v) + tl.ceil(v) + libdevice.trunc(v) + tl.abs(v) + tl.fma(v, v, v))
