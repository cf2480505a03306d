import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { type ApplyMask } from '#manager/contract'
import { applyMask } from './masks.ts'

const require = createRequire(import.meta.url)
/** Platforms for which the package contains a binary; on others, its JavaScript is used. */
const HAS_BINARY = ['linux-x64', 'darwin-x64', 'darwin-arm64', 'win32-x64']

test.runIf(HAS_BINARY.includes(`${process.platform}-${process.arch}`))('bytes are masked by native code', () => {
  const { unmask } = require('bufferutil/fallback') as { unmask: ApplyMask }
  expect(applyMask).not.toBe(unmask)
  expect(String(applyMask)).toContain('[native code]')
})
