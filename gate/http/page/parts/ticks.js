/* Round numbers for an axis: from 0 to the first that is not below the highest value. */

export function niceTicks(highest, about) {
  if (!(highest > 0)) return [0, 1];
  const rough = highest / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((one) => one >= rough * 0.999);
  const ticks = [0];
  while (ticks[ticks.length - 1] < highest) ticks.push(Number((step * ticks.length).toPrecision(12)));
  return ticks;
}
