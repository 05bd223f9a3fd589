/**
 * Waiting, but not for ever.
 *
 * @module
 */

/** Whether `work` was done within so many milliseconds. It goes on when it was not. */
export async function within(millis: number, work: Promise<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), millis);
  try {
    return await Promise.race([work.then(() => true), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
