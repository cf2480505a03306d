import fc from 'fast-check'
import { expect, test } from 'vitest'
import { bytesOf, componentsOf, nameOf } from './file-names.ts'

test('every name has a text that converts back into its bytes', () => {
  const legal = fc
    .uint8Array({ minLength: 1, maxLength: 255 })
    .map(bytes => Buffer.from(bytes).map(byte => (byte === 0 || byte === 0x2f ? 0x61 : byte)))
    .map(bytes => Buffer.from(bytes))
    .filter(bytes => !['.', '..'].includes(bytes.toString()))
  fc.assert(
    fc.property(legal, bytes => {
      const name = nameOf(bytes)
      expect(bytesOf(name).equals(bytes)).toBe(true)
      expect(name.isWellFormed()).toBe(true)
      expect(JSON.parse(JSON.stringify(name))).toBe(name)
      expect(decodeURIComponent(encodeURIComponent(name))).toBe(name)
    }),
  )
})

test('names in UTF-8 are their own text, also odd ones', () => {
  for (const name of ['notes', 'ä', '한글', '😀', 'e\u0301', '\u202egnp.exe', 'a\nb', ' ', '...', '-rf', '\ufffd']) {
    expect(nameOf(Buffer.from(name))).toBe(name)
    expect(bytesOf(name).toString()).toBe(name)
  }
})

test('a private-use character in a name is not mistaken for an escape', () => {
  const name = Buffer.from('\uef80')
  expect(nameOf(name)).toBe('\uefee\uefbe\uef80')
  expect(bytesOf(nameOf(name)).equals(name)).toBe(true)
  expect(nameOf(Buffer.from('a\xff', 'latin1'))).toBe('a\uefff')
})

test.each(['', '.', '..', 'a/b', '/', 'a\0', 'a'.repeat(256), '한'.repeat(86), '\ud800'])(
  'the name %j is refused',
  name => {
    expect(() => bytesOf(name)).toThrow(expect.objectContaining({ code: 'path_invalid' }))
  },
)

test.each(['/', '/etc', 'a/', 'a//b', './a', 'a/..', '../a', 'a/../../b', 'a/\0'])('the path %j is refused', path => {
  expect(() => componentsOf(path)).toThrow(expect.objectContaining({ code: 'path_invalid' }))
})

test('the empty path is the folder itself, and 255 bytes are a name', () => {
  expect(componentsOf('')).toEqual([])
  expect(componentsOf(`a/${'한'.repeat(85)}`)).toEqual(['a', '한'.repeat(85)])
})
