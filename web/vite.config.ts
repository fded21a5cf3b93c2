import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "./", // the page may be served below a prefix
  build: {
    outDir: "../src/nadirfix/serve/page",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the content policy lets nothing in from the page's own text
    modulePreload: { polyfill: false },
    license: { fileName: "licenses.md" }, // of the libraries inside
    // .js for the worker too: not every server knows .mjs
    rolldownOptions: {
      output: {
        assetFileNames: (asset) => `assets/[name]-[hash]${asset.names[0]?.endsWith(".mjs") ? ".js" : "[extname]"}`,
      },
    },
    chunkSizeWarningLimit: 1500, // the map library is one piece
  },
  test: { include: ["test/**/*.test.ts"], environment: "node" },
});
