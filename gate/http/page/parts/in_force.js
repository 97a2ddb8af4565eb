/* By which measure the profile in force decides, and from where on. */

import { api } from "../api.js";
import { sentence } from "../format.js";

const BITS = 64;
const BITS_FLOOR = 1 - 16 / BITS; // of unrelated texts some agree in less
const SHARE_FLOOR = 0.3; // less is hardly ever brought together by the index
const SHARE_STEPS = 200; // of half a per cent

let known = null;

/* {ref, parameters, label, threshold, floor, steps, share}: `share(row)` is what the threshold is for; `steps` of a slider
   are a whole. */
export async function profileInForce(signal) {
  if (known === null) {
    const { profiles } = await api.profiles(signal);
    known = decision(profiles.find((profile) => profile.in_force));
  }
  return known;
}

export function decision({ ref, parameters }) {
  const { resemblance = null, containment = null } = parameters;
  const threshold = resemblance ?? containment;
  if (threshold === null) return byBits({ ref, parameters });
  const label = [resemblance !== null && "resemblance", containment !== null && "containment"].filter(Boolean).join(" or ");
  const share = (row) => Math.max((resemblance !== null && row.resemblance) || 0, (containment !== null && row.containment) || 0);
  return { ref, parameters, label: sentence(label), threshold, floor: Math.min(SHARE_FLOOR, threshold), steps: SHARE_STEPS, share };
}

/* As a look-up by a fingerprint alone is decided. */
export function byBits({ ref, parameters }) {
  const threshold = 1 - (parameters.radius ?? 3) / BITS;
  return { ref, parameters, label: "Bit agreement", threshold, floor: Math.min(BITS_FLOOR, threshold), steps: BITS, share: (row) => (row.distance === null ? 0 : 1 - row.distance / BITS) };
}
