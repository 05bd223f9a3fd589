/**
 * Small kernels for cases about modules, launches and graphs.
 *
 * @module
 */

/** For any card since Volta. */
const HEADER = ".version 7.0\n.target sm_70\n.address_size 64\n";

/**
 * - `scale(float* x, float by, int count)`: x[i] *= by
 * - `scale_by_factor(float* x)`: x[0] *= factor, a variable of the module, 2 at first
 * - `dot(int* out, struct { char sign; int a[3]; short b[3]; } v)`: out[0] = sign * (a . b)
 * - `reverse(int* data)`: of as many numbers as a block has threads, by way of dynamic shared memory
 */
export const KERNELS: string = HEADER + `
.visible .global .align 4 .f32 factor = 0f40000000;
.extern .shared .align 16 .b8 scratch[];

.visible .entry scale(.param .u64 scale_x, .param .f32 scale_by, .param .u32 scale_count)
{
  .reg .pred %past;
  .reg .f32 %by, %value;
  .reg .b32 %i, %block, %threads, %thread, %count;
  .reg .b64 %x;
  ld.param.u64 %x, [scale_x];
  ld.param.f32 %by, [scale_by];
  ld.param.u32 %count, [scale_count];
  mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mad.lo.s32 %i, %block, %threads, %thread;
  setp.ge.s32 %past, %i, %count;
  @%past bra done;
  mad.wide.s32 %x, %i, 4, %x;
  ld.global.f32 %value, [%x];
  mul.f32 %value, %value, %by;
  st.global.f32 [%x], %value;
done:
  ret;
}

.visible .entry scale_by_factor(.param .u64 scale_by_factor_x)
{
  .reg .f32 %by, %value;
  .reg .b64 %x;
  ld.param.u64 %x, [scale_by_factor_x];
  ld.global.f32 %by, [factor];
  ld.global.f32 %value, [%x];
  mul.f32 %value, %value, %by;
  st.global.f32 [%x], %value;
  ret;
}

.visible .entry dot(.param .u64 dot_out, .param .align 4 .b8 dot_v[24])
{
  .reg .b16 %half<3>;
  .reg .b32 %sign, %a<3>, %b<3>, %sum;
  .reg .b64 %out;
  ld.param.u64 %out, [dot_out];
  ld.param.s8 %sign, [dot_v];
  ld.param.u32 %a0, [dot_v+4];
  ld.param.u32 %a1, [dot_v+8];
  ld.param.u32 %a2, [dot_v+12];
  ld.param.u16 %half0, [dot_v+16];
  ld.param.u16 %half1, [dot_v+18];
  ld.param.u16 %half2, [dot_v+20];
  cvt.s32.s16 %b0, %half0;
  cvt.s32.s16 %b1, %half1;
  cvt.s32.s16 %b2, %half2;
  mul.lo.s32 %sum, %a0, %b0;
  mad.lo.s32 %sum, %a1, %b1, %sum;
  mad.lo.s32 %sum, %a2, %b2, %sum;
  mul.lo.s32 %sum, %sum, %sign;
  st.global.u32 [%out], %sum;
  ret;
}

.visible .entry reverse(.param .u64 reverse_data)
{
  .reg .b32 %thread, %threads, %value, %at;
  .reg .b64 %data;
  ld.param.u64 %data, [reverse_data];
  mov.u32 %thread, %tid.x;
  mov.u32 %threads, %ntid.x;
  mad.wide.u32 %data, %thread, 4, %data;
  ld.global.u32 %value, [%data];
  sub.u32 %at, %threads, %thread;
  sub.u32 %at, %at, 1;
  shl.b32 %at, %at, 2;
  mov.u32 %threads, scratch;
  add.u32 %at, %at, %threads;
  st.shared.u32 [%at], %value;
  bar.sync 0;
  shl.b32 %at, %thread, 2;
  add.u32 %at, %at, %threads;
  ld.shared.u32 %value, [%at];
  st.global.u32 [%data], %value;
  ret;
}
`;

/** PTX in which line 8 is wrong. */
export const BROKEN: string = HEADER + `
.visible .entry broken()
{
  .reg .b32 %r;
  frobnicate.u32 %r, %r;
  ret;
}
`;

/** PTX that takes long enough to be compiled off the event loop, with the kernels `k0` to `k63`. */
export const MANY_KERNELS: string = HEADER +
  Array.from({ length: 64 }, (_, index) => `
.visible .entry k${index}(.param .u64 k${index}_out)
{
  .reg .b64 %out;
  ld.param.u64 %out, [k${index}_out];
  st.global.u32 [%out], ${index};
  ret;
}
`).join("");

const FATBIN_HEADER_BYTES = 16;
const ENTRY_BYTES = 80;

/** PTX in a fatbin, as `nvcc -fatbin --no-compress` writes it. */
export function fatbinOf(ptx: string): Uint8Array<ArrayBuffer> {
  const text = new TextEncoder().encode(`${ptx}\0`);
  const textBytes = Math.ceil(text.length / 8) * 8;
  const view = new DataView(new ArrayBuffer(FATBIN_HEADER_BYTES + ENTRY_BYTES + textBytes));
  view.setUint32(0, 0xba55ed50, true);
  view.setUint16(4, 1, true); // version
  view.setUint16(6, FATBIN_HEADER_BYTES, true);
  view.setBigUint64(8, BigInt(ENTRY_BYTES + textBytes), true);
  const entry = FATBIN_HEADER_BYTES;
  view.setUint16(entry, 1, true); // PTX
  view.setUint16(entry + 2, 0x101, true); // version
  view.setUint32(entry + 4, ENTRY_BYTES, true);
  view.setBigUint64(entry + 8, BigInt(textBytes), true);
  view.setUint32(entry + 20, 64, true); // where the options of ptxas are described
  view.setUint16(entry + 26, 7, true); // PTX ISA 7.0
  view.setUint32(entry + 28, 70, true); // sm_70
  view.setBigUint64(entry + 40, 0x11n, true); // 64-bit, for Linux
  view.setUint32(entry + 64, 72, true); // where they are: none
  new Uint8Array(view.buffer).set(text, entry + ENTRY_BYTES);
  return new Uint8Array(view.buffer);
}
