// Heights of screens on a phone of 390 px. Usage: node heights.mjs URL FOLDER MOST PATH…
// Fails if a screen is higher than MOST pixels or wider than the phone. Pictures go to FOLDER.
import { join } from "node:path";
import { fail, start, watch } from "./browser.mjs";

const WIDTH = 390;
const [base, pictures, most, ...paths] = process.argv.slice(2);
const wrong = [];
const { browser } = await start(wrong);
const page = await browser.newPage({ viewport: { width: WIDTH, height: 844 } });
watch(page, wrong);
for (const path of paths) {
  await page.goto(base + path);
  const [width, height] = await page.evaluate(() => {
    const { scrollWidth, scrollHeight } = document.documentElement;
    return [scrollWidth, scrollHeight];
  });
  console.log(`${path}: ${height} px`);
  await page.screenshot({ path: join(pictures, `large${path.replaceAll("/", "-")}.png`), fullPage: true });
  if (width > WIDTH) wrong.push(`${path} is ${width} px wide on a phone of ${WIDTH} px`);
  if (height >= Number(most)) wrong.push(`${path} is ${height} px high on a phone, not below ${most}`);
}
if (wrong.length > 0) fail(wrong);
process.exit(0);
