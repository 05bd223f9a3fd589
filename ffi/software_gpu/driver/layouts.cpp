/// The sizes and offsets of the binary interface, whichever header declared them.
#include <cstddef>

#include "api.h"

static_assert(sizeof(CUuuid) == 16);
static_assert(sizeof(CUresult) == 4);

static_assert(sizeof(CUctxCreateParams) == 24 && offsetof(CUctxCreateParams, cigParams) == 16);

static_assert(sizeof(CUmemLocation) == 8 && offsetof(CUmemLocation, id) == 4);
static_assert(sizeof(CUmemAllocationProp) == 32);
static_assert(offsetof(CUmemAllocationProp, location) == 8);
static_assert(offsetof(CUmemAllocationProp, allocFlags) == 24);
static_assert(sizeof(CUmemAccessDesc) == 12 && offsetof(CUmemAccessDesc, flags) == 8);

static_assert(sizeof(CUDA_MEMCPY2D) == 128 && offsetof(CUDA_MEMCPY2D, WidthInBytes) == 112);
static_assert(sizeof(CUDA_MEMCPY3D) == 200 && offsetof(CUDA_MEMCPY3D, WidthInBytes) == 176);
static_assert(offsetof(CUDA_MEMCPY3D, dstXInBytes) == 88);

static_assert(sizeof(CUDA_MEMSET_NODE_PARAMS) == 40);
static_assert(offsetof(CUDA_MEMSET_NODE_PARAMS, width) == 24);
static_assert(sizeof(CUDA_HOST_NODE_PARAMS) == 16);
static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS_v1) == 56);
static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS_v1, kernelParams) == 40);
static_assert(sizeof(CUDA_KERNEL_NODE_PARAMS) == 72);
static_assert(offsetof(CUDA_KERNEL_NODE_PARAMS, kern) == 56);

static_assert(sizeof(CUlaunchAttributeValue) == 64);
static_assert(sizeof(CUlaunchAttribute) == 72 && offsetof(CUlaunchAttribute, value) == 8);
static_assert(sizeof(CUlaunchConfig) == 56 && offsetof(CUlaunchConfig, hStream) == 32);
static_assert(offsetof(CUlaunchConfig, attrs) == 40);

static_assert(sizeof(CUgraphEdgeData) == 8);
static_assert(sizeof(CUDA_GRAPH_INSTANTIATE_PARAMS) == 32);
static_assert(offsetof(CUDA_GRAPH_INSTANTIATE_PARAMS, result_out) == 24);
static_assert(sizeof(CUgraphExecUpdateResultInfo) == 24);
