/** Tables as text: commas, quotes where needed, any line ending. */

/** Rows of cells; a quoted cell may hold commas, quotes (doubled) and line breaks. */
export function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [, quoted, plain, end] of text.replace(/^\uFEFF/, "").matchAll(CELL)) {
    if (quoted === undefined && plain === "" && end === "" && row.length === 0) break;
    row.push(quoted === undefined ? plain!.trim() : quoted.replaceAll('""', '"'));
    if (end !== ",") {
      rows.push(row);
      row = [];
    }
    if (end === "") break;
  }
  return rows.filter((cells) => cells.some((cell) => cell !== ""));
}

const CELL = /(?:\s*"((?:[^"]|"")*)"[^\S\r\n]*|([^,\r\n]*))(,|\r\n|\n|\r|$)/gy;

/** A table as text, one line per row. */
export function csvText(rows: readonly (readonly unknown[])[]): string {
  return rows.map((row) => row.map(cell).join(",") + "\n").join("");
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return "";
  const text = Array.isArray(value) ? value.join("; ") : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
