// The time line: lanes on a canvas over one axis of time, from the whole run to a microsecond.
//
// Drag selects a span, double click shows all, the wheel zooms while the time line has the focus, two fingers pinch.
// Keys: arrows, + and -, Home, n and p for the next and the previous beginning in the chosen lane.

const LEAST_NS = 1000;
const LABEL = 17;
const GAP = 7;
const AXIS = 32;
const STEPS_NS = [1, 2, 5].flatMap((m) => [1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9].map((k) => m * k));
STEPS_NS.push(1e10, 2e10, 3e10, 6e10, 12e10, 3e11, 6e11, 12e11, 18e11, 36e11, 72e11, 216e11, 432e11, 864e11, 864e12);
STEPS_NS.sort((a, b) => a - b);

/** What the colours of lanes stand for: a line for each set of names. */
function laneLegends(lanes) {
  const groups = new Map();
  for (const lane of lanes) {
    const isLevels = lane.kind === "levels";
    if (isLevels && lane.series.length < 2) continue;
    const names = isLevels ? lane.series.map(({ name }) => name) : lane.names;
    const colours = isLevels ? names.map((_, place) => `series-${place % 10}`) : lane.colours;
    const heading = { states: lane.label.includes("radio") ? "radio" : lane.label, frames: "frames", spans: lane.label.endsWith("frames as captured") ? "frames" : "mode" }[lane.kind] ?? lane.label;
    groups.set(`${heading}|${names}`, [heading, names.map((name, place) => [colours[place], name])]);
  }
  return [...groups.values()].map(([heading, entries]) => {
    const made = legend(entries);
    made.prepend(el("li", { class: "faint" }, `${heading}:`));
    return made;
  });
}

class Timeline {
  constructor(timelines, array, onMove) {
    this.onMove = onMove;
    this.array = array;
    this.timelines = timelines;
    this.canvas = el("canvas", { tabindex: "0", role: "application", "aria-label": "Time line. Arrow keys move, plus and minus zoom, n and p step from one beginning to the next.", "aria-describedby": "readout" });
    this.readout = el("p", { class: "readout faint", id: "readout", "aria-live": "polite" });
    this.window = el("div");
    this.map = el("div", { class: "map", "aria-hidden": "true", onpointerdown: (event) => this.jump(event) }, this.window);
    this.legends = el("div");
    this.note = el("p", { class: "faint" });
    this.chooser = el("select", { "aria-label": "What the time line shows", onchange: () => this.choose(Number(this.chooser.value)) },
      timelines.map((one, index) => el("option", { value: index }, one.label)));
    this.root = el("div", { class: "timeline" }, this.tools(), this.map, this.canvas, this.readout, this.legends, this.note);
    this.redraw = oncePerFrame(() => this.draw());
    this.lane = 0;
    this.cursor = null;
    this.listen();
    this.choose(0);
    new ResizeObserver(() => this.redraw()).observe(this.canvas);
  }

  tools() {
    const button = (text, label, work) => el("button", { type: "button", "aria-label": label, title: label, onclick: work }, text);
    return el("div", { class: "tools" },
      this.timelines.length > 1 ? el("label", {}, "show", this.chooser) : null,
      button("+", "Zoom in", () => this.zoom(0.4)), button(MINUS, "Zoom out", () => this.zoom(2.5)),
      button("←", "Earlier", () => this.pan(-0.4)), button("→", "Later", () => this.pan(0.4)),
      button("all", "The whole time line", () => this.show(0, this.end)));
  }

  choose(index) {
    const chosen = this.timelines[index];
    const kept = this.end === chosen.end_ns;
    this.index = index;
    this.chooser.value = String(index);
    this.lanes = chosen.lanes.map((lane) => makeLane(lane, this.array));
    this.end = chosen.end_ns;
    this.lane = Math.min(this.lane, this.lanes.length - 1);
    this.note.textContent = chosen.note ?? "";
    this.legends.replaceChildren(...laneLegends(chosen.lanes));
    const height = this.lanes.reduce((sum, lane) => sum + lane.height + LABEL + GAP, AXIS);
    this.canvas.style.height = `${height}px`;
    if (!kept) [this.from, this.to] = [0, this.end];
    this.redraw();
  }

