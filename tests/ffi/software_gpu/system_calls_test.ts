import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { softwareGpuTest } from "../../fixtures/software_gpu.ts";
import { bytesOf, faultOf, ptxKernel, refusalOf } from "./ptx_kernel.ts";

const ASSERT = 710;
const PRINTING = fileURLToPath(new URL("printing_kernel.ts", import.meta.url));

softwareGpuTest("a failed assertion is a fault that names what, where and who", async (gpu) => {
  const ptx = ptxKernel(
    0,
    `
  .param .b64 message; .param .b64 file; .param .b32 line; .param .b64 function; .param .b64 size;
  setp.ne.u32 %p1, %t, 5;
  @%p1 bra GOOD;
  mov.u64 %w1, text;
  st.param.b64 [message], %w1;
  mov.u64 %w1, name;
  st.param.b64 [file], %w1;
  st.param.b32 [line], 42;
  mov.u64 %w1, who;
  st.param.b64 [function], %w1;
  st.param.b64 [size], 1;
  call __assertfail, (message, file, line, function, size);
GOOD:`,
    {
      declarations: `
.extern .func __assertfail(.param .b64 message, .param .b64 file, .param .b32 line,
  .param .b64 function, .param .b64 size) .noreturn;
.global .align 1 .b8 text[] = {${bytesOf("count > 0")}};
.global .align 1 .b8 name[] = {${bytesOf("kernel.cu")}};
.global .align 1 .b8 who[] = {${bytesOf("void kernel()")}};`,
    },
  );
  const message = await faultOf(gpu, ASSERT, ptx, { arguments: [] });
  assert.match(message, /assertion `count > 0` failed in void kernel\(\), kernel\.cu line 42/);
  assert.match(message, /thread \(5,0,0\)/);
});

softwareGpuTest("printf of a kernel writes to the standard output", async () => {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "--no-check", "--allow-all", PRINTING],
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  const printed = new TextDecoder().decode(stdout);
  assert.equal(printed, "   -7|abcdef0123|1.50|A|word|0%\n   -7|abcdef0123|1.50|A|word|1%\n");
});

softwareGpuTest("a system call is refused when it is given other arguments", async (gpu) => {
  const declarations = ".extern .func (.param .b32 count) vprintf(.param .b64 a, .param .b64 b);";
  const call = "  .param .b64 a; .param .b32 count;\n  call (count), vprintf, (a);";
  const refusal = await refusalOf(gpu, ptxKernel(0, call, { declarations }));
  assert.match(refusal, /`call`: takes 2 arguments, given are 1/);
});
