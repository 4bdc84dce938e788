// Sliders over a report: while one is dragged the models answer, and when it rests the simulation does. What has been
// changed stands in the fragment of the address, so that a link shows the same.

const REST_MS = 250;

class Explore {
  constructor(described) {
    this.controls = described.controls;
    this.title = described.title;
    this.chosen = new Map();
    this.lines = [];
    this.turn = 0;
    this.askModels = oncePerFrame(() => this.models());
    this.status = document.getElementById("status");
    this.inputs = this.controls.map((control) => this.input(control));
    document.querySelector(".controls").replaceChildren(...this.inputs.map(({ root }) => root));
    this.everyone = document.getElementById("everyone");
    this.everyone.addEventListener("change", () => this.changed(true));
    document.getElementById("reset").addEventListener("click", () => this.reset());
    document.querySelector("header.top h1").textContent = this.title;
    document.title = `${this.title} - airwatt explore`;
  }

  /** A slider over the values of a control, or a list of names. */
  input(control) {
    const output = el("output", {}, control.values[control.start]);
    const choose = (index, isDone) => {
      output.textContent = control.values[index];
      if (index === control.start) this.chosen.delete(control.key);
      else this.chosen.set(control.key, control.values[index]);
      root.classList.toggle("changed", index !== control.start);
      field.setAttribute("aria-valuetext", control.values[index]);
      this.changed(isDone);
    };
    const id = `control-${control.key}`;
    const field = control.is_list
      ? el("select", { id, onchange: (event) => choose(event.target.selectedIndex, true) }, control.values.map((value, index) => el("option", { selected: index === control.start }, value)))
      : el("input", { id, type: "range", min: 0, max: control.values.length - 1, step: 1, value: control.start,
          oninput: (event) => choose(Number(event.target.value), false), onchange: (event) => choose(Number(event.target.value), true) });
    const label = el("label", { for: id, title: control.meaning }, control.key);
    const root = el("div", { class: "control", title: control.meaning }, label, output, field);
    const put = (index) => {
      if (control.is_list) field.selectedIndex = index;
      else field.value = String(index);
      choose(index, false);
    };
    return { control, root, put };
  }

  /** Takes what the link says. */
  recall() {
    const parts = linkParts();
    for (const { control, put } of this.inputs) {
      const index = control.values.indexOf(parts.get(control.key));
      if (index >= 0) put(index);
    }
    this.everyone.checked = parts.get("all") === "1";
  }

  reset() {
    for (const { control, put } of this.inputs) put(control.start);
    this.changed(true);
  }

  changed(isDone) {
    for (const { control } of this.inputs) linkPart(control.key, this.chosen.get(control.key) ?? null);
    linkPart("all", this.everyone.checked ? "1" : null);
    this.askModels();
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.simulate(), isDone ? 0 : REST_MS);
  }

  query(more) {
    return new URLSearchParams([...this.chosen, ...Object.entries(more)]).toString();
  }

  async ask(what, more) {
    const answer = await fetch(`${what}?${this.query(more)}`);
    return answer.json();
  }

  async models() {
    const turn = (this.asked = (this.asked ?? 0) + 1);
    const answer = await this.ask("models", {});
    if (turn !== this.asked || answer.superseded) return;
    const place = document.getElementById("models");
    if (answer.error || !answer.rows.length) {
      const text = answer.error ?? "The models know nothing of this traffic; the simulation answers alone.";
      place.replaceChildren(el("p", { class: "faint" }, text));
      return;
    }
    const rows = answer.rows.map((row) => ({
      name: row.label, value: [row.power_w, null],
      text: `${quantity(row.power_w, "W")}, ${quantity(row.delay_s, "s")} later${row.goodput_bps ? `, ${quantity(row.goodput_bps, "b/s")}` : ""}`,
    }));
    const summary = el("summary", {}, "What the models say: mean power of the radio, added delay, goodput");
    place.replaceChildren(el("details", { open: this.modelsOpen ?? true, ontoggle: (event) => { this.modelsOpen = event.target.open; } }, summary, boundBars(rows, "W")));
  }

  /** First the numbers of every policy, then the time line of the chosen one. */
  async simulate() {
    const turn = ++this.turn;
    const begun = performance.now();
    const everyone = this.everyone.checked ? { all: "1" } : {};
    this.say("simulating");
    for (const trace of ["0", "1"]) {
      const answer = await this.ask("simulate", { ...everyone, trace });
      if (turn !== this.turn || answer.superseded) return;
      if (answer.error) {
        this.say(answer.error, true);
        return;
      }
      await this.show(answer);
      if (turn !== this.turn) return;
      const seconds = quantity((performance.now() - begun) / 1000, "s", 2);
      this.say(trace === "0" ? `simulated in ${seconds}; the time line follows` : `simulated in ${seconds}`);
    }
    document.documentElement.dataset.ready = String(Math.round(performance.now()));
  }

  async show({ view, arrays }) {
    const array = await unpack(arrays, view.arrays);
    // The place on the page stays while its content is replaced.
    const main = document.querySelector("main");
    const top = scrollY;
    main.style.minHeight = `${main.offsetHeight}px`;
    const before = this.lines[0];
    this.lines = showView(view, array, main);
    document.querySelector("footer p").textContent = view.made;
    if (before && this.lines.length && before.to < this.lines[0].end) this.lines[0].show(before.from, before.to);
    else recallPlace(this.lines, false);
    requestAnimationFrame(() => { main.style.minHeight = ""; scrollTo({ top, behavior: "instant" }); });
    window.airwatt = { view, lines: this.lines };
  }

  say(text, isWrong = false) {
    this.status.textContent = text;
    this.status.classList.toggle("wrong", isWrong);
  }
}

/** Begins an exploration. */
async function beginExplore() {
  const explore = new Explore(JSON.parse(document.getElementById("explore").textContent));
  prepareTheme(() => explore.lines);
  prepareKeys();
  explore.recall();
  explore.models();
  await explore.simulate();
}
