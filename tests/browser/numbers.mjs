// Compares every number on every screen of the live page with the API and with /metrics.
//
// A number is the value of a `data` element, in full precision. It must be among the numbers of the
// responses that its screen shows, or be computed from them as `derived` states. The tables of systems
// and queries and the outcomes of the pipeline are compared cell by cell as well.
//
// A rolling window moves with the clock. So the API is read before and after the screen, and the
// screen counts only if both are equal.

const ATTEMPTS = 40;
const QUERIES = "measure=nDCG@10&limit=1000";

// Ages, which the clock changes, and the sparklines, whose points are no numbers of the page.
const isMoving = (name) => /age_seconds|uptime|delay|duration|^history$|^time$/.test(name);

export async function everyNumber({ page, base, claims, json, expect }) {
  const { variant, slice } = claims;
  const worst = (await json(`/api/v1/queries?${QUERIES}`)).queries[0].key;
  const key = encodeURIComponent(worst);
  const systems = "/api/v1/systems";
  const screens = {
    "/": [systems, "/api/v1/incidents", `/api/v1/measures?slice=${slice}`, `/api/v1/queries?${QUERIES}&order=regressed`, `/api/v1/queries?${QUERIES}`],
    "/queries?limit=1000": [`/api/v1/queries?${QUERIES}&order=surely_worst`],
    "/queries?order=regressed&limit=1000": [`/api/v1/queries?${QUERIES}&order=regressed&evidence=any`],
    [`/queries/${key}?variant=${variant}`]: [`/api/v1/queries/${key}?cutoff=10`],
    "/systems": [systems, "/api/v1/deployments"],
    [`/systems/${variant}`]: [systems, "/api/v1/measures", "/api/v1/experiments", "/api/v1/deployments"],
    "/experiments": ["/api/v1/experiments"],
    "/pipeline": ["/api/v1/pipeline"],
    "/gold": ["/api/v1/gold"],
  };
  for (const [address, resources] of Object.entries(screens)) {
    const read = () => Promise.all([...resources, "/api/v1/status"].map(json));
    const found = await atRest(page, base, address, read);
    expect(found, `${address}: the API changed during each of ${ATTEMPTS} views`);
    if (!found) continue;
    const { shown, answers } = found;
    const known = new Set(answers.flatMap((answer) => [...numbersOf(answer), ...derived(answer)]));
    expect(shown.numbers.length >= 3, `${address} shows ${shown.numbers.length} numbers`);
    const unknown = shown.numbers.filter(([value]) => !known.has(value));
    expect(unknown.length === 0, `${address}: not in the API: ${unknown.slice(0, 5).map((it) => it.join(" in ")).join("; ")}`);
    if (address === "/") await systemsTable(shown, answers[0], claims, json, expect);
    if (address.startsWith("/queries?")) queriesTable(shown, answers[0], address, expect);
    if (address === "/pipeline") await outcomes(shown, answers[0], claims, expect);
  }
}

// Reads a screen while the API does not change. Undefined if it never rests.
async function atRest(page, base, address, read) {
  const text = (answers) => JSON.stringify(answers, (name, value) => (isMoving(name) ? undefined : value));
  let answers = await read();
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    await page.goto(base + address);
    const shown = await page.evaluate(readScreen);
    const after = await read();
    if (text(answers) === text(after)) return { shown, answers };
    answers = after;
  }
  return undefined;
}

