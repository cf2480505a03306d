/** Sequences by which a terminal changes colours and moves its cursor. @see ECMA-48, control sequences */
const CONTROL_SEQUENCE = /\u001b\[[0-?]*[ -/]*[@-~]/g
const MOST_SHOWN = 300
const LINES_SHOWN = 3

/** The last lines of the output of a program, as one line of plain text; undefined without any. Pure. */
export function lastLines(output: string): string | undefined {
  const lines = output
    .replaceAll(CONTROL_SEQUENCE, '')
    .split(/[\r\n]+/)
    .map(line => line.replaceAll(/[\p{C}\s]+/gu, ' ').trim())
    .filter(line => line !== '')
  const text = lines.slice(-LINES_SHOWN).join(' / ')
  if (text === '') return undefined
  return text.length > MOST_SHOWN ? `…${text.slice(-MOST_SHOWN)}` : text
}
