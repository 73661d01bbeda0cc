// Refreshes the page every five seconds without losing place, and adds the keyboard. The page works
// without it.
"use strict";
(() => {
  const INTERVAL = 5000;
  const root = document.documentElement;
  root.classList.add("scripted");
  const main = () => document.querySelector("main");
  const help = () => document.getElementById("keys");
  const typing = (element) => element && /^(INPUT|SELECT|TEXTAREA)$/.test(element.tagName);

  // Times in the zone of the reader.
  const clock = new Intl.DateTimeFormat(undefined, {
    hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZoneName: "short",
  });
  const day = new Intl.DateTimeFormat("sv-SE", {
    year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", timeZoneName: "short",
  });
  function localTimes(within) {
    for (const element of within.querySelectorAll("time[datetime]")) {
      const at = new Date(element.dateTime);
      if (Number.isNaN(at.valueOf())) continue;
      const isToday = at.toDateString() === new Date().toDateString();
      const local = (isToday ? clock : day).format(at);
      // UTC stands beside the time of another zone, as logs and runs of a pipeline have it.
      const utc = element.dateTime.slice(11, 16);
      element.textContent = at.getTimezoneOffset() === 0 ? local : `${local} (${utc} UTC)`;
    }
  }

  // Brings `old` to the state of `fresh` and keeps every element that both have, so that focus,
  // selection, scroll positions and open details stay.
  function update(old, fresh) {
    if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName) {
      old.replaceWith(fresh);
      return;
    }
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    if (typing(old)) return;
    if (old.nodeName === "DATA" && old.value !== fresh.value) {
      if (old.textContent !== fresh.textContent) mark(old);
    }
    for (const { name, value } of [...fresh.attributes]) {
      if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && name !== "open" && name !== "tabindex") old.removeAttribute(name);
    }
    if (old.dataset.rows !== undefined) updateRows(old, fresh);
    else updateChildren(old, fresh);
  }

  function updateChildren(old, fresh) {
    const next = [...fresh.childNodes];
    const present = [...old.childNodes];
    next.forEach((child, place) => {
      if (place < present.length) update(present[place], child);
      else old.append(child);
    });
    present.slice(next.length).forEach((child) => child.remove());
  }

  // Rows keep their order until the reader asks: known rows are updated in their place, new ones
  // are added at the end, and a button shows the current order.
  function updateRows(old, fresh) {
    const wanted = new Map([...fresh.children].map((row) => [row.dataset.key, row]));
    const order = [...wanted.keys()];
    for (const row of [...old.children]) {
      const current = wanted.get(row.dataset.key);
      if (current) update(row, current);
      else row.remove();
      wanted.delete(row.dataset.key);
    }
    for (const row of wanted.values()) old.append(row);
    const shown = [...old.children].map((row) => row.dataset.key);
    const button = document.querySelector(`button[data-sorts="${old.dataset.rows}"]`);
    if (button) {
      button.hidden = shown.every((key, place) => key === order[place]);
      button.onclick = () => {
        const rows = new Map([...old.children].map((row) => [row.dataset.key, row]));
        order.forEach((key) => rows.has(key) && old.append(rows.get(key)));
        button.hidden = true;
      };
    }
  }

  function mark(element) {
    element.classList.add("changed");
    setTimeout(() => element.classList.remove("changed"), 1000);
  }

  // The last refresh that failed first: what is shown is older than that.
  let since;
  function disconnected() {
    since = new Date();
    const line = document.querySelector("header .status");
    if (!line) return;
    const state = document.createElement("li");
    const text = document.createElement("strong");
    text.className = "bad";
    text.textContent = `✗ disconnected since ${clock.format(since)}`;
    state.append(text);
    line.replaceChildren(state);
    document.title = `✗ ${document.title.replace(/^(✗|▼ \d+) /, "")}`;
    const icon = document.querySelector("link[rel=icon]");
    icon.setAttribute("href", icon.getAttribute("href").replace(/icon[a-z-]*\.svg/, "icon-problem.svg"));
  }

  let paused = false;
  let busy = false;
  async function refresh() {
    if (paused || busy || document.hidden) return;
    busy = true;
    try {
      const response = await fetch(location.href, { headers: { accept: "text/html" } });
      const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
      const next = fresh.querySelector("main");
      if (!response.ok || !next) throw new Error(String(response.status));
      localTimes(fresh);
      document.title = fresh.title;
      const icon = fresh.querySelector("link[rel=icon]").getAttribute("href");
      const shown = document.querySelector("link[rel=icon]");
      if (shown.getAttribute("href") !== icon) shown.setAttribute("href", icon);
      update(document.querySelector("header"), fresh.querySelector("header"));
      update(main(), next);
      root.classList.remove("stale");
      since = undefined;
      root.dataset.refreshes = String(Number(root.dataset.refreshes ?? 0) + 1);
    } catch {
      // The next refresh tries again, and brings the whole header back.
      if (since === undefined) disconnected();
      root.classList.add("stale");
    } finally {
      busy = false;
    }
  }

  function rows() {
    return [...main().querySelectorAll("a[data-row]")].filter((row) => row.offsetParent !== null);
  }
  function move(step) {
    const all = rows();
    const at = all.indexOf(document.activeElement);
    const next = at < 0 ? (step > 0 ? 0 : all.length - 1) : at + step;
    all[Math.max(0, Math.min(all.length - 1, next))]?.focus();
  }
  const goTo = { o: "overview", i: "incidents", q: "queries", s: "systems", e: "experiments", p: "pipeline", g: "gold" };
  let prefix = false;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (typing(document.activeElement)) {
      if (event.key === "Escape") document.activeElement.blur();
      return;
    }
    if (prefix && goTo[event.key]) {
      document.querySelector(`nav a[data-screen="${goTo[event.key]}"]`)?.click();
      prefix = false;
      return;
    }
    prefix = event.key === "g";
    const search = document.querySelector("input[type=search]");
    if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "/" && search) {
      event.preventDefault();
      search.focus();
      search.select();
    } else if (event.key === "?") {
      if (help().open) help().close();
      else help().showModal();
    }
  });

  // A link that copies what it leads to. Without a clipboard, it is followed.
  document.addEventListener("click", async (event) => {
    const link = event.target.closest("a[data-copy]");
    if (!link || !navigator.clipboard) return;
    event.preventDefault();
    try {
      const text = await (await fetch(link.href)).text();
      await navigator.clipboard.writeText(text);
      link.textContent = "copied";
    } catch {
      location.href = link.href;
    }
  });

  // Ctrl+K or Command+K: jump to a system, a measure or a query by a part of its name.
  const jump = document.getElementById("jump");
  const field = jump.querySelector("input");
  const results = jump.querySelector("ul");
  let asked = 0;
  async function find() {
    const number = (asked += 1);
    const text = field.value.trim().toLowerCase();
    const get = async (path) => (await fetch(path, { headers: { accept: "application/json" } })).json();
    const found = [];
    try {
      const { systems, measures } = await get("/api/v1/systems");
      for (const { variant } of systems) found.push([`System ${variant}`, `/systems/${encodeURIComponent(variant)}`]);
      for (const { measure, direction, is_user_measure } of measures) {
        if (direction !== "neither" && !is_user_measure) found.push([`Measure ${measure}`, `/queries?order=surely_worst&measure=${encodeURIComponent(measure)}`]);
      }
      const named = found.filter(([name]) => name.toLowerCase().includes(text)).slice(0, 8);
      const seen = new Set();
      if (text !== "") {
        const { queries } = await get(`/api/v1/queries?order=query&limit=40&search=${encodeURIComponent(text)}`);
        for (const { key, text: title } of queries) {
          if (seen.has(key) || seen.size >= 10) continue;
          seen.add(key);
          named.push([`${key} ${title ?? ""}`.trim(), `/queries/${encodeURIComponent(key)}`]);
        }
      }
      if (number !== asked) return;
      results.replaceChildren(...named.map(([name, address]) => {
        const item = document.createElement("li");
        const link = document.createElement("a");
        link.href = address;
        link.textContent = name;
        item.append(link);
        return item;
      }));
    } catch {
      results.replaceChildren();
    }
  }
  field.addEventListener("input", find);
  jump.addEventListener("keydown", (event) => {
    const links = [...results.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    if (event.key === "ArrowDown") links[Math.min(at + 1, links.length - 1)]?.focus();
    else if (event.key === "ArrowUp") (links[at - 1] ?? field).focus();
    else if (event.key === "Enter" && document.activeElement === field && links[0]) links[0].click();
    else return;
    event.preventDefault();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (jump.open) return;
    field.value = "";
    jump.showModal();
    find();
  });

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-auto]");
    if (form && event.target.tagName === "SELECT") form.requestSubmit();
  });

  // The result of a command is shown once.
  const address = new URL(location.href);
  if (address.searchParams.has("done")) {
    address.searchParams.delete("done");
    history.replaceState(null, "", address);
  }

  const pause = document.getElementById("pause");
  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Resume" : "Pause";
    const states = [...document.querySelectorAll("header .status > li")];
    const traffic = states.find((state) => /^(live|no searches)/.test(state.textContent));
    if (paused && traffic) traffic.textContent = "paused";
    if (!paused) refresh();
  });
  document.addEventListener("visibilitychange", refresh);
  localTimes(document);
  setInterval(refresh, INTERVAL);
})();
