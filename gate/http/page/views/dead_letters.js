/* The dead letters of the topic: what could not be judged, and why. */

import { fill, h } from "../dom.js";
import { heading } from "../parts/heading.js";
import { notice } from "../parts/states.js";

export const title = "Dead letters";

export function show({ root, session }) {
  fill(root, heading(title, { lead: "Check-ins from the topic that could not be judged, and why." }));
  if (!session.dead_letters) root.append(h("div", {}, notice({ title: "This service reads no topic", text: "Dead letters are kept in a topic of Kafka. Start the service with --kafka to see them here." })));
}
