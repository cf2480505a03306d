import { expect, test } from 'vitest'
import { readNotebook } from './notebook.ts'

const notebook = (cells: unknown) => JSON.stringify({ nbformat: 4, cells })

test('a notebook becomes cells with their outputs, the richest form first', () => {
  const cells = readNotebook(
    notebook([
      { cell_type: 'markdown', source: ['# A\n', 'b'] },
      {
        cell_type: 'code',
        execution_count: 3,
        source: 'plot()',
        outputs: [
          { output_type: 'stream', name: 'stdout', text: ['\u001b[31mred\u001b[0m\n'] },
          { output_type: 'display_data', data: { 'image/png': 'QUJD\n', 'text/plain': '<Figure>' } },
          { output_type: 'execute_result', data: { 'text/html': '<b>1</b>', 'text/plain': '1' } },
          { output_type: 'error', ename: 'E', evalue: 'v', traceback: ['line 1', 'line 2'] },
          { output_type: 'display_data', data: { 'application/javascript': 'alert(1)' } },
        ],
      },
    ]),
  )
  expect(cells?.[0]).toEqual({ kind: 'markdown', text: '# A\nb', count: null, outputs: [] })
  expect(cells?.[1]?.outputs).toEqual([
    { kind: 'text', text: 'red\n', isError: false },
    { kind: 'image', source: 'data:image/png;base64,QUJD' },
    { kind: 'html', html: '<b>1</b>' },
    { kind: 'text', text: 'line 1\nline 2\n', isError: true },
  ])
})

test('a picture that is not Base64 is not shown', () => {
  const data = { 'image/png': '"><script>', 'text/plain': 'x' }
  const cells = readNotebook(notebook([{ cell_type: 'code', outputs: [{ output_type: 'display_data', data }] }]))
  expect(cells?.[0]?.outputs).toEqual([{ kind: 'text', text: 'x', isError: false }])
})

test('parts that are no text are left out', () => {
  const odd = { toString: 1 }
  const outputs = [{ output_type: 'error', traceback: ['line', odd] }]
  const cells = readNotebook(notebook([{ cell_type: 'code', source: ['a', odd, null, 'b'], outputs }]))
  expect(cells?.[0]).toMatchObject({ text: 'ab', outputs: [{ text: 'line\n' }] })
})

test.each(['', '{}', '[]', 'null', '{"cells": 3}'])('%j is not a notebook', text => {
  expect(readNotebook(text)).toBeNull()
})

test('lines of texts and outputs that a browser would need minutes for are cut', () => {
  const long = '\u0301'.repeat(300_000)
  const outputs = [
    { output_type: 'stream', name: 'stdout', text: [long] },
    { output_type: 'display_data', data: { 'text/html': long } },
    { output_type: 'error', traceback: [long] },
  ]
  const cells = readNotebook(JSON.stringify({ cells: [{ cell_type: 'code', source: long, outputs }] }))
  const [cell] = cells ?? []
  const texts = [
    cell?.text,
    ...(cell?.outputs ?? []).map(output => Object.values(output).find(value => String(value).length > 9)),
  ]
  expect(texts).toHaveLength(4)
  for (const text of texts) expect(String(text).length).toBeLessThan(40_000)
})
