import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { AppError } from '#manager/contract'
import { type Terminal } from './agrees.ts'
import { readInputFile } from './input-file.ts'
import { printable } from './output.ts'

/** All of standard input, without its last line break. */
export async function readStandardInput(): Promise<string> {
  return (await readInputFile('-')).toString('utf8').replace(/\r?\n$/, '')
}

/**
 * Asks in the terminal, without showing the input. A question may name what a server says, which the terminal must not obey.
 *
 * @param option of the command that reads the secret from standard input
 *
 * @throws AppError `bad_request` if there is no terminal
 */
export async function promptSecret(
  question: string,
  option = '--password-stdin',
  { stdin, stderr }: Terminal = process,
): Promise<string> {
  if (!stdin.isTTY) {
    const why = `There is no terminal to ask for "${question.replace(/:? *$/, '')}". Pass the value by standard input: ${option}.`
    throw new AppError('bad_request', { why })
  }
  stderr.write(printable(question))
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: stdin, output: silent, terminal: true })
  try {
    return await lines.question('')
  } finally {
    lines.close()
    stderr.write('\n')
  }
}
