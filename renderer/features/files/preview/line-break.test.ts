import { EditorState } from '@codemirror/state'
import { expect, test } from 'vitest'
import { lineBreakOf } from './line-break.ts'

test.each([
  ['a\r\nb\r\n', '\r\n'],
  ['a\nb\n', '\n'],
  ['a\r\nb\n', '\n'],
  ['a\rb\r\n', '\n'],
  ['', '\n'],
])('%j has lines that end with %j', (text, lineBreak) => {
  expect(lineBreakOf(text)).toBe(lineBreak)
})

test.each(['a\r\nb\r\n', 'a\nb', 'mixed\r\nlines\nand\rmore', '\r', ''])(
  'an edit at the end of %j keeps every other byte',
  text => {
    const state = EditorState.create({ doc: text, extensions: [EditorState.lineSeparator.of(lineBreakOf(text))] })
    expect(state.sliceDoc()).toBe(text)
    const { state: edited } = state.update({ changes: { from: state.doc.length, insert: '!' } })
    expect(edited.sliceDoc()).toBe(`${text}!`)
  },
)
