// Lanes of a time line over typed arrays, in nanoseconds. Each lane draws what lies in a span of time, and tells what is
// at an instant. Nothing is left out by sampling: what is narrower than a dot is drawn as its share of the dot.
//
// Kinds: `states` (periods without gaps), `spans` (periods with gaps), `frames` (spans with what was sent), `marks`
// (instants), `levels` (steps of numbers).

const RECTANGLES = 1.5; // more periods than this a dot are drawn as shares

/** Makes the lane of a description; `array` gives a typed array by its number. */
function makeLane(description, array) {
  const kinds = { states: PeriodLane, spans: PeriodLane, frames: FrameLane, marks: MarkLane, levels: LevelLane };
  return new kinds[description.kind](description, array);
}

class PeriodLane {
  constructor(description, array) {
    this.label = description.label;
    this.names = description.names;
    this.colours = description.colours;
    this.start = array(description.start);
    this.code = array(description.code);
    this.durations = array(description.duration);
    this.end = description.end_ns;
    this.height = description.height ?? 22;
  }

  get points() {
    return this.start.length;
  }

  /** The end of a period: the beginning of the next one where there are no gaps. */
  until(index) {
    if (this.durations) return this.start[index] + this.durations[index];
    return index + 1 < this.start.length ? this.start[index + 1] : this.end;
  }

  /** The periods that may touch a span. Frames of a collision overlap, so that a few before the last one may reach in. */
  within(from, to) {
    const first = Math.max(0, above(this.start, from) - (this.durations ? 4 : 1));
    return [first, above(this.start, to)];
  }

  draw(context, view, top) {
    const [first, last] = this.within(view.from, view.to);
    const fills = this.colours.map((name) => colour(name));
    if (last - first <= RECTANGLES * view.width) this.drawPeriods(context, view, top, first, last, fills);
    else this.drawShares(context, view, top, first, last, fills);
  }

  drawPeriods(context, view, top, first, last, fills) {
    for (let i = first; i < last; i++) {
      const left = Math.max(0, view.x(this.start[i]));
      const right = Math.min(view.width, view.x(this.until(i)));
      if (right <= 0 || left >= view.width) continue;
      context.fillStyle = fills[this.code[i]];
      context.fillRect(left, top, Math.max(right - left, 1), this.height);
      this.decorate(context, view, top, i, left, right);
    }
  }

  decorate() {}

  /** A column a dot: the shares of it that periods of each kind take, stacked. */
  drawShares(context, view, top, first, last, fills) {
    const dots = Math.ceil(view.width);
    const kinds = fills.length;
    const shares = new Float32Array(dots * kinds);
    const scale = dots / (view.to - view.from);
    for (let i = first; i < last; i++) {
      const begin = Math.max(0, (this.start[i] - view.from) * scale);
      const end = Math.min(dots, (this.until(i) - view.from) * scale);
      const code = this.code[i];
      for (let dot = Math.floor(begin); dot < end; dot++) {
        shares[dot * kinds + code] += Math.min(end, dot + 1) - Math.max(begin, dot);
      }
    }
    for (let kind = 0; kind < kinds; kind++) {
      context.fillStyle = fills[kind];
      for (let dot = 0; dot < dots; dot++) {
        const share = shares[dot * kinds + kind];
        if (share === 0) continue;
        let below = 0;
        for (let other = 0; other < kind; other++) below += shares[dot * kinds + other];
        const height = Math.min(share, Math.max(0, 1 - below)) * this.height;
        context.fillRect(dot, top + this.height * (1 - below) - height, 1, height);
      }
    }
  }

  at(time) {
    for (let i = above(this.start, time) - 1; i >= Math.max(0, above(this.start, time) - 4); i--) {
      if (time < this.until(i)) return this.told(i);
    }
    return "nothing";
  }

  told(i) {
    return `${this.names[this.code[i]]} for ${duration(this.until(i) - this.start[i])} from ${clockText(this.start[i])}`;
  }

  /** Seconds in each kind within a span, as a text. */
  spent(from, to) {
    const [first, last] = this.within(from, to);
    const sums = this.names.map(() => 0);
    for (let i = first; i < last; i++) {
      const inside = Math.min(to, this.until(i)) - Math.max(from, this.start[i]);
      if (inside > 0) sums[this.code[i]] += inside;
    }
    const found = this.names.map((name, kind) => [name, sums[kind]]).filter(([, ns]) => ns > 0);
    return found.map(([name, ns]) => `${name} ${quantity(ns / (to - from), "%")}`).join(", ") || "nothing";
  }

  /** The next beginning after a time, or the last one before it. */
  neighbour(time, forward) {
    const index = forward ? above(this.start, time) : above(this.start, time - 1) - 1;
    return this.start[index] ?? null;
  }
}

class FrameLane extends PeriodLane {
  constructor(description, array) {
    super(description, array);
    this.height = 26;
    const fields = description.fields;
    this.bytes = array(fields.bytes);
    this.retry = array(fields.retry);
    this.sequence = array(fields.sequence);
    this.detail = description.detail;
    this.coded = ["from", "to", "type", "rate", "outcome"].map((name) => ({ code: array(fields[name]), labels: description.labels[name] }));
  }

  decorate(context, view, top, i, left, right) {
    if (this.retry[i] && right - left >= 2) {
      context.fillStyle = colour("ink");
      context.fillRect(left, top, right - left, 3);
    }
    if (right - left > 64) {
      const text = `${this.label_of(2, i)} ${grouped(this.bytes[i])} B`;
      context.fillStyle = colour("paper");
      context.fillText(text, left + 4, top + this.height / 2 + 4, right - left - 8);
    }
  }

  draw(context, view, top) {
    this.drawLeftOut(context, view, top);
    super.draw(context, view, top);
  }

