/* By which measure the profile in force decides, and from where on. */

import { api } from "../api.js";

export const BITS_FLOOR = 0.75; // 16 of 64 bits differ: as far as an index of fingerprints is asked
export const SHARE_FLOOR = 0.3; // less is hardly ever brought together by the index

let known = null;

/* {ref, measure, label, threshold, floor, parameters} */
export async function profileInForce(signal) {
  if (known === null) {
    const { profiles } = await api.profiles(signal);
    known = decision(profiles.find((profile) => profile.in_force));
  }
  return known;
}

export function decision({ ref, parameters }) {
  for (const measure of ["resemblance", "containment"]) {
    const threshold = parameters[measure] ?? null;
    if (threshold !== null) return { ref, parameters, measure, label: measure === "resemblance" ? "Resemblance" : "Containment", threshold, floor: Math.min(SHARE_FLOOR, threshold) };
  }
  return byBits({ ref, parameters });
}

/* As a look-up by a fingerprint alone is decided. */
export function byBits({ ref, parameters }) {
  const threshold = 1 - (parameters.radius ?? 3) / 64;
  return { ref, parameters, measure: "bit_agreement", label: "Bit agreement", threshold, floor: Math.min(BITS_FLOOR, threshold) };
}
