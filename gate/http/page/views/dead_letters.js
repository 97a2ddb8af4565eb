export const title = "Dead letters";
export function show() {}
