// The page: sections of each study, the switch between light and dark, keys, and the place that a link names.

const STATES = ["transmit", "receive", "listen", "transition", "sleep"];
const CAUSES = ["flow", "external", "retransmission", "contention", "service", "beacon", "group", "overhearing", "wake_up", "timeout_tail", "scan", "idle", "doze"];
const SHORTCUTS = [
  ["?", "this list"], ["t", "light or dark"], ["1 … 9", "go to a section"], ["z", "go to the time line"],
  ["← →", "in the time line: earlier, later"], ["↑ ↓", "in the time line: choose a lane"], ["+ −", "in the time line: zoom"],
  ["n p", "in the time line: next, previous beginning in the lane"], ["Home", "in the time line: all of it"],
];

/** Shows a view; returns the time lines, one for each study that has any. */
function showView(view, array, place) {
  const lines = [];
  const sections = view.studies.flatMap((study, index) => studySections(study, array, lines, view.studies.length > 1 ? `${study.title}: ` : "", index));
  place.replaceChildren(...sections.map(([id, heading, content]) => section(id, heading, content)));
  const links = sections.map(([id, heading]) => el("li", {}, el("a", { href: `#${id}` }, heading)));
  document.querySelector("nav ul").replaceChildren(...links);
  return lines;
}

function section(id, heading, content) {
  const children = content.filter((child) => child !== null);
  return el("section", { id, "aria-labelledby": `${id}-h` }, el("h2", { id: `${id}-h` }, heading), children);
}

function studySections(study, array, lines, prefix, index) {
  const found = [];
  const add = (name, heading, ...content) => {
    if (content.some((child) => child !== null)) found.push([`${name}${index || ""}`, prefix + heading, content]);
  };
  add("answers", "Answers", el("p", { class: "question" }, study.question), answerList(study.answers), notes(study.notes));
  if (study.choices.length) {
    add("policies", study.bound ? "Energy and the lower bound" : "Energy", ...energyPart(study));
    add("causes", "What energy is spent on", ...causePart(study), ...statePart(study));
  }
  if (study.sweep) add("axes", "Over the settings", new SweepView(study.sweep, array).root);
  if (study.timelines.length) {
    const line = new Timeline(study.timelines, array, () => rememberPlace(lines));
    lines.push(line);
    add("time", "Who slept when", line.root);
  }
  add("spread", "Single runs", ...spreadPart(study));
  for (const table of study.tables) add(table.id, table.title, table.text ? el("p", { class: "faint" }, table.text) : null, sortableTable(table.title, table.columns, table.rows));
  return found;
}

function answerList(answers) {
  return answers.length ? el("ul", { class: "answers" }, answers.map((text) => el("li", {}, text))) : null;
}

function notes(texts) {
  return texts.length ? el("ul", { class: "notes" }, texts.map((text) => el("li", {}, text))) : null;
}

/** Bars of energy with the lower bound, and the table of every number beside each other. */
function energyPart(study) {
  const rows = study.choices.map((choice) => {
    const [mean, ci95] = choice.metrics.energy_j;
    const bound = choice.metrics.bound_j?.[0] ?? null;
    const excess = choice.metrics.excess?.[0];
    const times = excess ? `, ${digits(excess)} × bound` : "";
    const [low, high] = choice.band ?? [null, null];
    return { name: choice.label, value: [mean, ci95], bound, low, high, best: choice.best, text: `${estimated([mean, ci95], "J")}${times}` };
  });
  const key = study.bound ? el("p", { class: "faint" }, study.bound) : null;
  const columns = [{ label: "", kind: "text" }, ...study.columns.map((column) => ({ ...column, kind: "estimate" }))];
  const table = sortableTable("Each choice in numbers", columns, study.choices.map((choice) => [choice.label, ...study.columns.map((column) => choice.metrics[column.key] ?? null)]));
  return [el("div", { class: "keep" }, boundBars(rows, "J")), key, el("h3", {}, "In numbers"), table];
}

function causePart(study) {
  if (!study.choices.some((choice) => choice.causes)) return [];
  const rows = study.choices.map((choice) => ({ name: choice.label, parts: choice.causes ?? {}, text: quantity(choice.metrics.energy_j[0], "J") }));
  const present = CAUSES.filter((cause) => rows.some((row) => row.parts[cause] > 0));
  const columns = [{ label: "", kind: "text" }, ...present.map((cause) => ({ label: plain(cause), kind: "number", unit: "J" }))];
  const table = sortableTable("Energy by cause", columns, rows.map((row) => [row.name, ...present.map((cause) => row.parts[cause] ?? 0)]));
  return [el("h3", {}, "Energy by cause"), legend(present.map((cause) => [`cause-${cause}`, plain(cause)])), el("div", { class: "keep" }, stackedBars(rows, present, "J", "cause")), numbers(table)];
}

function statePart(study) {
  if (!study.choices.some((choice) => choice.states)) return [];
  const rows = study.choices.map((choice) => ({ name: choice.label, parts: choice.states ?? {}, text: quantity(Object.values(choice.states ?? {}).reduce((a, b) => a + b, 0), "s") }));
  const columns = [{ label: "", kind: "text" }, ...STATES.map((state) => ({ label: state, kind: "number", unit: "s" }))];
  const table = sortableTable("Time in each radio state", columns, rows.map((row) => [row.name, ...STATES.map((state) => row.parts[state] ?? 0)]));
  return [el("h3", {}, "Time in each radio state"), legend(STATES.map((state) => [`state-${state}`, state])), el("div", { class: "keep" }, stackedBars(rows, STATES, "s", "state")), numbers(table)];
}

