// Waits until the demo has found the regression of rerank, and takes the pictures of the documentation.
// With a second folder, it takes all screens as well: four widths, light and dark.
// Usage: node pictures.mjs URL FOLDER [ALL]
import { mkdirSync } from "node:fs";
import { chromium } from "playwright-core";

const [base, folder, all] = process.argv.slice(2);
const LIMIT = 300_000;
const start = Date.now();
const json = async (path) => (await fetch(base + path)).json();
let incident;
while (!incident) {
  const { incidents } = await json("/api/v1/incidents");
  incident = incidents.find((it) => it.variant === "rerank" && it.ended_at === null);
  if (Date.now() - start > LIMIT) throw new Error("the demo found no regression of rerank");
  await new Promise((resolve) => setTimeout(resolve, 500));
}
// The sparklines show the drop as a whole.
await new Promise((resolve) => setTimeout(resolve, 30_000));
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  timeout: 0,
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
await page.goto(`${base}/`);
await page.screenshot({ path: `${folder}/page.png` });
await page.locator(".incident .lost a[data-row]").first().click();
await page.waitForURL(/\/queries\/.+/);
await page.screenshot({ path: `${folder}/query.png` });
if (all) {
  mkdirSync(all, { recursive: true });
  const screens = {
    overview: "/",
    queries: "/queries",
    regressed: "/queries?order=regressed",
    query: new URL(page.url()).pathname + new URL(page.url()).search,
    "query-systems": new URL(page.url()).pathname,
    systems: "/systems",
    system: "/systems/rerank",
    incidents: "/incidents",
    incident: `/incidents/${encodeURIComponent(incident.id)}`,
    experiments: "/experiments",
    pipeline: "/pipeline",
    gold: "/gold",
    error: "/queries/none",
  };
  const wide = [];
  for (const [name, address] of Object.entries(screens)) {
    await page.goto(base + address);
    for (const width of [1440, 1024, 768, 390]) {
      await page.setViewportSize({ width, height: 900 });
      for (const colorScheme of ["light", "dark"]) {
        await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
        await page.screenshot({ path: `${all}/${name}-${width}-${colorScheme}.png`, fullPage: true });
      }
      const reached = await page.evaluate(() => document.documentElement.scrollWidth);
      if (reached > width) wide.push(`${address} is ${reached} px wide in a window of ${width} px`);
    }
  }
  if (wide.length > 0) throw new Error(wide.join("\n"));
}
process.exit(0);
