/* Texts that the user gave: kept in this tab only, until it is closed or loaded anew, and named by a number in URLs. */

const texts = new Map();

/* The number by which a text is named in a URL. `name`: of its file; `document_id`: of the document that it is of. */
export function supply(text, { name = null } = {}) {
  for (const [key, known] of texts) if (known.text === text && known.name === name) return key;
  const key = String(texts.size + 1);
  texts.set(key, { text, name });
  return key;
}

export const supplied = (key) => texts.get(key) ?? null;
