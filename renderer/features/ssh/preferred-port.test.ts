import { expect, test } from 'vitest'
import { parsePort } from './preferred-port.ts'

test.each([
  ['22022', 22_022],
  [' 1024 ', 1024],
  ['65535', 65_535],
])('%j is accepted as a preferred port', (text, port) => {
  expect(parsePort(text)).toBe(port)
})

test.each(['', '22', '1023', '65536', '1e4', '0x5606', '-2022', '20.22', 'ssh'])(
  '%j is refused as a preferred port',
  text => {
    expect(parsePort(text)).toBeUndefined()
  },
)
