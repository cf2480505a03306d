import { expect, test } from 'vitest'
import { parseTerminalSettings } from './useTerminalSettings.ts'

test.each([
  ['', 14, false],
  ['null', 14, false],
  ['{"fontSize":20,"screenReader":true}', 20, true],
  ['{"fontSize":200,"screenReader":true}', 14, true],
  ['{"fontSize":9.5}', 14, false],
  ['{"fontSize":"20","screenReader":"yes"}', 14, false],
])('invalid remembered settings of the terminal become the defaults: %s', (text, fontSize, screenReader) => {
  expect(parseTerminalSettings(text)).toEqual({ fontSize, screenReader })
})
