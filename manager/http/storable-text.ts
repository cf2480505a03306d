/** Message for a client that sent such a text. */
export const UNSTORABLE_TEXT = 'A text in it holds the character U+0000 or half of a surrogate pair.'

/**
 * Whether a text in the body, a key or a value at any depth, holds what PostgreSQL cannot store: U+0000, or half of a
 * surrogate pair. UTF-8 has no form for the halves, and JSON allows U+0000 only as an escape, so a body without `\u` has
 * neither.
 *
 * @param json the body as it came
 * @param value the same, parsed
 */
export function hasUnstorableText(json: string, value: unknown): boolean {
  return json.includes('\\u') && isUnstorable(value)
}

/** Iterative, because a body may be nested deeper than the stack. */
function isUnstorable(root: unknown): boolean {
  const left = [root]
  while (left.length > 0) {
    const value = left.pop()
    if (typeof value === 'string') {
      if (!value.isWellFormed() || value.includes('\0')) return true
    } else if (typeof value === 'object' && value !== null) {
      for (const [key, inner] of Object.entries(value)) left.push(key, inner)
    }
  }
  return false
}
