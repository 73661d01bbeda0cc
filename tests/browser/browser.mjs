// Chromium for the programs of this folder, each of which collects sentences about what is wrong.
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";

// Starts Chromium, and reads the checks of axe. A missing program or module ends the process.
export async function start(wrong) {
  const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
  if (!existsSync(executablePath)) wrong.push(`${executablePath} is missing: run tests/setup.sh browser`);
  const { chromium } = await import("playwright-core").catch(() => ({}));
  if (!chromium) wrong.push("playwright-core is missing: run tests/setup.sh browser");
  if (wrong.length > 0) fail(wrong);
  const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  const browser = await chromium.launch({
    executablePath,
    // However busy the machine is: whoever waits for a check has a limit of their own.
    timeout: 0,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
  return { axe, browser };
}

// Collects what a page reports by itself: messages, errors, and scripts of the data that run.
export function watch(page, wrong) {
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) wrong.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => wrong.push(`error on the page: ${error}`));
  page.on("dialog", (dialog) => {
    wrong.push("a script of the data ran");
    return dialog.dismiss();
  });
}

export function fail(wrong) {
  console.error([...new Set(wrong)].join("\n"));
  process.exit(1);
}
