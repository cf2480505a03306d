import { expect, test } from 'vitest'
import { parseTerminalSettings } from './useTerminalSettings.ts'

test.each([
  ['', 14, false, false],
  ['null', 14, false, false],
  ['{"fontSize":20,"screenReader":true}', 20, true, false],
  ['{"fontSize":200,"screenReader":true,"optionIsMeta":true}', 14, true, true],
  ['{"fontSize":9.5,"optionIsMeta":1}', 14, false, false],
  ['{"fontSize":"20","screenReader":"yes"}', 14, false, false],
])(
  'invalid remembered settings of the terminal become the defaults: %s',
  (text, fontSize, screenReader, optionIsMeta) => {
    expect(parseTerminalSettings(text)).toEqual({ fontSize, screenReader, optionIsMeta })
  },
)
