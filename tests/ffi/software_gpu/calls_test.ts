import assert from "node:assert/strict";
import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import { output } from "../../kernels/gpu.ts";
import { elementAddress, ptxKernel, run } from "./ptx_kernel.ts";

const REVERSED = `.func (.param .b32 result) reversed(.param .b32 x)
{
  .reg .b32 %v;
  ld.param.b32 %v, [x];
  shfl.sync.bfly.b32 %v, %v, 31, 31, -1;
  st.param.b32 [result], %v;
  ret;
}`;

softwareGpuTest(
  "call lets lanes that come late meet in the function with those before",
  async (gpu) => {
    const y = output(new Uint32Array(32));
    const ptx = ptxKernel(
      1,
      `
  ${elementAddress("%w0", "%a0", 4)}
  setp.lt.u32 %p0, %t, 8;
  @%p0 bra LATE;
BACK:
  {
    .param .b32 x;
    .param .b32 result;
    st.param.b32 [x], %t;
    call (result), reversed, (x);
    ld.param.b32 %r0, [result];
  }
  bra DONE;
LATE:
  bra BACK;
DONE:
  st.global.u32 [%w0], %r0;`,
      { declarations: REVERSED },
    );
    await run(gpu, ptx, { arguments: [y] });
    assert.deepEqual(Array.from(y.data), Array.from({ length: 32 }, (_, lane) => 31 - lane));
  },
);
