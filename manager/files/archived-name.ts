/**
 * A byte of a name that is not valid UTF-8, a control character, a mark that changes the writing direction, a character that Windows does
 * not take, a point or blank at the end, which Windows leaves out, or text that looks escaped.
 */
const ESCAPED =
  /[\uef80-\uefff\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\\:*?"<>|]|[. ]$|%(?=[0-9A-Fa-f]{2})/g

/**
 * Makes a file name for an archive that no program mistakes for a path outside of it (on Windows `\` is a separator and `C:` a disk), and
 * that is valid everywhere. Different names stay different: each replaced byte becomes `%` and two hexadecimal digits, as in URLs. So a
 * folder with names in CP949 keeps all its files.
 */
export function archivedName(name: string): string {
  return name.replace(ESCAPED, escapedText)
}

function escapedText(character: string): string {
  const code = character.charCodeAt(0)
  if (code >= 0xef80 && code <= 0xefff) return percent(code & 0xff)
  return code < 0x80 ? percent(code) : encodeURIComponent(character)
}

const percent = (byte: number) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
