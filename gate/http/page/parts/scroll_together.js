/* Two panes of passages that scroll together: what they share stays side by side, however much lies between.

   Shared passages with the same words, in the same order on both sides, are anchors; between two anchors a pane scrolls
   in proportion to the other. */

const HEIGHT_SHARE = 0.3; // of a pane: where on it what is side by side is read

/* Returns jump(step): go to the next passage that is on one side only, or the one before. */
export function scrollTogether(panes, passages, signal) {
  const anchored = anchorsOf(...passages);
  const moved = new Map(); // pane: the position that it was set to, which is not to be followed
  let anchors = null;

  const measure = () => {
    anchors = [[0, 0], ...anchored.map(([left, right]) => [top(panes[0], left), top(panes[1], right)]), panes.map((pane) => pane.scrollHeight)];
  };
  new ResizeObserver(() => {
    anchors = null;
  }).observe(panes[0]);

  panes.forEach((pane, side) => {
    pane.addEventListener(
      "scroll",
      () => {
        const expected = moved.get(pane);
        moved.delete(pane); // also where somebody scrolled it before it got there
        if (expected !== undefined && Math.abs(expected - pane.scrollTop) < 2) return;
        if (anchors === null) measure();
        const other = panes[1 - side];
        const target = Math.max(0, Math.min(other.scrollHeight - other.clientHeight, follow(pane, other, side)));
        if (Math.abs(target - other.scrollTop) < 1) return;
        other.scrollTop = target;
        moved.set(other, other.scrollTop);
      },
      { signal, passive: true },
    );
  });

  function follow(pane, other, side) {
    if (pane.scrollTop <= 0) return 0;
    if (pane.scrollTop >= pane.scrollHeight - pane.clientHeight - 1) return other.scrollHeight;
    const at = pane.scrollTop + pane.clientHeight * HEIGHT_SHARE;
    const after = Math.max(1, anchors.findIndex((anchor) => anchor[side] > at));
    const [from, to] = [anchors[after - 1], anchors[after]];
    const share = to[side] === from[side] ? 0 : (at - from[side]) / (to[side] - from[side]);
    return from[1 - side] + share * (to[1 - side] - from[1 - side]) - other.clientHeight * HEIGHT_SHARE;
  }

  const differences = differencesOf(passages, anchored);
  let current = null;
  return (step) => {
    if (differences.length === 0) return;
    if (current !== null) elementOf(current).classList.remove("current");
    current = current === null ? (step > 0 ? 0 : differences.length - 1) : (current + step + differences.length) % differences.length;
    const element = elementOf(current);
    const pane = panes[differences[current][0]];
    element.classList.add("current");
    pane.scrollTop = element.offsetTop - pane.clientHeight * HEIGHT_SHARE;
  };

  function elementOf(place) {
    const [side, passage] = differences[place];
    return panes[side].children[passage];
  }
}

const top = (pane, place) => pane.children[place].offsetTop;

/* Passages of one side only, as [side, place], in the order in which one reads both texts. */
export function differencesOf(passages, anchors) {
  const found = [];
  let from = [0, 0];
  for (const to of [...anchors, passages.map((side) => side.length)]) {
    for (const side of [0, 1]) {
      for (let place = from[side]; place < to[side]; place += 1) if (!passages[side][place].shared) found.push([side, place]);
    }
    from = to;
  }
  return found;
}

/* Pairs of places with equal shared passages, rising on both sides. */
export function anchorsOf(left, right) {
  const places = new Map();
  right.forEach((passage, place) => {
    if (passage.shared) places.set(words(passage), [...(places.get(words(passage)) ?? []), place]);
  });
  const anchors = [];
  let last = -1;
  left.forEach((passage, place) => {
    const match = passage.shared ? (places.get(words(passage)) ?? []).find((one) => one > last) : undefined;
    if (match === undefined) return;
    anchors.push([place, match]);
    last = match;
  });
  return anchors;
}

const words = (passage) => passage.text.toLowerCase().replace(/\s+/g, " ").trim();
