import assert from "node:assert/strict";
import { type ErrorCode, SluiceError } from "../../models/errors.ts";

/** For `assert.throws` and `assert.rejects`: a refusal with this code and message. */
export function refusal(code: ErrorCode, message: RegExp): (error: unknown) => true {
  return (error) => {
    assert.ok(error instanceof SluiceError, String(error));
    assert.match(error.message, message);
    assert.equal(error.code, code);
    return true;
  };
}