// Runs in the browser: all numbers with their places, and the tables.
function readScreen() {
  const ages = ["Snapshot", "Checkpoint", "Delay"];
  const isAge = (element) =>
    ages.includes(element.closest("td")?.dataset.label) || /^\s*(snapshot|no searches)/.test(element.closest(".status li")?.textContent ?? "");
  const elements = [...document.querySelectorAll("data")].filter((element) => !isAge(element));
  const of = (row, label) => row.querySelector(`td[data-label="${label}"] data`)?.value ?? null;
  const number = (value) => (value === null ? null : Number(value));
  return {
    numbers: elements.map((element) => [
      Number(element.value),
      (element.closest("td, li, dd, p, div") ?? element).textContent.trim().replace(/\s+/g, " ").slice(0, 80),
    ]),
    systems: [...document.querySelectorAll("table.systems tbody tr")].map((row) => ({
      variant: row.dataset.variant,
      searches: number(of(row, "Searches")),
      rate: number([...row.querySelectorAll('td[data-label="Searches"] data')][1]?.value ?? null),
      p95: number(of(row, "p95")),
      scores: [...row.querySelectorAll("td[data-measure]")].map((cell) =>
        [cell.dataset.measure, number(cell.querySelector(".value data")?.value ?? null)]),
    })),
    queries: [...document.querySelectorAll("table.queries tbody tr")].map((row) => [
      row.dataset.query, row.dataset.variant,
      ...["Before", "Now", "Change", "Mean", "Searches"].map((label) => number(of(row, label))),
    ]),
    outcomes: [...document.querySelectorAll("section[data-kind]")].map((section) => [
      section.dataset.kind,
      [...section.querySelectorAll("li[data-outcome]")].map((item) =>
        [item.dataset.outcome, number(item.querySelector("data").value)]),
    ]),
  };
}

function numbersOf(answer) {
  if (typeof answer === "number") return [answer];
  if (answer === null || typeof answer !== "object") return [];
  return Object.entries(answer).filter(([name]) => name !== "history").flatMap(([, value]) => numbersOf(value));
}

// Numbers that the page computes from those of a response.
function derived(answer) {
  const numbers = [];
  const parts = (counts) => {
    const whole = counts.reduce((sum, count) => sum + count, 0);
    numbers.push(whole, ...counts.map((count) => (whole === 0 ? 0 : count / whole)));
  };
  for (const it of answer.queries ?? []) {
    for (const variance of [it.baseline_variance, it.recent_variance]) if (variance !== null && variance !== undefined) numbers.push(Math.sqrt(variance));
  }
  for (const incident of answer.incidents ?? [answer]) {
    for (const { before, now } of incident.measures ?? []) {
      if (before?.mean && now) numbers.push((now.mean - before.mean) / before.mean, now.mean - before.mean);
    }
    for (const { loss } of incident.queries ?? []) if (loss) numbers.push(-loss.lower, -loss.upper);
  }
  for (const to of answer.deployments ?? []) for (const from of answer.deployments) numbers.push(...changes(from.period, to.period));
  if (answer.with_evidence !== undefined) numbers.push(answer.found - answer.with_evidence);
  if (answer.missed_targets?.length !== undefined) numbers.push(answer.missed_targets.length);
  const control = (answer.systems ?? []).find((it) => it.is_control);
  for (const system of answer.systems ?? []) {
    const relative = (value, other) => value !== undefined && other > 0 && numbers.push((value - other) / other);
    relative(system.latency_seconds.all?.["0.95"], control?.latency_seconds.all?.["0.95"]);
    for (const [currency, cost] of Object.entries(system.cost_per_query)) relative(cost, control?.cost_per_query[currency]);
    for (const { measure, mean } of system.scores) {
      const other = control?.scores.find((it) => it.measure === measure)?.mean ?? null;
      if (mean !== null && other !== null) numbers.push(mean - other);
      for (const target of answer.measures.find((it) => it.measure === measure)?.targets ?? []) numbers.push(mean - target.value);
    }
    for (const cost of Object.values(system.cost_per_query)) numbers.push(cost * 1000);
    for (const { drop } of system.scores) if (drop) numbers.push(drop.now - drop.before);
    for (const { mean, baseline } of system.scores) {
      if (mean !== null && baseline !== null) numbers.push(mean - baseline);
    }
  }
  for (const experiment of answer.experiments ?? []) {
    numbers.push(1 - experiment.alpha);
    parts(experiment.arms.map((arm) => arm.sessions));
  }
  for (const variant of answer.variants ?? []) {
    for (const list of [variant.reference, ...variant.rankings]) {
      if (list) numbers.push(list.length - list.documents.length);
    }
  }
  if (answer.documents) numbers.push(answer.documents.length);
  for (const kind of Object.values(answer.events ?? {})) {
    if (kind.outcomes) parts(kind.outcomes.map((it) => it.count));
    else parts([kind.judged, kind.unjudged].map((count) => count ?? 0));
  }
  if (answer.memory) numbers.push(answer.memory.limit - answer.memory.joins - answer.memory.totals);
  if (answer.slices) parts([answer.searches.judged, answer.searches.unjudged]);
  if (answer.partitions) {
    const lags = answer.partitions.flatMap((it) => Object.values(it.lag));
    numbers.push(lags.reduce((sum, lag) => sum + (lag ?? 0), 0));
  }
  return numbers;
}

