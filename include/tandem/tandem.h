// Tandem's C++ API: compile Triton-syntax kernels and run them on simulated ranks or GPUs.
#pragma once
#include "tandem/error.h"
#include "tandem/kernel.h"
#include "tandem/team.h"
#include "tandem/tensor.h"
#include "tandem/version.h"
