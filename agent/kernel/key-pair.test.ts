import ssh2 from 'ssh2'
import { expect, test } from 'vitest'
import { createKeyPair, isUsable } from './key-pair.ts'

test('every generated pair can be used', async () => {
  for (let i = 0; i < 300; i++) expect(isUsable(await createKeyPair('work'))).toBe(true)
})

test('a pair whose public half lost its leading zero byte is detected', () => {
  const bad = Array.from({ length: 5_000 }, () => ssh2.utils.generateKeyPairSync('ed25519')).filter(
    pair => !isUsable(pair),
  )
  expect(bad.length).toBeGreaterThan(0)
})
