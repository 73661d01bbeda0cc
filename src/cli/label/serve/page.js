// One document after the other: shows a row, sends its label, and shows the next one.
"use strict";

const annotator = new URLSearchParams(location.search).get("annotator") === "2" ? 2 : 1;
const of = (id) => document.getElementById(id);
let shown = null;
let isSending = false;

async function ask(url, options) {
  const answer = await fetch(url, options);
  const body = await answer.json();
  if (!answer.ok) throw new Error(body.error);
  return body;
}

async function attempt(request) {
  if (isSending) return;
  isSending = true;
  try {
    show(await request());
    of("error").textContent = "";
  } catch (error) {
    of("error").textContent = `Not saved: ${error.message}`;
  } finally {
    isSending = false;
  }
}

const go = (row) => attempt(() => ask(`/label?annotator=${annotator}${row ? `&row=${row}` : ""}`));

function send(grade) {
  if (!shown?.row) return;
  const row = shown.row.row;
  attempt(() =>
    ask("/label", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ annotator, row, grade }),
    }),
  );
}

function button(text, title, isChosen, action) {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = text;
  made.title = title;
  made.setAttribute("aria-pressed", String(isChosen));
  made.addEventListener("click", action);
  return made;
}

function show(found) {
  shown = found;
  of("who").textContent = `Annotator ${annotator}`;
  of("count").textContent = `${found.labelled} of ${found.rows}`;
  of("progress").max = found.rows;
  of("progress").value = found.labelled;
  const agreement = found.agreement;
  of("agreement").textContent = agreement
    ? `Both annotators graded ${agreement.rows} rows: ${Math.round(agreement.equal * 100)} % equal` +
      (agreement.kappa === null ? "" : `, kappa ${agreement.kappa.toFixed(2)}`)
    : "";
  const row = found.row;
  of("row").hidden = !row;
  of("end").hidden = !!row;
  if (!row) return;
  of("place").textContent = `Row ${row.row}`;
  of("query").textContent = row.query;
  of("document").textContent = row.document;
  of("text").textContent = row.text;
  const grades = of("grades");
  grades.replaceChildren();
  if (found.scale_max <= 9) {
    for (let grade = 0; grade <= found.scale_max; grade += 1)
      grades.append(button(grade, `Grade ${grade}`, row.grade === String(grade), () => send(grade)));
  } else {
    const input = document.createElement("input");
    input.type = "number";
    input.min = 0;
    input.max = found.scale_max;
    input.value = row.grade ?? "";
    input.setAttribute("aria-label", `Grade from 0 to ${found.scale_max}; Enter saves it`);
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && input.value !== "") send(input.valueAsNumber);
    });
    grades.append(input);
    input.focus();
  }
  grades.append(button("Skip", "I cannot decide", row.grade === "skip", () => send("skip")));
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || !shown) return;
  const isInput = event.target instanceof HTMLInputElement;
  const at = shown.row ? shown.row.row : shown.rows + 1;
  if (event.key === "ArrowLeft" && !isInput && at > 1) go(at - 1);
  else if (event.key === "ArrowRight" && !isInput && at <= shown.labelled) go(at + 1);
  else if (event.key.toLowerCase() === "s") send("skip");
  else if (!isInput && /^[0-9]$/.test(event.key) && Number(event.key) <= shown.scale_max && shown.scale_max <= 9)
    send(Number(event.key));
  else return;
  event.preventDefault();
});

go();
