/* Dead letters: what of a topic could not be judged. The service does not read the topic; the commands that do are shown. */

import { fill, h } from "../dom.js";
import { heading } from "../parts/heading.js";
import { notice } from "../parts/states.js";

export const title = "Dead letters";
const COMMANDS = "gate deadletters list --kafka HOST:9092\ngate deadletters list --reason too_large --last 20\ngate deadletters replay --reason too_large";

export function show({ root }) {
  fill(
    root,
    heading(title, { lead: "Check-ins from a topic that could not be judged, and why." }),
    notice({
      title: "This service does not read the topic of dead letters",
      text: "What is sent over HTTP and cannot be judged is refused with its problem at once, and counted in the overview. Dead letters of the workers on Kafka are listed, and sent again once the cause is gone, by these commands:",
    }),
    h("pre", { class: "code", tabindex: "0" }, COMMANDS),
  );
}
