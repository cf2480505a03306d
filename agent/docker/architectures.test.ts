import { expect, test } from 'vitest'
import { runnableArchitectures } from './architectures.ts'

test.each([
  ['x86_64', [], ['amd64', '386']],
  ['aarch64', [], ['arm64', 'arm']],
  ['amd64', ['arm64', 'amd64'], ['amd64', '386', 'arm64']],
  ['riscv64', [], ['riscv64']],
  ['', ['arm64'], []],
])('an engine that says "%s", with emulators for %j, runs images for %j', (reported, emulated, runs) => {
  expect(runnableArchitectures(reported, emulated)).toEqual(runs)
})
