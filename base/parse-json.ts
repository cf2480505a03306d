/** Parses JSON text; undefined for other text, which the caller's schema then refuses with its own message. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
