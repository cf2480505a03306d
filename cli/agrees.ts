import { createInterface } from 'node:readline/promises'
import { AppError } from '#manager/contract'

/**
 * Asks a question in the terminal; anything but yes is no.
 *
 * @param unasked text for the case without a terminal, which explains `--yes`: `If the code is yours, add --yes.`
 *
 * @throws AppError `bad_request` if there is no terminal
 */
export async function agrees(question: string, unasked: string): Promise<boolean> {
  requireTerminal(unasked)
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim())
  } finally {
    lines.close()
  }
}

/** Throws before any work if `agrees` could not ask later, for want of a terminal. @throws AppError `bad_request` */
export function requireTerminal(unasked: string): void {
  if (process.stdin.isTTY) return
  throw new AppError('bad_request', { why: `There is no terminal to ask. ${unasked}` })
}

/** Text of others without control characters, which could rewrite the question. */
export const plain = (words: string) => words.replace(/[\p{Cc}\p{Cf}]/gu, '').slice(0, 300)
