/**
 * The slots of ONNX Runtime's function table that are called here, one row a function. The table
 * only ever grows at its end, so a slot keeps its index in every later release.
 *
 * Source: `struct OrtApi` in onnxruntime_c_api.h.
 *
 * @module
 */

/**
 * Version of the table to ask for: the lowest that has every row below. `AllocatorGetStats` came
 * last, with ONNX Runtime 1.23.
 */
export const API_VERSION = 23;

/** Slots of `OrtApiBase`, which `OrtGetApiBase()` returns. */
export const API_BASE = {
  // const OrtApi* GetApi(uint32_t version)
  GetApi: { index: 0, parameters: ["u32"], result: "pointer" },
  // const char* GetVersionString(void)
  GetVersionString: { index: 1, parameters: [], result: "pointer" },
} as const;

// OrtStatus* Run(OrtSession* session, const OrtRunOptions* options,
//     const char* const* input_names, const OrtValue* const* inputs, size_t input_count,
//     const char* const* output_names, size_t output_count, OrtValue** outputs)
const RUN = {
  index: 9,
  parameters: ["pointer", "pointer", "pointer", "pointer", "usize", "pointer", "usize", "pointer"],
  result: "pointer",
} as const;

/** Slots of `OrtApi`. Where the result is a pointer it is an `OrtStatus*`, null on success. */
export const API = {
  // OrtErrorCode GetErrorCode(const OrtStatus* status)
  GetErrorCode: { index: 1, parameters: ["pointer"], result: "i32" },
  // const char* GetErrorMessage(const OrtStatus* status)
  GetErrorMessage: { index: 2, parameters: ["pointer"], result: "pointer" },
  // void ReleaseStatus(OrtStatus* status)
  ReleaseStatus: { index: 93, parameters: ["pointer"], result: "void" },

  // OrtStatus* CreateThreadingOptions(OrtThreadingOptions** out)
  CreateThreadingOptions: { index: 121, parameters: ["buffer"], result: "pointer" },
  // OrtStatus* SetGlobalIntraOpNumThreads(OrtThreadingOptions* options, int threads)
  SetGlobalIntraOpNumThreads: { index: 147, parameters: ["pointer", "i32"], result: "pointer" },
  // OrtStatus* SetGlobalInterOpNumThreads(OrtThreadingOptions* options, int threads)
  SetGlobalInterOpNumThreads: { index: 148, parameters: ["pointer", "i32"], result: "pointer" },
  // OrtStatus* SetGlobalSpinControl(OrtThreadingOptions* options, int allow_spinning)
  SetGlobalSpinControl: { index: 149, parameters: ["pointer", "i32"], result: "pointer" },
  // void ReleaseThreadingOptions(OrtThreadingOptions* options)
  ReleaseThreadingOptions: { index: 122, parameters: ["pointer"], result: "void" },
  // OrtStatus* CreateEnvWithGlobalThreadPools(OrtLoggingLevel level, const char* log_id,
  //     const OrtThreadingOptions* options, OrtEnv** out)
  CreateEnvWithGlobalThreadPools: {
    index: 119,
    parameters: ["i32", "buffer", "pointer", "buffer"],
    result: "pointer",
  },
  // void ReleaseEnv(OrtEnv* env)
  ReleaseEnv: { index: 92, parameters: ["pointer"], result: "void" },

  // OrtStatus* CreateCpuMemoryInfo(OrtAllocatorType type, OrtMemType mem_type, OrtMemoryInfo** out)
  CreateCpuMemoryInfo: { index: 69, parameters: ["i32", "i32", "buffer"], result: "pointer" },
  // void ReleaseMemoryInfo(OrtMemoryInfo* info)
  ReleaseMemoryInfo: { index: 94, parameters: ["pointer"], result: "void" },
  // OrtStatus* CreateArenaCfgV2(const char* const* keys, const size_t* values, size_t count,
  //     OrtArenaCfg** out)
  CreateArenaCfgV2: {
    index: 164,
    parameters: ["buffer", "buffer", "usize", "buffer"],
    result: "pointer",
  },
  // void ReleaseArenaCfg(OrtArenaCfg* config)
  ReleaseArenaCfg: { index: 157, parameters: ["pointer"], result: "void" },
  // OrtStatus* CreateAndRegisterAllocator(OrtEnv* env, const OrtMemoryInfo* info,
  //     const OrtArenaCfg* config)
  CreateAndRegisterAllocator: {
    index: 144,
    parameters: ["pointer", "pointer", "pointer"],
    result: "pointer",
  },
  // OrtStatus* CreateAllocator(const OrtSession* session, const OrtMemoryInfo* info,
  //     OrtAllocator** out)
  CreateAllocator: { index: 131, parameters: ["pointer", "pointer", "buffer"], result: "pointer" },
  // void ReleaseAllocator(OrtAllocator* allocator)
  ReleaseAllocator: { index: 132, parameters: ["pointer"], result: "void" },
  // OrtStatus* GetAllocatorWithDefaultOptions(OrtAllocator** out): owned by the library
  GetAllocatorWithDefaultOptions: { index: 78, parameters: ["buffer"], result: "pointer" },
  // OrtStatus* AllocatorGetStats(const OrtAllocator* allocator, OrtKeyValuePairs** out)
  AllocatorGetStats: { index: 319, parameters: ["pointer", "buffer"], result: "pointer" },
  // const char* GetKeyValue(const OrtKeyValuePairs* pairs, const char* key)
  GetKeyValue: { index: 297, parameters: ["pointer", "buffer"], result: "pointer" },
  // void ReleaseKeyValuePairs(OrtKeyValuePairs* pairs)
  ReleaseKeyValuePairs: { index: 300, parameters: ["pointer"], result: "void" },

  // OrtStatus* CreateSessionOptions(OrtSessionOptions** out)
  CreateSessionOptions: { index: 10, parameters: ["buffer"], result: "pointer" },
  // OrtStatus* DisablePerSessionThreads(OrtSessionOptions* options)
  DisablePerSessionThreads: { index: 120, parameters: ["pointer"], result: "pointer" },
  // OrtStatus* SetIntraOpNumThreads(OrtSessionOptions* options, int threads)
  SetIntraOpNumThreads: { index: 24, parameters: ["pointer", "i32"], result: "pointer" },
  // OrtStatus* DisableMemPattern(OrtSessionOptions* options)
  DisableMemPattern: { index: 17, parameters: ["pointer"], result: "pointer" },
  // OrtStatus* AddSessionConfigEntry(OrtSessionOptions* options, const char* key, const char* value)
  AddSessionConfigEntry: {
    index: 130,
    parameters: ["pointer", "buffer", "buffer"],
    result: "pointer",
  },
  // OrtStatus* SessionOptionsSetLoadCancellationFlag(OrtSessionOptions* options, bool cancel)
  SessionOptionsSetLoadCancellationFlag: {
    index: 293,
    parameters: ["pointer", "bool"],
    result: "pointer",
  },
  // void ReleaseSessionOptions(OrtSessionOptions* options)
  ReleaseSessionOptions: { index: 100, parameters: ["pointer"], result: "void" },
  // OrtStatus* CreateSession(const OrtEnv* env, const char* path, const OrtSessionOptions* options,
  //     OrtSession** out)
  CreateSession: {
    index: 7,
    parameters: ["pointer", "buffer", "pointer", "buffer"],
    result: "pointer",
    nonblocking: true,
  },
  // OrtStatus* CreateSessionFromArray(const OrtEnv* env, const void* data, size_t length,
  //     const OrtSessionOptions* options, OrtSession** out)
  CreateSessionFromArray: {
    index: 8,
    parameters: ["pointer", "buffer", "usize", "pointer", "buffer"],
    result: "pointer",
    nonblocking: true,
  },
  // void ReleaseSession(OrtSession* session)
  ReleaseSession: { index: 95, parameters: ["pointer"], result: "void" },

  // OrtStatus* GetTensorTypeAndShape(const OrtValue* value, OrtTensorTypeAndShapeInfo** out)
  GetTensorTypeAndShape: { index: 65, parameters: ["pointer", "buffer"], result: "pointer" },
  // OrtStatus* GetTensorElementType(const OrtTensorTypeAndShapeInfo* info,
  //     ONNXTensorElementDataType* out)
  GetTensorElementType: { index: 60, parameters: ["pointer", "buffer"], result: "pointer" },
  // OrtStatus* GetDimensionsCount(const OrtTensorTypeAndShapeInfo* info, size_t* out)
  GetDimensionsCount: { index: 61, parameters: ["pointer", "buffer"], result: "pointer" },
  // OrtStatus* GetDimensions(const OrtTensorTypeAndShapeInfo* info, int64_t* dims, size_t count)
  GetDimensions: { index: 62, parameters: ["pointer", "buffer", "usize"], result: "pointer" },
  // void ReleaseTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo* info)
  ReleaseTensorTypeAndShapeInfo: { index: 99, parameters: ["pointer"], result: "void" },

  // OrtStatus* CreateTensorWithDataAsOrtValue(const OrtMemoryInfo* info, void* data, size_t length,
  //     const int64_t* shape, size_t rank, ONNXTensorElementDataType type, OrtValue** out)
  CreateTensorWithDataAsOrtValue: {
    index: 49,
    parameters: ["pointer", "pointer", "usize", "buffer", "usize", "i32", "buffer"],
    result: "pointer",
  },
  // OrtStatus* CreateTensorAsOrtValue(OrtAllocator* allocator, const int64_t* shape, size_t rank,
  //     ONNXTensorElementDataType type, OrtValue** out)
  CreateTensorAsOrtValue: {
    index: 48,
    parameters: ["pointer", "buffer", "usize", "i32", "buffer"],
    result: "pointer",
  },
  // OrtStatus* GetTensorMutableData(OrtValue* value, void** out)
  GetTensorMutableData: { index: 51, parameters: ["pointer", "buffer"], result: "pointer" },
  // OrtStatus* FillStringTensor(OrtValue* value, const char* const* strings, size_t count)
  FillStringTensor: { index: 52, parameters: ["pointer", "buffer", "usize"], result: "pointer" },
  // OrtStatus* GetResizedStringTensorElementBuffer(OrtValue* value, size_t index, size_t length,
  //     char** out)
  GetResizedStringTensorElementBuffer: {
    index: 252,
    parameters: ["pointer", "usize", "usize", "buffer"],
    result: "pointer",
  },
  // OrtStatus* GetStringTensorDataLength(const OrtValue* value, size_t* out)
  GetStringTensorDataLength: { index: 53, parameters: ["pointer", "buffer"], result: "pointer" },
  // OrtStatus* GetStringTensorContent(const OrtValue* value, void* bytes, size_t length,
  //     size_t* offsets, size_t count)
  GetStringTensorContent: {
    index: 54,
    parameters: ["pointer", "buffer", "usize", "buffer", "usize"],
    result: "pointer",
  },
  // void ReleaseValue(OrtValue* value)
  ReleaseValue: { index: 96, parameters: ["pointer"], result: "void" },

  // OrtStatus* CreateRunOptions(OrtRunOptions** out)
  CreateRunOptions: { index: 39, parameters: ["buffer"], result: "pointer" },
  // OrtStatus* AddRunConfigEntry(OrtRunOptions* options, const char* key, const char* value)
  AddRunConfigEntry: { index: 165, parameters: ["pointer", "buffer", "buffer"], result: "pointer" },
  // void ReleaseRunOptions(OrtRunOptions* options)
  ReleaseRunOptions: { index: 97, parameters: ["pointer"], result: "void" },
  Run: RUN,
  // The same, on a thread of the runtime's pool.
  RunNonblocking: { ...RUN, nonblocking: true },
} as const;
