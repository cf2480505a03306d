import { z } from 'zod'

const MOST_CHARACTERS = 200_000

/** How much of a text an answer shows. */
export const ShownCharacters = z
  .int()
  .min(100)
  .max(MOST_CHARACTERS)
  .default(20_000)
  .describe('Most characters of each text in the answer; of a longer one the end is shown, and `truncated` is true.')

/** The end of a text. */
export function lastOf(text: string, most: number): { readonly text: string; readonly truncated: boolean } {
  return text.length > most ? { text: text.slice(-most).toWellFormed(), truncated: true } : { text, truncated: false }
}

/** Marks what programs in a session wrote. */
export const ofSession = <Output extends Readonly<Record<string, unknown>>>(output: Output) => ({
  untrustedOutput: output,
})
