// Prints a report as PDF beside it, and counts the pages. Usage: node pages.mjs REPORT.html MOST.
// Fails if there are more than MOST, or prints nothing.
import { writeFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { fail, start } from "./browser.mjs";

const [report, most] = process.argv.slice(2);
const wrong = [];
const { browser } = await start(wrong);
const page = await browser.newPage();
await page.goto(pathToFileURL(report).href);
const pdf = await page.pdf({ format: "A4" });
writeFileSync(report.replace(/\.html$/, ".pdf"), pdf);
const pages = pdf.toString("latin1").match(/\/Type\s*\/Page[^s]/g)?.length ?? 0;
if (pages < 1 || pages > Number(most)) wrong.push(`the report prints on ${pages} pages, more than ${most}`);
if (wrong.length > 0) fail(wrong);
process.exit(0);
