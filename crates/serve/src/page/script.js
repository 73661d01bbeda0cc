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
      element.textContent = (isToday ? clock : day).format(at);
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
  const goTo = { o: "overview", q: "queries", s: "systems", e: "experiments", p: "pipeline", g: "gold" };
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

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-auto]");
    if (form && event.target.tagName === "SELECT") form.requestSubmit();
  });

  const pause = document.getElementById("pause");
  pause.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Resume" : "Pause";
    if (!paused) refresh();
  });
  document.addEventListener("visibilitychange", refresh);
  localTimes(document);
  setInterval(refresh, INTERVAL);
})();
