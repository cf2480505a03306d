import { expect, test } from 'vitest'
import { knownTerminal } from './terminal-name.ts'

test.each([
  ['xterm-kitty', 'xterm-256color'],
  ['xterm-ghostty', 'xterm-256color'],
  ['alacritty', 'xterm-256color'],
  ['foot-extra', 'xterm-256color'],
  ['wezterm', 'xterm-256color'],
  ['xterm', 'xterm'],
  ['xterm-256color', 'xterm-256color'],
  ['screen-256color', 'screen-256color'],
  ['tmux-256color', 'tmux-256color'],
  ['linux', 'linux'],
  ['dumb', 'dumb'],
  ['my-own', 'my-own'],
])('for the terminal %s a session is told %s', (own, told) => expect(knownTerminal(own)).toBe(told))
