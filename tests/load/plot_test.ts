import assert from "node:assert/strict";
import { barPlot, escapeHtml, linePlot } from "./plot.ts";

const AXES = { title: "t", x: "s", y: "ms", ticks: [[0, "0"], [10, "10"]] } as const;

/** Labels of the y axis, and the points of all lines. */
function read(svg: string): { labels: string[]; lines: string[] } {
  return {
    labels: Array.from(svg.matchAll(/text-anchor="end">([\d.]+)</g), ([, label]) => label),
    lines: Array.from(svg.matchAll(/<polyline[^>]*>/g), ([line]) => line),
  };
}

for (
  const [largest, labels] of [
    [60, ["0", "20", "40", "60"]],
    [61, ["0", "20", "40", "60", "80"]],
    [0.05, ["0", "0.010", "0.020", "0.030", "0.040", "0.050"]],
    [0, ["0"]],
  ] as const
) {
  Deno.test(`linePlot() has round labels up to ${largest}`, () => {
    const points = [[0, 0], [10, largest]] as const;
    const found = read(linePlot(AXES, [{ name: "a", points }])).labels;
    assert.deepEqual(found.slice(0, labels.length), labels);
    if (largest > 0) assert.equal(found.length, labels.length);
  });
}

Deno.test("linePlot() puts the ends of a line into the corners, and dashes its second line", () => {
  const series = { name: "a", points: [[0, 0], [10, 5]], dashed: [[0, 1]] } as const;
  const { lines } = read(linePlot(AXES, [series]));
  assert.match(lines[0], /points="64\.0,256\.0 704\.0,44\.0"/);
  assert.match(lines[1], /stroke-dasharray/);
});

Deno.test("barPlot() draws a part within its whole", () => {
  const svg = barPlot("t", "1/s", [{ name: "a", whole: 10, part: 5 }], ["sent", "good"]);
  assert.deepEqual(
    Array.from(svg.matchAll(/ height="([\d.]+)"/g), ([, height]) => height).slice(0, 2),
    ["212.0", "106.0"],
  );
});

Deno.test("escapeHtml() leaves nothing that a browser would obey", () => {
  assert.equal(escapeHtml(`<a b="c">&'`), "&#60;a b=&#34;c&#34;&#62;&#38;&#39;");
});
