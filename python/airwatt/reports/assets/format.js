// Numbers with their units as texts, and elements of the page. The tables of the command line write numbers alike.

/** Makes an element: attributes by name, `on...` for listeners, then children. Null children are left out. */
function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "class") made.className = value;
    else if (key === "style") Object.assign(made.style, value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) made.append(child);
  return made;
}

const PREFIXES = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"]];
const MINUS = "\u2212";
const NOTHING = "\u2013";

/** Writes a number with three or so digits. */
function digits(value, count = 3) {
  if (value === 0) return "0";
  const size = Math.abs(value);
  const places = Math.max(0, count - 1 - Math.floor(Math.log10(size)));
  const text = size >= 1e15 || size < 1e-12 ? value.toExponential(2) : value.toFixed(Math.min(places, 12));
  return text.replace("-", MINUS);
}

/** Writes a number of SI units: `12.3 mA`, `15.0 Mb/s`, `41.2 %`, `1.42 ×`. */
function quantity(value, unit = "", count = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return NOTHING;
  if (!Number.isFinite(value)) return unit === "s" ? "for ever" : "∞";
  if (unit === "%") return `${digits(100 * value, Math.abs(value) >= 0.1 ? count : count - 1)}\u00a0%`;
  if (unit === "x") return `${digits(value, count)}\u00a0×`;
  if (unit === "") return grouped(value);
  if (unit === "lasting") return lasting(value);
  if (unit === "s" && Math.abs(value) >= 1) return `${digits(value, Math.abs(value) >= 100 ? 4 : count)}\u00a0s`;
  if (value === 0) return `0\u00a0${unit}`;
  const size = Math.abs(value);
  const [factor, prefix] = PREFIXES.find(([least]) => size >= 0.9995 * least) ?? PREFIXES.at(-1);
  // Nobody says millimilliamperehours.
  const plain = unit === "mAh" || (unit === "J" && size >= 1 && size < 1e6) ? [1, ""] : [factor, prefix];
  return `${digits(value / plain[0], size >= 100 && plain[0] === 1 ? 4 : count)}\u00a0${plain[1]}${unit}`;
}

/** Writes a count with narrow spaces between thousands; a mean of counts has one decimal if it is small. */
function grouped(value) {
  const text = Number.isInteger(value) || Math.abs(value) >= 100 ? Math.round(value).toString() : digits(value);
  return text.replace("-", MINUS).replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f");
}

/** Writes a lifetime: hours, days or years. */
function lasting(seconds) {
  const days = seconds / 86400;
  if (days < 2) return `${digits(seconds / 3600)}\u00a0h`;
  return days < 730 ? `${digits(days)}\u00a0days` : `${digits(days / 365.25)}\u00a0years`;
}

/** Writes a mean with its 95 % interval, in the unit and with the decimals of the mean. */
function estimated([mean, ci95], unit) {
  if (!ci95 || mean === null) return quantity(mean, unit);
  const text = quantity(mean, unit, 4);
  const [number, ...rest] = text.split("\u00a0");
  const scale = Math.abs(mean) / Math.abs(Number(number.replace(MINUS, "-").replace(/\u202f/g, ""))) || 1;
  const decimals = (number.split(".")[1] ?? "").length;
  return [`${number} ± ${(ci95 / scale).toFixed(decimals)}`, ...rest].join("\u00a0");
}

/** Writes a duration in nanoseconds. */
function duration(ns) {
  return quantity(ns / 1e9, "s", 4);
}

/** The text of a style property of the page, as a colour for a canvas. */
function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim() || "#888";
}

/** The least and the greatest of the numbers that are some; a spread of 10^5 arguments would be too many for a call. */
function extent(values) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) {
    if (value === null || value === undefined || Number.isNaN(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return [low, high];
}

/** Calls a function at most once a frame of the display. */
function oncePerFrame(work) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      work();
    });
  };
}
