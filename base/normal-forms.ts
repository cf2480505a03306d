/**
 * Unicode writes letters with marks, and Korean syllables, as one character (NFC, from keyboards) or in parts (NFD, from file names of a Mac). Both look
 * the same. Names of files are kept as they come and compared in one form.
 *
 * @see https://unicode.org/reports/tr15/
 */

/** The text in NFC, the form in which texts are compared, and in which secrets and tags are stored. */
export const inOneForm = (text: string): string => text.normalize('NFC')

/** Whether two texts are equal apart from their Unicode form. */
export const isSameText = (a: string, b: string): boolean => a === b || inOneForm(a) === inOneForm(b)

/** The text in its other Unicode forms: none for most texts, both for a text that mixes them. */
export function otherForms(text: string): string[] {
  if (isAscii(text)) return []
  return [...new Set([text.normalize('NFC'), text.normalize('NFD')])].filter(form => form !== text)
}

const isAscii = (text: string) => /^[\0-\x7f]*$/.test(text)
