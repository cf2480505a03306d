import { expect, test } from 'vitest'
import { decodeAs, decodeText } from './text-encoding.ts'

/** 한글 보고서, in CP949. */
const KOREAN = new Uint8Array([0xc7, 0xd1, 0xb1, 0xdb, 0x20, 0xba, 0xb8, 0xb0, 0xed, 0xbc, 0xad])
const latin = (text: string) => Uint8Array.from(text, char => char.charCodeAt(0))
const utf16 = (text: string, isLittle: boolean) => {
  const bytes = new Uint8Array(text.length * 2)
  const view = new DataView(bytes.buffer)
  Array.from(text).forEach((char, index) => view.setUint16(index * 2, char.charCodeAt(0), isLittle))
  return bytes
}

test('texts are read in their encoding: by the mark, as UTF-8, and else as old Korean or European files', () => {
  expect(decodeText(new TextEncoder().encode('größer'), true)).toEqual({ text: 'größer', encoding: 'utf-8' })
  expect(decodeText(utf16('\ufeff한글', true), true)).toEqual({ text: '한글', encoding: 'utf-16le' })
  expect(decodeText(utf16('\ufeffabc', false), true)).toEqual({ text: 'abc', encoding: 'utf-16be' })
  expect(decodeText(KOREAN, true)).toEqual({ text: '한글 보고서', encoding: 'euc-kr' })
  expect(decodeText(latin('été à la crème'), true)).toEqual({ text: 'été à la crème', encoding: 'windows-1252' })
})

test('the mark of UTF-8 stays, so saving keeps it; a cut character at the end of a part is tolerated', () => {
  const bytes = new TextEncoder().encode('\ufeffgrößer')
  expect(decodeText(bytes, true)?.text.charCodeAt(0)).toBe(0xfeff)
  expect(decodeText(new TextEncoder().encode('größer').subarray(0, 3), false)).toEqual({
    text: 'gr',
    encoding: 'utf-8',
  })
})

test('binary files are no text: NUL, and control characters beside bytes that are no UTF-8', () => {
  expect(decodeText(new Uint8Array([1, 0, 2]), true)).toBeNull()
  expect(decodeText(new Uint8Array([0x1f, 0x8b, 0x08, 0xff, 0x03]), true)).toBeNull()
})

test('the reader may choose another encoding', () => {
  expect(decodeAs(KOREAN, 'windows-1252')).toContain('ÇÑ±Û')
  expect(decodeAs(latin('a\xff'), 'utf-8')).toBe('a\ufffd')
})
