// Walks through the live page in Chromium as its users do: from an alarm to the ranking that explains
// it, by keyboard, on a phone, in dark mode and without scripts. Usage:
// node page.mjs URL PICTURES CLAIMS.json. Prints the problems and fails, or prints nothing.
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fail, start, watch } from "./browser.mjs";
import { everyNumber } from "./numbers.mjs";

const [base, pictures, claimsFile] = process.argv.slice(2);
const claims = JSON.parse(readFileSync(claimsFile, "utf8"));
mkdirSync(pictures, { recursive: true });
// Those of `heights.mjs` begin with `large`.
for (const old of readdirSync(pictures)) if (!old.startsWith("large")) rmSync(join(pictures, old));
const problems = [];
const expect = (holds, sentence) => holds || problems.push(sentence);

const { axe, browser } = await start(problems);
const page = await open({});

for (const part of [numbers, header, readInFive, twoClicks, kept, keyboard, screens, hostileTexts, withoutScripts, deployments]) {
  await part().catch((error) => problems.push(`${part.name}: ${error}`));
}
if (problems.length > 0) fail(problems);
process.exit(0);

async function open(options) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const opened = await context.newPage();
  opened.setDefaultTimeout(60_000);
  watch(opened, problems);
  opened.on("request", (request) =>
    expect(request.url().startsWith(base), `a request for ${request.url()}`));
  return opened;
}

async function json(path) {
  return (await fetch(base + path)).json();
}

// Every number on every screen is a number of the API, and of /metrics.
async function numbers() {
  await everyNumber({ page, base, claims, json, expect });
}

// The header, the title and the icon say what is wrong: alarms, traffic that stopped, a server that is gone.
async function header() {
  const context = await browser.newContext({ viewport: { width: 390, height: 800 } });
  const tab = await context.newPage();
  tab.setDefaultTimeout(60_000);
  await tab.goto(`${base}/`);
  const { open_incidents: incidents } = await json("/api/v1/status");
  const line = tab.locator("header .status");
  expect(incidents > 0, "the regression has no incident");
  expect((await line.innerText()).includes(`▼ ${incidents} incident`), `the header does not state ${incidents} incidents: ${await line.innerText()}`);
  expect((await tab.title()).startsWith(`▼ ${incidents} `), `the title does not state ${incidents} incidents: ${await tab.title()}`);
  const icon = async () => tab.locator("link[rel=icon]").getAttribute("href");
  expect((await icon()).includes("icon-alarm.svg"), `the icon is ${await icon()}`);
  await tab.route("**/*", (route) => route.abort());
  await line.getByText("✗ disconnected since").waitFor();
  expect(!(await line.innerText()).includes("live"), "a page without a server says live");
  expect((await tab.title()).startsWith("✗ "), `the title of a page without a server is ${await tab.title()}`);
  expect((await icon()).includes("icon-problem.svg"), `the icon without a server is ${await icon()}`);
  await tab.unroute("**/*");
  await line.getByText(`▼ ${incidents} incident`).waitFor();
  expect((await tab.title()).startsWith("▼ "), "the title does not come back");
  await context.close();
}

// What is wrong, how much, since when, why probably and what next, within five seconds and without
// scrolling.
async function readInFive() {
  const { incidents } = await json("/api/v1/incidents");
  const open = incidents.find((it) => it.variant === claims.variant && it.ended_at === null);
  expect(open, "the regression has no open incident");
  for (const [width, height] of [[1280, 800], [390, 844]]) {
    const context = await browser.newContext({ viewport: { width, height } });
    const tab = await context.newPage();
    tab.setDefaultTimeout(60_000);
    const start = Date.now();
    await tab.goto(`${base}/`);
    const card = tab.locator(`[data-incident="${open.id}"]`);
    const text = await card.locator(".reading").innerText();
    const seconds = (Date.now() - start) / 1000;
    expect(seconds < 5, `${width} px: the card is there after ${seconds} s`);
    const [primary] = open.measures;
    const verb = open.class === "more_unjudged" ? "shows more results that are not judged" : "got worse";
    for (const part of [claims.variant, verb, primary.measure, primary.before.mean.toFixed(3), "now", "since about", "Why", "Next", "compare rankings"]) {
      expect(text.includes(part), `${width} px: the card does not say ${part}: ${text}`);
    }
    const box = await card.locator(".reading").boundingBox();
    expect(box.y >= 0 && box.y + box.height <= height, `${width} px: the card reaches from ${box.y} to ${box.y + box.height} px`);
    await tab.screenshot({ path: join(pictures, `incident-${width}.png`) });
    for (const step of await card.locator("a.step").all()) {
      const address = await step.getAttribute("href");
      const { status } = await fetch(base + address);
      expect(status === 200, `${address}: ${status}`);
    }
    await tab.goto(`${base}/incidents/${encodeURIComponent(open.id)}`);
    const listed = tab.locator("table.queries tbody th").first();
    const { text: title } = await json(`/api/v1/queries/${encodeURIComponent(open.queries[0].query)}`);
    expect((await listed.innerText()).includes(title), `${width} px: the incident does not name its queries: ${await listed.innerText()}`);
    await tab.goto(`${base}/pipeline`);
    expect((await tab.locator(".incident-line").count()) > 0, `${width} px: another screen does not show the incident`);
    await context.close();
  }
}

