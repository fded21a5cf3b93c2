/** Elements in one call. Styles go through classes: the content policy refuses style attributes. */

type Child = Node | string | null | undefined | false;
type Value = string | number | boolean | null | undefined | ((event: never) => void);
type Attributes = Record<string, Value>;

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element with attributes (functions are listeners) and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  return dressed(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[K] {
  return dressed(document.createElementNS(SVG, tag) as SVGElementTagNameMap[K], attributes, children);
}

function dressed<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) dress(element, name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function dress(element: Element, name: string, value: Value): void {
  if (typeof value === "function") element.addEventListener(name, value as EventListener);
  else if (typeof value === "boolean") element.toggleAttribute(name, value);
  else if (value !== null && value !== undefined) element.setAttribute(name, String(value));
}

/** The element of the page with this id; the page is ours, so it is there. */
export function byId<E extends HTMLElement = HTMLElement>(id: string): E {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found as E;
}

/** Small pictures drawn with lines, for buttons; words beside them or in a label say what they mean. */
export function icon(path: string): SVGElement {
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, svg("path", { d: path }));
}
