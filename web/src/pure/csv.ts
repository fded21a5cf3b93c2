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
  const joined = Array.isArray(value) ? value.join("; ") : value;
  const text = typeof joined === "string" ? toCell(joined) : String(joined);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Controls, marks without a width, marks that turn the direction of writing, and halves of characters. */
const STEERING =
  /[\0-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\u{e0000}-\u{e007f}]/gu;
const ALREADY_ESCAPED = /\\(?=x[0-9a-f]{2}|u[0-9a-f]{4}|U00(?:0[0-9a-f]|10)[0-9a-f]{4})/g;
const ESCAPE = /\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U(00(?:0[0-9a-f]|10)[0-9a-f]{4}))/g;
const FORMULA = "=+-@＝＋－＠";
const NUMBER = /^[+-]?\d+(\.\d*)?([eE][+-]?\d+)?$/;

/** Text so that no spreadsheet takes it for a formula and no terminal is steered; as `nadirfix locate` writes it. */
export function toCell(value: string): string {
  if (NUMBER.test(value)) return value;
  const text = value
    .replace(ALREADY_ESCAPED, "\\x5c")
    .replace(STEERING, codes)
    .replace(/^\s+|\s+$/g, codes)
    .replace(/(?<=;)( *)([=+\-@＝＋－＠])/g, (_, blanks: string, sign: string) => blanks + codes(sign));
  const first = text.slice(0, 1);
  const second = text.slice(1, 2);
  const quoted = first === "'" && second !== "" && (FORMULA + "'").includes(second);
  return (first !== "" && FORMULA.includes(first)) || quoted ? `'${text}` : text;
}

/** The text that `toCell` made this cell of; any other cell stays as it is. */
export function fromCell(cell: string): string {
  const second = cell.slice(1, 2);
  const quoted = cell.startsWith("'") && second !== "" && (FORMULA + "'").includes(second);
  return (quoted ? cell.slice(1) : cell).replace(ESCAPE, (_, x?: string, u?: string, long?: string) =>
    String.fromCodePoint(parseInt(x ?? u ?? long ?? "0", 16)),
  );
}

function codes(text: string): string {
  return Array.from(text, (character) => {
    const code = character.codePointAt(0)!.toString(16);
    if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
    return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
  }).join("");
}
