/**
 * Rows of the table: graphs and what is made of them to be launched.
 *
 * @module
 */

/** Functions of graphs. */
export const GRAPH = {
  // CUresult cuGraphDestroy(CUgraph hGraph)
  cuGraphDestroy: { parameters: ["u64"], result: "i32" },
  // CUresult cuGraphGetNodes(CUgraph hGraph, CUgraphNode* nodes, size_t* numNodes)
  cuGraphGetNodes: { parameters: ["u64", "buffer", "buffer"], result: "i32" },
  // CUresult cuGraphNodeGetType(CUgraphNode hNode, CUgraphNodeType* type)
  cuGraphNodeGetType: { parameters: ["u64", "buffer"], result: "i32" },
  // CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode hNode, CUDA_KERNEL_NODE_PARAMS* nodeParams)
  cuGraphKernelNodeGetParams_v2: { parameters: ["u64", "buffer"], result: "i32" },

  // CUresult cuGraphInstantiateWithFlags(CUgraphExec* phGraphExec, CUgraph hGraph,
  //     unsigned long long flags)
  cuGraphInstantiateWithFlags: { parameters: ["buffer", "u64", "u64"], result: "i32" },
  // CUresult cuGraphExecDestroy(CUgraphExec hGraphExec)
  cuGraphExecDestroy: { parameters: ["u64"], result: "i32" },
  // CUresult cuGraphUpload(CUgraphExec hGraphExec, CUstream hStream)
  cuGraphUpload: { parameters: ["u64", "u64"], result: "i32" },
  // CUresult cuGraphLaunch(CUgraphExec hGraphExec, CUstream hStream)
  cuGraphLaunch: { parameters: ["u64", "u64"], result: "i32" },
  // CUresult cuGraphExecUpdate_v2(CUgraphExec hGraphExec, CUgraph hGraph,
  //     CUgraphExecUpdateResultInfo* resultInfo)
  cuGraphExecUpdate_v2: { parameters: ["u64", "u64", "buffer"], result: "i32" },
  // CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
  //     const CUDA_KERNEL_NODE_PARAMS* nodeParams)
  cuGraphExecKernelNodeSetParams_v2: { parameters: ["u64", "u64", "buffer"], result: "i32" },
} as const;
