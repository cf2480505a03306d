/** Message for a client that sent text that PostgreSQL cannot store. */
export const UNSTORABLE_TEXT = 'A text in the request has the character U+0000 or half of a surrogate pair. Remove it.'

/**
 * Escapes in JSON that PostgreSQL cannot store as text, and complete surrogate pairs, which it can (second group). JSON allows U+0000 only
 * as an escape, and UTF-8 cannot encode half of a pair, so only escapes need to be checked. The first group is an even number of
 * backslashes before the escape: an odd one would make it plain text. Scanning the text instead of the parsed value needs no stack, however
 * deep the value is nested.
 */
const ESCAPES = /(?<!\\)((?:\\\\)*)(?:(\\ud[89ab]..\\ud[c-f]..)|\\u0000|\\ud[89a-f]..)/gi

/** @param json valid JSON, decoded from UTF-8; its keys are checked too */
export function hasUnstorableText(json: string): boolean {
  for (const [, , pair] of json.matchAll(ESCAPES)) if (pair === undefined) return true
  return false
}

/** @returns the JSON without U+0000, and with U+FFFD in place of half a surrogate pair, like `toWellFormed` */
export function withStorableText(json: string): string {
  return json.replace(ESCAPES, (escape, backslashes: string, pair?: string) => {
    if (pair !== undefined) return escape
    return escape.endsWith('\\u0000') ? backslashes : `${backslashes}\\ufffd`
  })
}
