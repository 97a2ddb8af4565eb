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
        if (moved.get(pane) !== undefined && Math.abs(moved.get(pane) - pane.scrollTop) < 2) {
          moved.delete(pane);
          return;
        }
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

  let current = null;
  return (step) => {
    const own = panes.flatMap((pane) => [...pane.querySelectorAll(".own")].map((element) => ({ pane, element, at: middleOf(pane, element) })));
    if (own.length === 0) return;
    own.sort((a, b) => a.at - b.at);
    const place = own.findIndex(({ element }) => element === current);
    const next = own[(place < 0 ? (step > 0 ? 0 : own.length - 1) : place + step + own.length) % own.length];
    own[place]?.element.classList.remove("current");
    current = next.element;
    current.classList.add("current");
    next.pane.scrollTop = next.element.offsetTop - next.pane.clientHeight * HEIGHT_SHARE;
  };
}

const top = (pane, place) => pane.children[place].offsetTop;
/* Where a passage is, as a share of its text: passages of both sides are gone through together. */
const middleOf = (pane, element) => element.offsetTop / Math.max(1, pane.scrollHeight);

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
