// Waits until the demo has found the regression of rerank, and takes the pictures of the documentation.
// Usage: node pictures.mjs URL FOLDER
import { chromium } from "playwright-core";

const [base, folder] = process.argv.slice(2);
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
process.exit(0);