// From the incident to the ranking that explains it in two clicks.
async function twoClicks() {
  await page.goto(`${base}/`);
  await check("overview");
  await page.locator(`.incident[data-variant="${claims.variant}"] .step[href^="/queries?"][href*="order=regressed"]`).click();
  await page.waitForURL(/order=regressed/);
  await check("queries");
  const query = page.locator("table.queries tbody tr").first();
  expect((await query.getAttribute("data-variant")) === claims.variant, "the first query is not of the regressed system");
  await query.locator("a[data-row]").click();
  await page.waitForURL(/\/queries\/.+variant=/);
  const lists = page.locator(".lists.pair .list");
  expect((await lists.count()) >= 2, "the ranking before and now are not both shown");
  const score = async (place) => Number((await lists.nth(place).locator("p.name data").first().getAttribute("value")));
  expect((await score(0)) > (await score(1)), `the score before (${await score(0)}) is not above the one now (${await score(1)})`);
  expect((await lists.nth(1).locator(".chip").count()) >= 5, "the ranking has no grades");
  expect((await lists.nth(1).locator(".moved").count()) >= 5, "the ranking has no movements");
  await check("query");
  await aligned();
  // The next query of the list, and back.
  const first = page.url();
  const listed = (await json(`/api/v1/queries?measure=nDCG@10&order=regressed&evidence=any&variant=${claims.variant}&limit=1000`)).queries;
  const keyOf = (address) => decodeURIComponent(new URL(address).pathname.slice("/queries/".length));
  const place = listed.findIndex((it) => it.key === keyOf(first));
  if (listed[place + 1]) {
    await page.locator("nav.neighbours a[rel=next]").click();
    await page.waitForURL((url) => url.href !== first);
    expect(new URL(page.url()).search === new URL(first).search, `the next query loses the choices: ${page.url()} after ${first}`);
    expect(keyOf(page.url()) === listed[place + 1].key, `the next query is ${keyOf(page.url())}, the list has ${listed[place + 1].key}`);
    await page.locator("nav.neighbours a[rel=prev]").click();
    await page.waitForURL(first);
  }
}

// The rows of the aligned table have the ranks of the two rankings in the API.
async function aligned() {
  const address = new URL(page.url());
  const { variants } = await json(`/api/v1${address.pathname}?cutoff=10&variant=${claims.variant}`);
  const [{ reference, rankings }] = variants;
  await page.reload();
  const shown = await page.$$eval("table.aligned tbody tr", (rows) => rows.map((row) =>
    [row.dataset.document, ...["Before", "Now"].map((label) => row.querySelector(`td[data-label="${label}"]`).textContent)]));
  const known = rankings.find((it) => it.documents.every((document) => shown.some(([id, , now]) => id === document.id && Number(now) >= 1)));
  expect(known, `no ranking of the API has the documents ${shown}`);
  if (!known) return;
  const rank = (list, id) => String(list.documents.find((it) => it.id === id)?.rank ?? "–");
  for (const [id, before, now] of shown) {
    expect(before === rank(reference, id) && now === rank(known, id), `${id} is at ${before} and ${now}, API ${rank(reference, id)} and ${rank(known, id)}`);
  }
  for (const { id } of reference.documents) expect(shown.some(([it]) => it === id), `${id} is missing in the table`);
}

