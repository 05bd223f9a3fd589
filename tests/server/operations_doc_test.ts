import assert from "node:assert/strict";
import { SETTING_NAMES, settingFlag } from "../../server/config.ts";

const text = await Deno.readTextFile(new URL("../../docs/operations.md", import.meta.url));

Deno.test("docs/operations.md has every setting with its key and default", () => {
  for (const name of SETTING_NAMES) {
    const { flag, default: preset } = settingFlag(name);
    const row = text.split("\n").map((line) => line.split("|").map((cell) => cell.trim()))
      .find((cells) => cells[1] === `\`${flag}\``);
    assert.ok(row !== undefined, `${flag} is missing`);
    assert.equal(row[2], `\`${name}\``);
    if (preset !== undefined && preset !== false) {
      assert.equal(row[3].replaceAll("`", ""), `${preset}`, flag);
    }
  }
});

Deno.test("docs/operations.md names every task", async () => {
  const { tasks } = JSON.parse(
    await Deno.readTextFile(new URL("../../deno.json", import.meta.url)),
  );
  const table = text.slice(text.indexOf("## Commands"), text.indexOf("## Settings"));
  for (const name of Object.keys(tasks)) assert.match(table, new RegExp(`\`${name}[\` ]`), name);
});
