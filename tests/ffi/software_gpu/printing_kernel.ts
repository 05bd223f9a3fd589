/**
 * Runs a kernel that prints, so that a test can read what the process has written.
 *
 * @module
 */
import { softwareGpu } from "../../fixtures/software_gpu.ts";
import { bytesOf, ptxKernel, run } from "./ptx_kernel.ts";

/** Two threads print a number of each kind, a letter, a string and a per cent sign. */
const PTX = ptxKernel(
  0,
  `
  .local .align 8 .b8 values[64];
  .param .b64 text; .param .b64 list; .param .b32 count;
  st.local.s32 [values], -7;
  st.local.u64 [values+8], 0xABCDEF0123;
  st.local.f64 [values+16], 0d3FF8000000000000;
  st.local.b32 [values+24], 65;
  mov.u64 %w1, word;
  st.local.u64 [values+32], %w1;
  st.local.u32 [values+40], %t;
  mov.u64 %w2, format;
  st.param.b64 [text], %w2;
  mov.u64 %w3, values;
  cvta.local.u64 %w3, %w3;
  st.param.b64 [list], %w3;
  call (count), vprintf, (text, list);`,
  {
    declarations: `
.extern .func (.param .b32 count) vprintf(.param .b64 text, .param .b64 list);
.global .align 1 .b8 word[] = {${bytesOf("word")}};
.global .align 1 .b8 format[] = {${bytesOf("%5d|%llx|%.2f|%c|%s|%u%%\n")}};`,
  },
);

if (import.meta.main) await run(softwareGpu!, PTX, { arguments: [], threads: 2 });