// Window, slice and reference stay in every link to a screen.
async function kept() {
  await page.goto(`${base}/?window=5m&slice=difficulty&against=target`);
  const links = await page.$$eval("a[href]", (all) => all.map((link) => link.getAttribute("href")));
  const screens = links.filter((link) => (link.startsWith("/") || link.startsWith("?")) && !/^\/(api|assets)\//.test(link));
  expect(screens.length > 20, `${screens.length} links`);
  for (const link of screens) {
    for (const name of ["window", "slice", "against"]) expect(new RegExp(`[?&]${name}=`).test(link), `${link} loses ${name}`);
  }
  for (const link of ["/pipeline", "/gold", "/experiments", "/incidents", "/queries"]) {
    const response = await page.goto(`${base}${link}?window=5m&slice=difficulty&against=target`);
    expect(response.status() === 200, `${link} rejects the choices: ${response.status()}`);
  }
  const changes = async (against) => {
    await page.goto(`${base}/?window=1h&against=${against}`);
    return page.$$eval(`tr[data-variant="V1"] .sub data`, (all) => all.map((it) => it.value).join());
  };
  const shown = new Set([await changes("before"), await changes("control"), await changes("target")]);
  expect(shown.size === 3, `three references show ${[...shown].join(" | ")}`);
  // Ctrl+K finds a system and a query.
  await page.goto(`${base}/`);
  await page.keyboard.press("Control+k");
  await page.keyboard.type(claims.search.key);
  await page.locator("#jump li a").filter({ hasText: claims.search.key }).first().waitFor();
  await page.keyboard.press("Escape");
}

async function keyboard() {
  await page.goto(`${base}/`);
  const focused = () => page.evaluate(() => document.activeElement.textContent.trim() || document.activeElement.name);
  await page.keyboard.press("j");
  const first = await focused();
  await page.keyboard.press("j");
  const second = await focused();
  expect(first !== "" && first !== second, `j moves from ${first} to ${second}`);
  await page.keyboard.press("k");
  expect((await focused()) === first, "k does not move back");
  await page.keyboard.press("/");
  expect((await focused()) === "search", "/ does not focus the search field");
  await page.keyboard.type("zzzz");
  await page.keyboard.press("Escape");
  await page.keyboard.press("?");
  expect(await page.locator("#keys").evaluate((keys) => keys.open), "? does not show the keys");
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("q");
  await page.waitForURL(/\/queries$/);
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await page.waitForURL(/\/queries\/.+/);
  // A refresh keeps the focus, the scroll position and what the reader has opened.
  await page.goto(`${base}/gold`);
  await page.locator(".command summary").click();
  await page.evaluate(() => scrollTo(0, 40));
  const refreshes = () => page.evaluate(() => Number(document.documentElement.dataset.refreshes ?? 0));
  const before = await refreshes();
  await page.evaluate(() => document.dispatchEvent(new Event("visibilitychange")));
  await page.waitForFunction((before) => Number(document.documentElement.dataset.refreshes) > before, before);
  const kept = await page.evaluate(() => [document.activeElement.tagName, document.querySelector(".command").open, scrollY]);
  expect(JSON.stringify(kept) === '["SUMMARY",true,40]', `after a refresh: ${kept}`);
  await page.locator(".command button").click();
  await page.waitForURL(/\/gold/);
  expect((await page.textContent(".result")).includes("gold set is unchanged"), "the reload shows no result");
  // The address is that of the screen: a refresh reads it again.
  await page.reload();
  expect((await page.textContent("h1")) === "Gold set", "the page after a command cannot be read again");
}

async function screens() {
  for (const name of ["experiments", "pipeline", "gold", "systems", `systems/${claims.variant}`]) {
    await page.goto(`${base}/${name}`);
    await check(name.replace("/", "-"), false);
  }
}

// Texts of data stay texts.
async function hostileTexts() {
  await page.goto(`${base}/queries/${encodeURIComponent(claims.hostile.key)}`);
  const text = await page.textContent("h1");
  expect(text === claims.hostile.text, `the query reads ${text}`);
  expect((await page.locator("main script, main img").count()) === 0, "the text of a query became an element");
}

async function withoutScripts() {
  const plain = await open({ javaScriptEnabled: false });
  for (const name of ["", "queries?order=regressed", "experiments", "pipeline", "gold"]) {
    const response = await plain.goto(`${base}/${name}`);
    expect(response.status() === 200, `/${name} without scripts: ${response.status()}`);
    expect((await plain.locator("main").textContent()).length > 200, `/${name} is empty without scripts`);
  }
  await plain.goto(`${base}/queries`);
  await plain.fill("main input[type=search]", claims.search.text);
  await plain.click(".filters button");
  const found = await plain.locator("table.queries tbody tr").first().getAttribute("data-query");
  expect(found === claims.search.key, `the search finds ${found}`);
}

// A deployment is reported with a confirmation; charts mark it, and rankings before and after it are
// compared. This part is the last one: a deployment ends the alarms of its system.
async function deployments() {
  const { queries } = await json(`/api/v1/queries?measure=nDCG@10&order=regressed&variant=${claims.variant}&limit=1`);
  const address = `/queries/${encodeURIComponent(queries[0].key)}?variant=${claims.variant}`;
  const { rankings } = (await json(`/api/v1${address}`)).variants[0];
  // The newest ranking is the only one since the deployment. Before it, the median is shown.
  const ts = Date.parse(rankings[1].time) + 1;
  const answer = await fetch(`${base}/-/deployment`, {
    method: "POST", body: JSON.stringify({ variant: claims.variant, version: "2.0.0", ts }),
  });
  expect(answer.status === 202, `the deployment is answered with ${answer.status}`);
  const compared = page.getByRole("heading", { name: "before and after the deployment of 2.0.0" });
  let [shown, wanted, reads] = [null, null, 0];
  // Each worker takes the reference from before the deployment when it receives the command.
  do {
    await page.goto(base + address);
    await compared.waitFor();
    shown = await page.$$eval(".lists.pair .list .id", (ids) => ids.slice(0, 2).map((id) => id.textContent));
    const { reference } = (await json(`/api/v1${address}`)).variants[0];
    wanted = [reference, rankings[0]].map((it) => it.query_id);
  } while (String(shown) !== String(wanted) && ++reads < 50);
  expect(String(shown) === String(wanted), `before and after: ${shown}, API ${wanted}`);
  const mark = page.locator(`tr[data-variant="${claims.variant}"] .dots .mark`);
  const marks = await mark.count();
  expect(marks === 1, `${marks} deployments among the scores of the query`);
  await check("query-deployment");

  await page.goto(`${base}/systems`);
  const form = page.locator('form[action="/-/deployment"]');
  expect(!(await form.isVisible()), "the form is open before it is asked for");
  await page.getByText("Report a deployment…").click();
  await form.locator("select").selectOption("V4");
  await form.locator("[name=version]").fill("1.4.0");
  await form.locator("[name=note]").fill("색인 <b>교체</b>");
  await check("deployment-form", false);
  await form.locator("button").click();
  await page.waitForURL(/\/systems/);
  expect((await page.textContent(".result")) === "The deployment is recorded.", "the deployment shows no result");
  await page.goto(`${base}/systems`);
  const listed = await page.$$eval("table.deployments tbody tr", (rows) => rows.map((row) => row.dataset.version));
  expect(listed.includes("1.4.0") && listed.includes("2.0.0"), `the deployments are ${listed}`);
  const notes = await page.textContent("table.deployments");
  expect(notes.includes("색인 <b>교체</b>"), `the notes are ${notes}`);
  await page.goto(`${base}/`);
  await page.locator('tr[data-variant="V4"] .spark .mark').first().waitFor({ state: "attached" });
  await check("overview-deployment");
}

// Accessible and within the window, in light and dark, on a screen and on a phone.
async function check(name, isMain = true) {
  const url = page.url();
  for (const [label, width, colorScheme] of [["1280", 1280, "light"], ["dark", 1280, "dark"], ["400", 400, "light"]]) {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const known = problems.length;
    const wide = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    expect(wide[0] <= wide[1], `${name} ${label}: the page is ${wide[0]} px wide`);
    if (label !== "400" || name === "overview") {
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ["violations"] }));
      for (const violation of violations) {
        const places = violation.nodes.slice(0, 3).map((node) => node.html.slice(0, 160));
        problems.push(`${name} ${label} ${url}: ${violation.id}: ${violation.help}\n  ${places.join("\n  ")}`);
      }
    }
    // A picture of a whole page takes half a second: it is taken of a page with a problem only.
    if (problems.length > known) await page.screenshot({ path: join(pictures, `${name}-${label}.png`), fullPage: isMain });
  }
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.emulateMedia({ colorScheme: "light" });
}
