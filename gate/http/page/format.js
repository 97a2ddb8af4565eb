/* Numbers, times and names as people read them. */

const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
const TENTHS = new Intl.NumberFormat("en", { minimumFractionDigits: 1, maximumFractionDigits: 1 });
const THREE = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const DATE = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const MINUTE = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

export const NONE = "\u2013";

export const count = (value) => (value === null || value === undefined ? NONE : WHOLE.format(value));
export const short = (value) => (value === null || value === undefined ? NONE : value < 10000 ? WHOLE.format(value) : SHORT.format(value));

/* Rounded down: 64.96 % is not the 65 % that are asked for. */
export function percent(share) {
  if (share === null || share === undefined) return NONE;
  return `${TENTHS.format(Math.floor(share * 1000 + 1e-6) / 10)} %`;
}

export function rate(perSecond) {
  return perSecond === null ? NONE : perSecond >= 100 ? WHOLE.format(perSecond) : THREE.format(Math.round(perSecond * 100) / 100);
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds < 0.001) return `${THREE.format(seconds * 1e6)} \u00b5s`;
  if (seconds < 1) return `${THREE.format(seconds * 1000)} ms`;
  if (seconds < 120) return `${THREE.format(seconds)} s`;
  if (seconds < 7200) return `${WHOLE.format(Math.floor(seconds / 60))} min`;
  if (seconds < 172800) return `${WHOLE.format(Math.floor(seconds / 3600))} h`;
  return `${WHOLE.format(Math.floor(seconds / 86400))} days`;
}

export function bytes(value) {
  if (value === null || value === undefined) return NONE;
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? WHOLE.format(value) : THREE.format(value)} ${units[unit]}`;
}

const parsed = (time) => (time instanceof Date ? time : new Date(time));
export const moment = (time) => (time ? DATE.format(parsed(time)) : NONE);
export const clock = (time) => CLOCK.format(parsed(time));
export const minute = (time) => MINUTE.format(parsed(time));
export const day = (time) => DAY.format(parsed(time));

/* "1 document", "2 documents" */
export function counted(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export const words = (name) => name.replaceAll("_", " ");
export const sentence = (name) => words(name).replace(/^./, (first) => first.toUpperCase());
