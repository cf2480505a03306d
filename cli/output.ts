import { AppError, isAppError } from '#manager/contract/light'
import { isCommanderError } from './commander-error.ts'

/** Output of commands. Data goes to stdout, all other text for people to stderr. */
export interface Output {
  /** Prints JSON with --json, else the text. */
  readonly data: (value: unknown, text: () => string) => void
  readonly note: (text: string) => void
  readonly json: boolean
}

export function createOutput(json: boolean): Output {
  return {
    json,
    data: (value, text) => void process.stdout.write(json ? `${jsonText(value)}\n` : `${printable(text())}\n`),
    note: text => void process.stderr.write(`${printable(text)}\n`),
  }
}

/**
 * Makes text safe for a person's terminal. Logs, reasons and names come from containers and other users, and a terminal obeys
 * control sequences (clipboard, title, cursor, answers typed in the user's name): only colours pass. A carriage return passes
 * only before a line feed (elsewhere the rest of a line would hide its start). Marks that change the text direction do not
 * pass. Both would show something else than the text.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, (_, allowed?: string) => allowed ?? '\ufffd')
}

const UNPRINTABLE =
  /(\u001b\[[\d;]*m|(?<!\r)\r+\n)|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** JSON in which the characters that `printable` replaces are escapes, which programs read as the same. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value).replace(
    NOT_IN_JSON,
    character => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Unprintable characters that `JSON.stringify` leaves as they are. */
const NOT_IN_JSON = /[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/** A table with columns padded to their widest cell, except the last one. A line break in a cell, as names of files may have, shows as �. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, ...rows].map(line => line.map(cell => cell.replace(/[\r\n\t]/g, '\ufffd')))
  const widths = head.map((_, column) => Math.max(...lines.map(line => (line[column] ?? '').length)))
  return lines
    .map(line =>
      line
        .map((cell, i) => (i === head.length - 1 ? cell : cell.padEnd(widths[i] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Formats an error as one line that tells a person what to do; with --json as the problem itself. */
export function describeFailure(error: unknown, json: boolean): string {
  if (json) return jsonText({ error: wire(error) })
  if (isAppError(error)) return printable(`berth: ${error.message} (${error.code})${moreFields(error)}`)
  return printable(`berth: ${messageOf(error)}`)
}

function wire(error: unknown) {
  const { code, message, detail } = isAppError(error) ? error : asAppError(error)
  return { code, message, detail }
}

/** Keeps the error's own text: a failure in this process is shown only to its user. */
function asAppError(error: unknown): AppError {
  if (!isCommanderError(error)) return new AppError('internal', { why: messageOf(error) })
  return new AppError('bad_request', { why: error.message.replace(/^error: /, '') })
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))

/** `bad_request` lists every field, and quotes the first in its message: `{ fields: [{ path: 'name', message: 'must be…' }] }`. */
function moreFields(error: AppError): string {
  const { fields } = error.detail
  if (!Array.isArray(fields)) return ''
  return (fields as { path: string; message: string }[])
    .slice(1)
    .map(({ path, message }) => `\n  ${path}: ${message}`)
    .join('')
}
