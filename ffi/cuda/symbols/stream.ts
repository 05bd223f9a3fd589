/**
 * Rows of the table: streams, capture of what is enqueued on them, events.
 *
 * @module
 */

/** Functions of streams and events. */
export const STREAM = {
  // CUresult cuStreamCreateWithPriority(CUstream* phStream, unsigned int flags, int priority)
  cuStreamCreateWithPriority: { parameters: ["buffer", "u32", "i32"], result: "i32" },
  // CUresult cuStreamDestroy_v2(CUstream hStream)
  cuStreamDestroy_v2: { parameters: ["u64"], result: "i32" },
  // CUresult cuStreamGetPriority(CUstream hStream, int* priority)
  cuStreamGetPriority: { parameters: ["u64", "buffer"], result: "i32" },
  // CUresult cuStreamQuery(CUstream hStream)
  cuStreamQuery: { parameters: ["u64"], result: "i32" },
  // CUresult cuStreamSynchronize(CUstream hStream)
  cuStreamSynchronize: { parameters: ["u64"], result: "i32" },
  // CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags)
  cuStreamWaitEvent: { parameters: ["u64", "u64", "u32"], result: "i32" },

  // CUresult cuStreamBeginCapture_v2(CUstream hStream, CUstreamCaptureMode mode)
  cuStreamBeginCapture_v2: { parameters: ["u64", "i32"], result: "i32" },
  // CUresult cuStreamEndCapture(CUstream hStream, CUgraph* phGraph)
  cuStreamEndCapture: { parameters: ["u64", "buffer"], result: "i32" },
  // CUresult cuStreamIsCapturing(CUstream hStream, CUstreamCaptureStatus* captureStatus)
  // Only tests ask; a stream here knows by itself.
  cuStreamIsCapturing: { parameters: ["u64", "buffer"], result: "i32" },

  // CUresult cuEventCreate(CUevent* phEvent, unsigned int Flags)
  cuEventCreate: { parameters: ["buffer", "u32"], result: "i32" },
  // CUresult cuEventDestroy_v2(CUevent hEvent)
  cuEventDestroy_v2: { parameters: ["u64"], result: "i32" },
  // CUresult cuEventRecord(CUevent hEvent, CUstream hStream)
  cuEventRecord: { parameters: ["u64", "u64"], result: "i32" },
  // CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags)
  cuEventRecordWithFlags: { parameters: ["u64", "u64", "u32"], result: "i32" },
  // CUresult cuEventQuery(CUevent hEvent)
  cuEventQuery: { parameters: ["u64"], result: "i32" },
  // CUresult cuEventSynchronize(CUevent hEvent)
  cuEventSynchronize: { parameters: ["u64"], result: "i32" },
  // CUresult cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd)
  cuEventElapsedTime: { parameters: ["buffer", "u64", "u64"], result: "i32" },
} as const;
