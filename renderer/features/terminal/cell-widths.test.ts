import { Terminal } from '@xterm/xterm'
import { expect, test } from 'vitest'
import { countCellsLikeTmux } from './cell-widths.ts'

/** Characters of the fullest cell that the bytes leave in a terminal, in code points. */
async function fullestCell(parts: readonly string[]): Promise<number> {
  const terminal = new Terminal({ allowProposedApi: true, cols: 20, logLevel: 'off' })
  countCellsLikeTmux(terminal)
  const encoder = new TextEncoder()
  for (const part of parts) await new Promise<void>(done => terminal.write(encoder.encode(part), done))
  const { active } = terminal.buffer
  const rows = Array.from({ length: active.length }, (_, row) => active.getLine(row))
  return Math.max(
    ...rows.flatMap(row =>
      Array.from({ length: 20 }, (_, at) => Array.from(row?.getCell(at)?.getChars() ?? '').length),
    ),
  )
}

const MARK = '\u0301'
test.each([
  ['marks', [`a${MARK.repeat(500)}`]],
  ['marks in parts', ['a', ...Array.from({ length: 50 }, () => MARK.repeat(10))]],
  ['marks between byte order marks', [`a${`${MARK.repeat(16)}\ufeff`.repeat(30)}`]],
  ['marks between deletes', [`a${`${MARK.repeat(16)}\u007f`.repeat(30)}`]],
  ['joiners', [`a${'\u200d'.repeat(500)}`]],
  ['colours of skin', [`\u{1f44d}${'\u{1f3fb}'.repeat(500)}`]],
  ['Hangul letters', ['\u1100'.repeat(500)]],
])('a cell gets few of very many %s', async (_, parts) => {
  expect(await fullestCell(parts)).toBe(17)
})

test('what tmux keeps in a cell stays in one', async () => {
  expect(await fullestCell([`b${MARK.repeat(15)}한각`])).toBe(16)
  expect(await fullestCell(['👨‍👩‍👧‍👦'])).toBe(7)
})

test('marks that a change of colour parts from their letter get cells of their own', async () => {
  expect(await fullestCell([`a${`${MARK}\u001b[m`.repeat(500)}`])).toBeLessThanOrEqual(17)
  expect(await fullestCell([`a${`${MARK.repeat(16)}\u001b[m`.repeat(50)}`])).toBeLessThanOrEqual(17)
})