  /** Where frames are not kept, which is not where there were none. */
  drawLeftOut(context, view, top) {
    const [begin, end] = this.detail.map((time) => Math.min(view.width, Math.max(0, view.x(time))));
    context.fillStyle = colour("line");
    for (const [left, right] of [[0, begin], [end, view.width]]) {
      for (let x = 6 * Math.ceil(left / 6); x < right; x += 6) context.fillRect(x, top, 2, this.height);
    }
  }

  at(time) {
    return time < this.detail[0] || time > this.detail[1] ? "single frames are not kept here" : super.at(time);
  }

  label_of(column, i) {
    const { code, labels } = this.coded[column];
    return labels[code[i]];
  }

  told(i) {
    const [from, to, type, rate, outcome] = [0, 1, 2, 3, 4].map((column) => this.label_of(column, i));
    const again = this.retry[i] ? ", a retry" : "";
    return `${type} frame from ${from} to ${to}, ${grouped(this.bytes[i])} B at ${rate}, ${outcome}${again}, sequence ${this.sequence[i]}, ${duration(this.until(i) - this.start[i])} from ${clockText(this.start[i])}`;
  }
}

class MarkLane {
  constructor(description, array) {
    this.label = description.label;
    this.names = description.names;
    this.colours = description.colours;
    this.start = array(description.start);
    this.code = array(description.code);
    this.height = 16;
  }

  get points() {
    return this.start.length;
  }

  draw(context, view, top) {
    const [first, last] = [above(this.start, view.from - 1), above(this.start, view.to)];
    const fills = this.colours.map((name) => colour(name));
    // Many ticks become a tint rather than a solid bar.
    context.globalAlpha = Math.min(1, Math.max(0.25, view.width / (last - first + 1) / 2));
    for (let i = first; i < last; i++) {
      context.fillStyle = fills[this.code[i]];
      context.fillRect(view.x(this.start[i]) - 0.75, top, 1.5, this.height);
    }
    context.globalAlpha = 1;
  }

  at(time, near) {
    const i = above(this.start, time);
    const nearest = [i - 1, i].filter((k) => k >= 0 && k < this.start.length && Math.abs(this.start[k] - time) <= near);
    return nearest.map((k) => `${this.names[this.code[k]]} at ${clockText(this.start[k])}`).at(-1) ?? "nothing";
  }

  spent(from, to) {
    return `${grouped(above(this.start, to) - above(this.start, from - 1))} marks`;
  }

  neighbour(time, forward) {
    return this.start[forward ? above(this.start, time) : above(this.start, time - 1) - 1] ?? null;
  }
}

class LevelLane {
  constructor(description, array) {
    this.label = description.label;
    this.unit = description.unit;
    this.series = description.series.map(({ name, time, value }) => ({ name, time: array(time), value: array(value) }));
    this.most = this.series.reduce((most, { value }) => value.reduce((a, b) => Math.max(a, b), most), 0) || 1;
    this.height = 64;
    this.start = this.series[0]?.time ?? new Float64Array(0);
    this.label += `, 0 to ${quantity(this.most, this.unit)}`;
  }

  get points() {
    return this.series.reduce((sum, { time }) => sum + time.length, 0);
  }

  draw(context, view, top) {
    const y = (value) => top + this.height * (1 - value / this.most);
    this.series.forEach(({ time, value }, index) => {
      const tint = colour(`series-${index % 10}`);
      const first = Math.max(0, above(time, view.from) - 1);
      const last = above(time, view.to);
      context.strokeStyle = context.fillStyle = tint;
      if (last - first > 3 * view.width) this.drawBand(context, view, y, time, value, first, last);
      else this.drawSteps(context, view, y, time, value, first, last);
    });
  }

  drawSteps(context, view, y, time, value, first, last) {
    context.beginPath();
    for (let i = first; i < last; i++) {
      const x = Math.max(0, view.x(time[i]));
      if (i > first) context.lineTo(x, y(value[i - 1]));
      context.lineTo(x, y(value[i]));
    }
    if (last > first) context.lineTo(view.width, y(value[last - 1]));
    context.lineWidth = 1.5;
    context.stroke();
  }

  /** From the lowest to the highest value of each dot. */
  drawBand(context, view, y, time, value, first, last) {
    let i = first;
    for (let dot = 0; dot < view.width && i < last; dot++) {
      const until = view.time(dot + 1);
      let low = value[i];
      let high = value[i];
      while (i < last && time[i] < until) {
        low = Math.min(low, value[i]);
        high = Math.max(high, value[i]);
        i++;
      }
      context.fillRect(dot, y(high), 1, Math.max(1.5, y(low) - y(high)));
      if (i > first) i -= 1;
      while (i < last && time[i] < until) i++;
    }
  }

  at(time) {
    const told = this.series.map(({ name, time: times, value }) => {
      const index = above(times, time) - 1;
      return `${name} ${index < 0 ? NOTHING : quantity(value[index], this.unit)}`;
    });
    return told.join(", ");
  }

  spent(from) {
    return this.at(from);
  }

  neighbour(time, forward) {
    return this.start[forward ? above(this.start, time) : above(this.start, time - 1) - 1] ?? null;
  }
}

/** A time as text, as fine as the number is. */
function clockText(ns) {
  const seconds = Math.floor(ns / 1e9);
  const rest = String(Math.round(ns - seconds * 1e9)).padStart(9, "0").replace(/(000)+$/, "");
  const fine = rest ? `.${rest.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f")}` : "";
  if (seconds < 600) return `${seconds}${fine}\u00a0s`;
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return `${hours}:${String(minutes).padStart(2, "0")}:${String(seconds % 60).padStart(2, "0")}${fine}`;
}
