// Labels a sheet with the keyboard in Chromium. Usage: node label.mjs URL PICTURE_FOLDER. Prints what is wrong and
// fails, or prints nothing.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fail, start, watch } from "./browser.mjs";

const [url, pictures] = process.argv.slice(2);
const wrong = [];
const expect = (holds, sentence) => holds || wrong.push(sentence);
const { axe, browser } = await start(wrong);
const context = await browser.newContext({ bypassCSP: true });
const page = await context.newPage();
page.setDefaultTimeout(60_000);
watch(page, wrong);

const shows = (place) => page.waitForFunction((text) => document.getElementById("place").textContent === text, place);
const press = async (key, place) => {
  await page.keyboard.press(key);
  await shows(place);
};
const content = (id) => page.textContent(`#${id}`);

await page.goto(url);
await shows("Row 1");
expect((await content("text")).includes("<script>alert(1)</script>"), "the text of the first document is not shown");
expect((await content("count")) === "0 of 3", "the number of rows is not shown");
mkdirSync(pictures, { recursive: true });
for (const colorScheme of ["light", "dark"]) {
  for (const width of [360, 1200]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 800 });
    const isWide = await page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
    expect(!isWide, `${colorScheme}, ${width} px: the page scrolls sideways`);
    await page.screenshot({ path: join(pictures, `${colorScheme}-${width}.png`) });
  }
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"] }));
  for (const violation of violations) wrong.push(`${colorScheme}: ${violation.id}: ${violation.help}`);
}
await press("3", "Row 2");
await press("s", "Row 3");
// A wrong key changes nothing; the first row is corrected, and the second one stays.
await page.keyboard.press("7");
await press("ArrowLeft", "Row 2");
await press("ArrowLeft", "Row 1");
expect(await page.isVisible('button[aria-pressed="true"]:has-text("3")'), "the first grade is not marked");
await press("2", "Row 2");
await press("ArrowRight", "Row 3");
await page.click('#grades button:has-text("0")');
await page.waitForSelector("#end:not([hidden])");
expect((await content("count")) === "3 of 3", "the end is not counted");

// The second annotator does not see these labels.
await page.goto(`${url}?annotator=2`);
await shows("Row 1");
expect(!(await page.isVisible('button[aria-pressed="true"]')), "a label of the other annotator is shown");
await press("1", "Row 2");
await press("1", "Row 3");
await page.keyboard.press("0");
await page.waitForSelector("#end:not([hidden])");
expect((await content("agreement")).startsWith("Both annotators graded 2 rows: 50 % equal, kappa 1.00"), await content("agreement"));
if (wrong.length > 0) fail(wrong);
process.exit(0);
