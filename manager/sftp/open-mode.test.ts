import { expect, test } from 'vitest'
import { openModeOf } from './open-mode.ts'
import { OPEN } from './protocol.ts'

const { read, write, append, create, truncate, exclusive } = OPEN

test.each([
  ['nothing', 0, 'r', 'never', false],
  ['reading, with flags for writes only', read | create | truncate | exclusive, 'r', 'never', false],
  ['writing alone', write, 'w', 'never', false],
  ['both, as an editor does', read | write, 'rw', 'never', false],
  ['an upload', write | create | truncate, 'w', 'missing', true],
  ['an upload that replaces nothing', write | create | exclusive, 'w', 'new', false],
  ['appending alone', append | create, 'w', 'missing', false],
])('a file opened for %s', (_what, flags, may, makes, truncates) => {
  const mode = openModeOf(flags)
  expect([mode.mayRead && 'r', mode.mayWrite && 'w'].filter(Boolean).join('')).toBe(may)
  expect(mode).toMatchObject({ makes, truncates, appends: (flags & append) !== 0 })
})
