/* The points of an overview as series of a chart: the whole time that is shown, in at most BARS intervals. */

import { duration, short, words } from "../format.js";
import { RELATIONS } from "../parts/relation.js";

const BARS = 90;
const QUANTILES = [
  ["p50_seconds", "half", "q-50"],
  ["p95_seconds", "95 %", "q-95"],
  ["p99_seconds", "99 %", "q-99"],
];

/* {rate, verdicts, latency}: check-ins per second in the last interval that is over, and the data of two charts. */
export function windowOf(overview, minutes) {
  const seconds = overview.interval_seconds;
  const number = Math.round((minutes * 60) / seconds);
  const together = Math.ceil(number / BARS);
  const now = Math.floor(new Date(overview.at) / 1000 / seconds) * seconds;
  const points = new Map(overview.points.map((point) => [Math.round(new Date(point.at) / 1000), point]));
  const times = [];
  const groups = [];
  for (let place = 0; place < number; place += together) {
    const first = now - (number - 1 - place) * seconds;
    times.push(new Date(first * 1000));
    groups.push(Array.from({ length: together }, (_, k) => points.get(first + k * seconds)).filter(Boolean));
  }
  const last = points.get(now - seconds);
  return {
    rate: last ? last.verdicts / seconds : (points.get(now)?.verdicts ?? 0) / seconds,
    verdicts: { times, series: verdictSeries(overview.window.relations, groups) },
    latency: { times, series: latencySeries(overview.window, groups) },
  };
}

function verdictSeries(totals, groups) {
  return RELATIONS.filter((relation) => totals[relation]).map((relation) => ({
    label: words(relation),
    kind: `r-${relation}`,
    total: short(totals[relation]),
    values: groups.map((group) => group.reduce((sum, point) => sum + (point.relations[relation] ?? 0), 0)),
  }));
}

/* Of several intervals together, the highest. */
function latencySeries(totals, groups) {
  return QUANTILES.map(([name, label, kind]) => ({
    label,
    kind,
    total: duration(totals[name]),
    values: groups.map((group) => group.reduce((most, point) => (point[name] === null ? most : Math.max(most ?? 0, point[name])), null)),
  }));
}
