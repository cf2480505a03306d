/**
 * Unicode writes letters with marks, and Korean syllables, as one character (NFC, from keyboards) or in parts (NFD, from file names of a Mac). Both look
 * the same. Names of files are kept as they come and compared in one form.
 *
 * @see https://unicode.org/reports/tr15/
 */

/** Text in the form that is compared, and that secrets and tags are kept in. */
export const inOneForm = (text: string): string => text.normalize('NFC')

/** Whether two texts differ in their form at most. */
export const isSameText = (a: string, b: string): boolean => a === b || inOneForm(a) === inOneForm(b)

/** The text in its other forms; none for most texts. A text that mixes the forms has both. */
export function otherForms(text: string): string[] {
  if (isAscii(text)) return []
  return [...new Set([text.normalize('NFC'), text.normalize('NFD')])].filter(form => form !== text)
}

const isAscii = (text: string) => /^[\0-\x7f]*$/.test(text)
