/** Light, dark, or as the system says. Remembered on this device alone. */

import { byId, icon } from "../dom";

const THEMES = ["system", "light", "dark"] as const;
type Theme = (typeof THEMES)[number];

const ICONS: Record<Theme, string> = {
  system: "M4 5h16v11H4zM9 20h6M12 16v4",
  light:
    "M12 8a4 4 0 1 0 0 8 4 4 0 0 0 0-8M12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M5 19l1.4-1.4M17.6 6.4 19 5",
  dark: "M20 14.5A8.5 8.5 0 0 1 9.5 4 8.5 8.5 0 1 0 20 14.5z",
};

export function mountTheme(): void {
  const button = byId("theme");
  let theme: Theme = THEMES.find((name) => name === remembered()) ?? "system";
  const show = (): void => {
    document.documentElement.dataset["theme"] = theme;
    button.replaceChildren(icon(ICONS[theme]));
    button.setAttribute("aria-label", `Colours: ${theme}. Change`);
    button.title = `Colours: ${theme}`;
  };
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length]!;
    remember(theme);
    show();
  });
  show();
}

/** Storage may be forbidden; then the choice lasts as long as the page. */
function remembered(): string | null {
  try {
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}

function remember(theme: Theme): void {
  try {
    localStorage.setItem("theme", theme);
  } catch {
    // it lasts as long as the page
  }
}
