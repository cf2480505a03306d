import { expect, test } from 'vitest'
import { terminalKeys } from './terminal-keys.ts'

test('the keys of a terminal name how to scroll, and that tmux can be started', () => {
  const hints = new Map(terminalKeys(false).map(({ keys, what }) => [keys, what]))
  expect(hints.get('Shift+Page Up')).toMatch(/scroll/i)
  expect(hints.get('tmux')).toMatch(/Ctrl\+B|windows|panes/)
})
