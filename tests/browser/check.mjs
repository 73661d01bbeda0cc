// Opens a report in Chromium and looks whether it shows what it claims: to those who see it, in
// light and in dark, in a narrow and in a wide window, and to those who hear it. Usage:
// node check.mjs REPORT.html CLAIMS.json. Prints what is wrong and fails, or prints nothing.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { fail, start, watch } from "./browser.mjs";

const [report, claimsFile] = process.argv.slice(2);
const claims = JSON.parse(readFileSync(claimsFile, "utf8"));
const wrong = [];
const expect = (holds, sentence) => holds || wrong.push(sentence);

const { axe, browser } = await start(wrong);
// The page forbids scripts; the check's own run all the same.
const context = await browser.newContext({ bypassCSP: true });
const page = await context.newPage();
page.setDefaultTimeout(0);
const url = pathToFileURL(report).href;
watch(page, wrong);
page.on("request", (request) => expect(request.url().split("#")[0] === url, `a request for ${request.url()}`));
await page.goto(url);
await page.setViewportSize({ width: 1400, height: 900 });
// As it is opened: the appendix is folded, and a link to one of its parts opens it.
await accessible(page, "folded");
const folded = await page.$$eval("details.part", (parts) => parts.map((part) => part.open));
expect(folded.length > 0 && folded.every((open) => !open), `the appendix is open: ${folded}`);
const anchor = await page.$eval("details.part > div", (part) => part.id);
await page.goto(`${url}#${encodeURIComponent(anchor)}`);
expect(await page.$eval("details.part", (part) => part.open), `a link to ${anchor} does not open it`);
const csv = await page.$eval("details.part .download a", (link) => [link.download, link.href]);
expect(csv[0] === `${anchor}.csv` && csv[1].startsWith("data:text/csv"), `the table of ${anchor} is ${csv[0]}`);
await page.$$eval("details.part", (parts) => parts.forEach((part) => { part.open = true; }));
await look(page);
for (const colorScheme of ["light", "dark"]) {
  for (const width of [360, 1400]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    await fits(page, `${colorScheme}, ${width} px`);
  }
  await accessible(page, `${colorScheme}, 1400 px`);
}
await page.emulateMedia({ media: "print" });
const pdf = await page.pdf({ format: "A4" });
expect(pdf.length > 10_000, "printing gives an empty file");
const pages = pdf.toString("latin1").match(/\/Type\s*\/Page[^s]/g)?.length ?? 0;
expect(pages >= 1 && pages <= claims.pages, `the report prints on ${pages} pages, more than ${claims.pages}`);
if (wrong.length > 0) fail(wrong);
// Playwright kills the browser as this process ends. Asked to close, it may take half a minute.
process.exit(0);

// Figures, tables and texts are there, with their numbers.
async function look(page) {
  const seen = await page.evaluate(() => {
    const text = (element) => element?.textContent.replace(/\s+/g, " ").trim() ?? "";
    const cells = (row) => [...row.cells].map((cell) => text(cell).replace(/ \(best\)$/, ""));
    const table = (element) => ({
      caption: text(element.caption),
      columns: element.tHead.rows[0].cells.length,
      rows: [...element.tBodies[0].rows].map(cells),
    });
    const figure = (element) => {
      const svg = element.querySelector('svg[role="img"]');
      const named = (attribute) => text(document.getElementById(svg?.getAttribute(attribute)));
      const box = svg?.getBoundingClientRect();
      return {
        title: named("aria-labelledby"),
        description: named("aria-describedby"),
        drawn: svg?.querySelectorAll("path, rect").length ?? 0,
        area: (box?.width ?? 0) * (box?.height ?? 0),
        table: table(element.querySelector("table")),
      };
    };
    return {
      headings: [...document.querySelectorAll("section:not(.appendix) > h2, .part > summary")].map(text),
      figures: [...document.querySelectorAll("figure")].map(figure),
      tables: [...document.querySelectorAll("table")].map(table),
      text: document.body.innerText,
    };
  });
  const list = (values) => JSON.stringify(values);
  expect(
    list(seen.headings) === list(claims.headings),
    `the headings are ${list(seen.headings)} and not ${list(claims.headings)}`,
  );
  expect(
    seen.figures.length === claims.figures.length,
    `there are ${seen.figures.length} figures and not ${claims.figures.length}`,
  );
  for (const [title, numbers] of claims.figures) {
    const figure = seen.figures.find((figure) => figure.title === title);
    expect(figure, `there is no figure "${title}"`);
    if (!figure) continue;
    expect(figure.description.length > 20, `"${title}" is not described`);
    expect(figure.drawn > 0 && figure.area > 10_000, `"${title}" draws nothing`);
    expect(figure.table.caption === title, `"${title}" has no table of its own`);
    for (const number of numbers) {
      expect(figure.table.rows.flat().includes(number), `"${title}" lacks ${number}`);
    }
  }
  for (const table of seen.tables) {
    const whole = table.rows.every((row) => row.length === table.columns);
    expect(whole && table.rows.length > 0, `the table "${table.caption}" has holes`);
  }
  for (const [caption, rows] of Object.entries(claims.tables)) {
    const table = seen.tables.find((table) => table.caption === caption);
    expect(table, `there is no table "${caption}"`);
    for (const row of table ? rows : []) {
      const found = table.rows.some((cells) => row.every((value, i) => cells[i] === value));
      expect(found, `"${caption}" has no row ${list(row)}`);
    }
  }
  for (const text of claims.text) expect(seen.text.includes(text), `the page does not say ${text}`);
}

// The page does not scroll sideways, and no text leaves its picture or lies on another.
async function fits(page, where) {
  const over = await page.evaluate(() => {
    const root = document.documentElement;
    const out = [];
    if (root.scrollWidth > root.clientWidth) out.push(`the page is ${root.scrollWidth} px wide`);
    for (const svg of document.querySelectorAll('svg[role="img"]')) {
      const frame = svg.getBoundingClientRect();
      for (const text of svg.querySelectorAll("text")) {
        const box = text.getBoundingClientRect();
        const inside =
          box.left >= frame.left - 1 && box.right <= frame.right + 1 &&
          box.top >= frame.top - 1 && box.bottom <= frame.bottom + 1;
        if (!inside) out.push(`"${text.textContent}" leaves the picture`);
      }
      // What stands aslant has a box that others reach into.
      const straight = [...svg.querySelectorAll("text:not([transform])")];
      const boxes = straight.map((text) => [text.textContent, text.getBoundingClientRect()]);
      for (const [i, [name, a]] of boxes.entries()) {
        for (const [other, b] of boxes.slice(i + 1)) {
          const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
          const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
          const lines = Math.min(a.height, b.height);
          if (wide > 0 && high > 0.4 * lines) out.push(`"${name}" and "${other}" lie on each other`);
        }
      }
    }
    return out;
  });
  for (const sentence of over) wrong.push(`${where}: ${sentence}`);
}

async function accessible(page, where) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"] }));
  for (const violation of violations) {
    const places = violation.nodes.slice(0, 3).map((node) => node.html.slice(0, 200));
    wrong.push(`${where}: ${violation.id}: ${violation.help}\n  ${places.join("\n  ")}`);
  }
}