function numbers(table) {
  return el("details", {}, el("summary", {}, "in numbers"), table);
}

/** The values of single runs, of one number at a time. */
function spreadPart(study) {
  const several = study.choices.filter((choice) => Object.values(choice.values ?? {}).some((values) => values.length > 1));
  if (!several.length) return [];
  const known = study.columns.filter((column) => several.every((choice) => choice.values[column.key]?.length > 1));
  if (!known.length) return [];
  const place = el("div", { class: "keep" });
  const draw = (key) => {
    const column = known.find((one) => one.key === key);
    place.replaceChildren(distribution(several.map((choice) => ({ name: choice.label, value: choice.metrics[key], values: choice.values[key] })), column.unit));
  };
  const choose = el("select", { onchange: (event) => draw(event.target.value) }, known.map((column) => el("option", { value: column.key }, column.label)));
  draw(known[0].key);
  const text = "A dot is a run; the line is the mean, the box its 95 % confidence interval.";
  return [el("div", { class: "tools" }, el("label", {}, "number", choose)), place, el("p", { class: "faint" }, text)];
}

/** Light or dark: as the system has it, until the switch says otherwise. */
function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  const isDark = theme === "dark";
  const button = document.getElementById("theme");
  button.setAttribute("aria-pressed", String(isDark));
  window.dispatchEvent(new Event("themechange"));
}

function toggleTheme() {
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
}

function prepareTheme(lines) {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  setTheme(system.matches ? "dark" : "light");
  system.addEventListener("change", () => setTheme(system.matches ? "dark" : "light"));
  window.addEventListener("themechange", () => {
    for (const line of lines()) line.redraw();
    // uPlot asks for its colours whenever it draws.
    document.querySelectorAll(".chart").forEach((place) => place.chart?.redraw());
  });
  // Paper is light. A canvas is drawn at once, since nothing is drawn later.
  let before = null;
  const printed = (theme) => { setTheme(theme); for (const line of lines()) line.draw(); };
  window.addEventListener("beforeprint", () => { before = document.documentElement.dataset.theme; printed("light"); });
  window.addEventListener("afterprint", () => { if (before) printed(before); });
}

function prepareKeys() {
  const dialog = document.getElementById("shortcuts");
  dialog.querySelector("dl").replaceChildren(...SHORTCUTS.flatMap(([key, text]) => [el("dt", {}, el("kbd", {}, key)), el("dd", {}, text)]));
  document.getElementById("help").addEventListener("click", () => dialog.showModal());
  document.getElementById("theme").addEventListener("click", toggleTheme);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (event.key === "?") dialog.showModal();
    else if (event.key === "t") toggleTheme();
    else if (event.key === "z") document.querySelector(".timeline canvas")?.focus();
    else if (/^[1-9]$/.test(event.key)) document.querySelectorAll("nav a")[Number(event.key) - 1]?.click();
  });
}

/** Keeps the span of the first time line in the link, so that a link shows the same. */
let remembered = 0;
function rememberPlace(lines) {
  clearTimeout(remembered);
  remembered = setTimeout(() => {
    const [line] = lines;
    const isWhole = line.from === 0 && line.to === line.end && line.index === 0;
    linkPart("time", isWhole ? null : `${line.index}:${Math.round(line.from)}-${Math.round(line.to)}`);
  }, 200);
}

function recallPlace(lines, scrolls = true) {
  const found = /^(\d+):(\d+)-(\d+)$/.exec(linkParts().get("time") ?? "");
  if (!found || !lines.length) return;
  const [index, from, to] = found.slice(1).map(Number);
  if (index < lines[0].timelines.length) lines[0].choose(index);
  lines[0].show(from, to);
  if (scrolls) lines[0].root.scrollIntoView();
}

/** What the fragment of the address keeps, as `#/key=value&...`; other fragments are names of sections. */
function linkParts() {
  return new URLSearchParams(location.hash.startsWith("#/") ? location.hash.slice(2) : "");
}

function linkPart(key, value) {
  const parts = linkParts();
  if (value === null) parts.delete(key);
  else parts.set(key, value);
  const text = parts.toString();
  history.replaceState(null, "", text ? `#/${text}` : location.pathname + location.search);
}

function showTitle(view) {
  document.querySelector("header.top h1").textContent = view.title;
  document.title = `${view.title} - airwatt`;
  document.querySelector("footer p").textContent = view.made;
}

/** Begins a report: everything is in the page. */
async function beginReport() {
  let lines = [];
  prepareTheme(() => lines);
  prepareKeys();
  const view = JSON.parse(document.getElementById("view").textContent);
  showTitle(view);
  const array = await unpack(document.getElementById("arrays").textContent, view.arrays);
  lines = showView(view, array, document.querySelector("main"));
  recallPlace(lines);
  document.documentElement.dataset.ready = String(Math.round(performance.now()));
  window.airwatt = { view, lines };
}

function failed(error) {
  document.querySelector("main").prepend(el("p", { role: "alert", class: "status wrong" }, `The page could not be shown: ${error.message}`));
  throw error;
}