// Changes from one period of a deployment to another.
function changes(from, to) {
  if (!from || !to) return [];
  const relative = (of) => (of(from) > 0 ? [(of(to) - of(from)) / of(from)] : []);
  const scores = to.scores.flatMap((it) => {
    const other = from.scores.find((score) => score.measure === it.measure);
    return other ? [it.mean - other.mean, it.lower - other.upper, it.upper - other.lower] : [];
  });
  const costs = Object.keys(to.costs).flatMap((currency) => relative((it) => it.costs[currency]?.per_1000));
  return [...scores, ...costs, ...relative((it) => it.p95_seconds)];
}

async function systemsTable(shown, api, claims, json, expect) {
  expect(shown.systems.length === claims.systems, `${shown.systems.length} systems`);
  const metrics = await exposed(claims);
  const later = (await json("/api/v1/systems")).systems;
  const inMetrics = (value, what) => expect(value === null || metrics.has(value), `${what}: ${value} is not in /metrics`);
  for (const row of shown.systems) {
    const system = api.systems.find((it) => it.variant === row.variant);
    const systemLater = later.find((it) => it.variant === row.variant);
    expect(system.searches === row.searches, `searches of ${row.variant}: ${row.searches}, API ${system.searches}`);
    expect(system.searches_per_second === row.rate, `rate of ${row.variant}: ${row.rate}, API ${system.searches_per_second}`);
    expect((system.latency_seconds.all?.["0.95"] ?? null) === row.p95, `p95 of ${row.variant}: ${row.p95}`);
    expect(row.scores.length > 3, `${row.variant} has ${row.scores.length} scores`);
    inMetrics(row.searches, `searches of ${row.variant}`);
    for (const [measure, value] of row.scores) {
      const score = system.scores.find((it) => it.measure === measure);
      expect(score.mean === value, `${measure} of ${row.variant}: ${value}, API ${score.mean}`);
      // A window that moved since then has another mean.
      const after = systemLater.scores.find((it) => it.measure === measure).mean;
      if (after === value) inMetrics(value, `${measure} of ${row.variant}`);
    }
  }
}

function queriesTable(shown, api, address, expect) {
  const wanted = api.queries.map((it) => [it.key, it.variant, it.baseline, it.recent, it.effect, it.mean, it.count]);
  expect(wanted.length > 0 && shown.queries.length === wanted.length, `${address}: ${shown.queries.length} rows, API ${wanted.length}`);
  const place = shown.queries.findIndex((row, at) => JSON.stringify(row) !== JSON.stringify(wanted[at]));
  expect(place < 0, `${address}: ${shown.queries[place]}, API ${wanted[place]}`);
}

async function outcomes(shown, api, claims, expect) {
  const metrics = await (await fetch(claims.metrics)).text();
  for (const [kind, of] of Object.entries(api.events)) {
    const [, counts] = shown.outcomes.find(([name]) => name === kind) ?? [kind, []];
    const wanted = of.outcomes.map((it) => [it.outcome, it.count]);
    expect(JSON.stringify(counts) === JSON.stringify(wanted), `${kind}: ${counts}, API ${wanted}`);
    for (const [outcome, count] of counts.filter(([outcome]) => outcome !== "pending")) {
      const line = `rankgauge_events_total{kind="${kind}",outcome="${outcome}"} ${count}\n`;
      expect(metrics.includes(line), `${kind} ${outcome}: /metrics has no ${line}`);
    }
  }
}

// All values of /metrics.
async function exposed(claims) {
  const text = await (await fetch(claims.metrics)).text();
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Set(lines.map((line) => Number(line.slice(line.lastIndexOf(" ") + 1))));
}
