import { createInterface } from 'node:readline/promises'
import { AppError } from '#manager/contract'
import { printable } from './output.ts'

/** The person's terminal, or a stand-in. */
export type Terminal = Pick<typeof process, 'stdin' | 'stderr'>

/**
 * Asks a question in the terminal, which gets no control sequences of names in it; anything but yes is no.
 *
 * @param unasked text for the case without a terminal, which explains `--yes`: `If the code is yours, add --yes.`
 *
 * @throws AppError `bad_request` if there is no terminal
 */
export async function agrees(question: string, unasked: string, terminal: Terminal = process): Promise<boolean> {
  requireTerminal(unasked, terminal)
  const lines = createInterface({ input: terminal.stdin, output: terminal.stderr })
  try {
    return /^y(es)?$/i.test((await lines.question(printable(`${question} [y/N] `))).trim())
  } finally {
    lines.close()
  }
}

/** Throws before any work if `agrees` could not ask later, for want of a terminal. @throws AppError `bad_request` */
export function requireTerminal(unasked: string, { stdin }: Pick<Terminal, 'stdin'> = process): void {
  if (stdin.isTTY) return
  throw new AppError('bad_request', { why: `There is no terminal to ask. ${unasked}` })
}

/** Text of others without control characters, which could rewrite the question. */
export const plain = (words: string) => words.replace(/[\p{Cc}\p{Cf}]/gu, '').slice(0, 300)
