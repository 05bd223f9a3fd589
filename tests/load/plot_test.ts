import assert from "node:assert/strict";
import { percentilePlot } from "./percentile_plot.ts";
import { barPlot, escapeHtml, linePlot, svgFile } from "./plot.ts";

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

Deno.test("percentilePlot() puts 90 and 99 as far apart as 99 and 99.9", () => {
  const curve = [[0, 1], [90, 2], [99, 3], [99.9, 4]] as const;
  const [, points] = /points="([^"]*)"/.exec(percentilePlot("t", [{ name: "a", curve }]))!;
  const [x0, x90, x99, x999] = points.split(" ").map((point) => Number(point.split(",")[0]));
  assert.deepEqual([x0, x999], [64, 704]);
  assert.ok(Math.abs(x99 - x90 - (x999 - x99)) < 0.2);
});

Deno.test("svgFile() makes a plot a document with its own style", () => {
  const file = svgFile(linePlot(AXES, [{ name: "a", points: [[0, 0]] }]));
  assert.match(
    file,
    /^<svg xmlns="http:\/\/www\.w3\.org\/2000\/svg" width="720" height="300" viewBox="/,
  );
  assert.equal(file.match(/<style>[^<]*svg \.grid[^<]*<\/style>/g)?.length, 1);
  assert.ok(file.endsWith("</svg>\n"));
});

Deno.test("escapeHtml() leaves nothing that a browser would obey", () => {
  assert.equal(escapeHtml(`<a b="c">&'`), "&#60;a b=&#34;c&#34;&#62;&#38;&#39;");
});
