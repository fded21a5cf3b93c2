import { describe, expect, it } from "vitest";
import { csvText, fromCell, parseCsv } from "../src/pure/csv";
import { readManifest, truthFor } from "../src/pure/manifest";
import { distanceM } from "../src/pure/geo";

describe("tables", () => {
  it("reads quotes, commas in quotes, doubled quotes, line breaks in quotes, and any line ending", () => {
    expect(parseCsv('\uFEFFa,b\r\n"x, y","he said ""hi"""\n"two\nlines", z \r')).toEqual([
      ["a", "b"],
      ["x, y", 'he said "hi"'],
      ["two\nlines", "z"],
    ]);
  });

  it("keeps empty cells and drops empty lines", () => {
    expect(parseCsv("a,b,c\n\n1,,\n,,\n2,3,")).toEqual([
      ["a", "b", "c"],
      ["1", "", ""],
      ["2", "3", ""],
    ]);
  });

  it.each([
    [
      [
        ["a", "b,c", 'd"e'],
        ["1", "x\ny", ""],
      ],
    ],
    [[["only"]]],
  ])("reads back what it wrote", (rows) => {
    expect(parseCsv(csvText(rows)).map((row) => row.map(fromCell))).toEqual(rows);
  });

  it.each([
    ["=1+1", "'=1+1"],
    ["@SUM(A1)", "'@SUM(A1)"],
    ["-x", "'-x"],
    ["'=", "''="],
    ["'s", "'s"],
    ["-12.5", "-12.5"],
    ["a;=1+1", "a;\\x3d1+1"],
    ["\t=1", "\\x09=1"],
    ["C:\\users\\a.jpg", "C:\\users\\a.jpg"],
    ["C:\\xab.jpg", "C:\\x5cxab.jpg"],
    [" a ", "\\x20a\\x20"],
    ["\u001b[2J\u202e", "\\x1b[2J\\u202e"],
    ["\u{e0041}", "\\U000e0041"],
    ["日本.jpg", "日本.jpg"],
  ])("writes %j so that no spreadsheet calculates it and no terminal is steered", (text, cell) => {
    expect(csvText([[text]])).toBe(`${cell}\n`);
    expect(fromCell(cell)).toBe(text);
  });

  it("leaves numbers as they are", () => {
    expect(csvText([[-12.5, true, null, ["a", "-5"]]])).toBe("-12.5,true,,a; \\x2d5\n");
  });

  it("comes to an end with anything", () => {
    for (const text of ["", ",", '"', '"open', 'a"b,c', '"a"b', "\r\r\n"])
      expect(parseCsv(text).length).toBeLessThan(4);
  });
});

describe("manifests", () => {
  it("reads degrees, altitude and heading", async () => {
    const truths = await readManifest("photo,lon,lat,altitude_m,heading_deg\nphotos/1.jpg,14.5,48.25,120,90\n");
    expect(truthFor("1.jpg", truths)).toEqual({ at: [14.5, 48.25], altitudeM: 120, headingDeg: 90 });
  });

  it("reads UTM metres to the same place, north and south", async () => {
    const text =
      "photo,easting_m,northing_m,epsg,altitude_m\na.jpg,452388.1,5411760.7,32633,\nb.jpg,500000,10000000,32733,\n";
    const truths = await readManifest(text);
    expect(distanceM(truthFor("a.jpg", truths)!.at, [14.350908, 48.856985])).toBeLessThan(0.1); // docs/cli.md
    expect(distanceM(truthFor("b.jpg", truths)!.at, [15, 0])).toBeLessThan(0.01);
    expect(truthFor("a.jpg", truths)!.altitudeM).toBeNull();
  });

  it("matches photos by as much of their paths as both have", async () => {
    const truths = await readManifest("photo,lon,lat\nday1/a.jpg,1,1\nday2/a.jpg,2,2\n");
    expect(truthFor("flight/day2/a.jpg", truths)!.at).toEqual([2, 2]);
    expect(truthFor("b.jpg", truths)).toBeNull();
    expect(truthFor("other-a.jpg", truths)).toBeNull();
  });

  it.each([
    ["lon,lat\n1,2\n", "photo"],
    ["photo,altitude_m\na.jpg,100\n", "lon and lat"],
    ["photo,lon,lat\na.jpg,1,2\nb.jpg,x,2\n", "Line 3"],
    ["photo,lon,lat\nb.jpg,200,2\n", "Line 2"],
    ["photo,easting_m,northing_m,epsg\nb.jpg,1,2,4326\n", "Line 2"],
  ])("says what is wrong with %j", async (text, word) => {
    await expect(readManifest(text)).rejects.toThrow(word);
  });
});