  /** Shows a span of time. */
  show(from, to) {
    const span = Math.min(Math.max(to - from, LEAST_NS), this.end);
    this.from = Math.min(Math.max(0, from), this.end - span);
    this.to = this.from + span;
    this.redraw();
    this.onMove?.();
  }

  zoom(factor, around = this.cursor ?? (this.from + this.to) / 2) {
    this.show(around - (around - this.from) * factor, around + (this.to - around) * factor);
  }

  pan(share) {
    const step = share * (this.to - this.from);
    this.show(this.from + step, this.to + step);
  }

  jump(event) {
    const box = this.map.getBoundingClientRect();
    const centre = ((event.clientX - box.left) / box.width) * this.end;
    const half = (this.to - this.from) / 2;
    this.show(centre - half, centre + half);
  }

  view() {
    const width = this.canvas.clientWidth;
    const scale = width / (this.to - this.from);
    return {
      width, from: this.from, to: this.to,
      x: (time) => (time - this.from) * scale,
      time: (x) => this.from + x / scale,
    };
  }

  draw() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width) return;
    const ratio = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    const context = this.canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = colour("paper");
    context.fillRect(0, 0, width, height);
    context.font = "12px system-ui, sans-serif";
    const view = this.view();
    this.drawAxis(context, view, height);
    let top = 0;
    this.lanes.forEach((lane, index) => {
      context.fillStyle = colour(index === this.lane ? "accent" : "ink");
      context.fillText(lane.label, 2, top + 12, width - 4);
      top += LABEL;
      context.fillStyle = colour("panel");
      context.fillRect(0, top, width, lane.height);
      context.save();
      context.beginPath();
      context.rect(0, top, width, lane.height);
      context.clip();
      lane.draw(context, view, top);
      context.restore();
      top += lane.height + GAP;
    });
    if (this.selecting) this.drawSelection(context, view, height);
    this.window.style.left = percent(this.from / this.end);
    this.window.style.width = percent((this.to - this.from) / this.end);
    this.tell();
  }

  drawAxis(context, view, height) {
    const wanted = (view.to - view.from) / Math.max(2, view.width / 110);
    const step = STEPS_NS.find((one) => one >= wanted) ?? STEPS_NS.at(-1);
    // Fine ticks are counted from a base, which the first label has.
    const isFine = step < 1e6 && view.from > 1000 * step;
    const base = isFine ? Math.floor(view.from / (1000 * step)) * 1000 * step : 0;
    context.strokeStyle = colour("line");
    context.fillStyle = colour("faint");
    context.lineWidth = 1;
    for (let time = Math.ceil(view.from / step) * step; time <= view.to; time += step) {
      const x = Math.round(view.x(time)) + 0.5;
      context.beginPath();
      context.moveTo(x, 0);
      context.lineTo(x, height - AXIS + 4);
      context.stroke();
      const text = isFine ? `+${duration(time - base)}` : clockText(time);
      if (x + context.measureText(text).width < view.width) context.fillText(text, x + 2, height - 17);
    }
    if (isFine) {
      context.fillStyle = colour("ink");
      context.fillText(`from ${clockText(base)}`, 2, height - 3);
    }
  }

  drawSelection(context, view, height) {
    const [a, b] = this.selecting.map((time) => view.x(time));
    context.fillStyle = colour("band");
    context.fillRect(Math.min(a, b), 0, Math.abs(b - a), height - AXIS);
  }

  /** Says what the span has, and what is under the cursor. */
  tell() {
    const span = `${clockText(Math.round(this.from))} to ${clockText(Math.round(this.to))} (${duration(this.to - this.from)})`;
    const lane = this.lanes[this.lane];
    if (!lane) return;
    const near = (4 * (this.to - this.from)) / (this.canvas.clientWidth || 1);
    const here = this.cursor === null ? lane.spent(this.from, this.to) : `at ${clockText(Math.round(this.cursor))}: ${lane.at(this.cursor, near)}`;
    this.readout.textContent = `${span}. ${lane.label}: ${here}`;
  }

  laneAt(y) {
    let top = 0;
    for (let index = 0; index < this.lanes.length; index++) {
      top += LABEL + this.lanes[index].height + GAP;
      if (y < top) return index;
    }
    return this.lanes.length - 1;
  }

  step(forward) {
    const found = this.lanes[this.lane].neighbour(this.cursor ?? this.from, forward);
    if (found === null) return;
    this.cursor = found;
    const half = (this.to - this.from) / 2;
    if (found < this.from || found > this.to) this.show(found - half, found + half);
    this.redraw();
  }

  listen() {
    const keys = {
      ArrowLeft: () => this.pan(-0.2), ArrowRight: () => this.pan(0.2),
      ArrowUp: () => this.pick(this.lane - 1), ArrowDown: () => this.pick(this.lane + 1),
      "+": () => this.zoom(0.5), "=": () => this.zoom(0.5), "-": () => this.zoom(2),
      Home: () => this.show(0, this.end), n: () => this.step(true), p: () => this.step(false),
      Escape: () => { this.cursor = null; this.redraw(); },
    };
    this.canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    this.canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== this.canvas && !event.ctrlKey) return;
      event.preventDefault();
      this.zoom(Math.exp(0.0015 * event.deltaY), this.timeAt(event));
    }, { passive: false });
    this.canvas.addEventListener("dblclick", () => this.show(0, this.end));
    this.listenToPointers();
  }

  pick(lane) {
    this.lane = Math.min(Math.max(0, lane), this.lanes.length - 1);
    this.redraw();
  }

  timeAt(event) {
    const box = this.canvas.getBoundingClientRect();
    return this.view().time(event.clientX - box.left);
  }

  listenToPointers() {
    const fingers = new Map();
    this.canvas.addEventListener("pointerdown", (event) => {
      fingers.set(event.pointerId, this.timeAt(event));
      this.selecting = event.pointerType === "mouse" && event.button === 0 ? [this.timeAt(event), this.timeAt(event)] : null;
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const time = this.timeAt(event);
      this.cursor = time;
      this.lane = this.laneAt(event.offsetY);
      if (this.selecting) this.selecting[1] = time;
      if (fingers.has(event.pointerId) && event.pointerType === "touch") this.pinch(fingers, event);
      this.redraw();
    });
    const end = (event) => {
      fingers.delete(event.pointerId);
      const chosen = this.selecting;
      this.selecting = null;
      if (chosen && Math.abs(this.view().x(chosen[1]) - this.view().x(chosen[0])) > 4) this.show(Math.min(...chosen), Math.max(...chosen));
      this.redraw();
    };
    this.canvas.addEventListener("pointerup", end);
    this.canvas.addEventListener("pointercancel", end);
    this.canvas.addEventListener("pointerleave", () => { this.cursor = null; this.redraw(); });
  }

  /** One finger moves the times under it, two zoom so that theirs stay under them. */
  pinch(fingers, event) {
    const [held, now] = [fingers.get(event.pointerId), this.timeAt(event)];
    const other = [...fingers.entries()].find(([id]) => id !== event.pointerId);
    if (!other) {
      this.show(this.from + held - now, this.to + held - now);
      return;
    }
    const factor = Math.abs((held - other[1]) / (now - other[1] || 1));
    if (factor > 0.2 && factor < 5) this.zoom(factor, other[1]);
  }
}
