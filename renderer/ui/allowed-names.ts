import { ALLOWED_NAME, MOST_ALLOWED_NAMES } from '#manager/contract'

/** Names as people type or paste them: in lines, or with commas or spaces between them. */
export const namesIn = (text: string): string[] => [...new Set(text.split(/[\s,;]+/).filter(Boolean))]

/** Validates a list of names. @returns the first invalid entry, `null` if there are too many entries, undefined if the list is valid */
export function wrongName(text: string): string | null | undefined {
  const names = namesIn(text)
  const wrong = names.find(name => name.length > 255 || !ALLOWED_NAME.test(name))
  if (wrong !== undefined) return wrong
  return names.length > MOST_ALLOWED_NAMES ? null : undefined
}
