/** The value of a JSON text; undefined where it is none, which the caller's schema refuses in words of its own. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
