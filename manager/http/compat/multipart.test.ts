import { expect, test } from 'vitest'
import { readForm } from './multipart.ts'

const TYPE = 'multipart/form-data; boundary=b'
const part = (name: string, text: string) =>
  `--b\r\nContent-Disposition: form-data; name="src"; filename="${name}"\r\n\r\n${text}\r\n`
const read = (text: string, type = TYPE) =>
  readForm(Buffer.from(text), type).map(({ field, name, bytes }) => [field, name, bytes.toString()])

test('the files of a form, with names as clients encode them', () => {
  expect(read(`${part('a.txt', 'one')}${part('b%20c.txt', 'x --b is no end\r\n')}--b--\r\n`)).toEqual([
    ['src', 'a.txt', 'one'],
    ['src', 'b c.txt', 'x --b is no end\r\n'],
  ])
  expect(read(`--b\r\nContent-Disposition: form-data; name="text"\r\n\r\nno file\r\n--b--`)).toEqual([])
  expect(read(`${part('', '')}--b--`, 'multipart/form-data; boundary="b"')).toEqual([['src', '', '']])
})

test.each([
  ['no boundary', part('a', 'x'), 'multipart/form-data'],
  ['no end', part('a', 'x'), TYPE],
  ['no head', '--b\r\n--b--', TYPE],
  ['a long head', `--b\r\nA: ${'x'.repeat(5_000)}\r\n\r\ny\r\n--b--`, TYPE],
  ['too many files', `${part('a', 'x').repeat(21)}--b--`, TYPE],
  ['too many parts that are no files', `${'--b\r\n\r\n\r\n'.repeat(101)}--b--`, TYPE],
  ['another body', '{}', TYPE],
])('refused: %s', (_what, text, type) => {
  expect(() => read(text, type)).toThrow(expect.objectContaining({ code: 'bad_request' }) as Error)
})
