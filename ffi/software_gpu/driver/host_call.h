/// Functions of the caller that a stream calls in its turn.
#pragma once

#include "stream.h"

namespace sgpu {

class HostCall : public Operation {
 public:
  HostCall(CUhostFn function, void* data) : function(function), data(data) {}
  void execute(Stream&) const override { function(data); }
  CUgraphNodeType type() const override { return CU_GRAPH_NODE_TYPE_HOST; }

  const CUhostFn function;
  void* const data;
};

/// The older form, which is told the stream. It is no node.
class StreamCallback : public Operation {
 public:
  StreamCallback(CUstreamCallback function, CUstream stream, void* data)
      : function_(function), stream_(stream), data_(data) {}
  void execute(Stream&) const override { function_(stream_, CUDA_SUCCESS, data_); }
  CUgraphNodeType type() const override { return CU_GRAPH_NODE_TYPE_HOST; }

 private:
  const CUstreamCallback function_;
  const CUstream stream_;
  void* const data_;
};

}  // namespace sgpu
