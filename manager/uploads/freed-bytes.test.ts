import { link, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { openTop } from '../storage/beneath.ts'
import { createStorageCalls } from '../storage/calls.ts'
import { freedBytes } from './freed-bytes.ts'

const LARGE = 1_000_000
const path = (name: string, held = LARGE) => ({ path: name, held })

test('each file that is replaced counts once, as it was counted, and with no more than replaces it', async () => {
  const place = await mkdtemp(join(tmpdir(), 'freed-'))
  onTestFinished(() => rm(place, { recursive: true }))
  const fill = (name: string, bytes: number) => writeFile(join(place, name), Buffer.alloc(bytes, 1))
  await fill('one', 5_000)
  await fill('two', 7_000)
  await fill('own', 9_000)
  await fill('shared', 11_000)
  await link(join(place, 'shared'), join(place, 'other-name'))
  await fill('\u00e9', 300)
  await using top = await openTop(place, createStorageCalls()('local'))
  const later = { own: 'own', countedAt: new Date(Date.now() + 1_000) }
  expect(await freedBytes(top, [path('one'), path('two')], later)).toBe(12_000)
  expect(await freedBytes(top, [path('one'), path('one')], later)).toBe(5_000)
  expect(await freedBytes(top, [path('\u00e9'), path('e\u0301')], later)).toBe(300)
  expect(await freedBytes(top, [path('one', 100), path('own'), path('gone'), path('shared')], later)).toBe(100)
  // The measurement includes neither the growth nor the new file.
  const before = { own: 'own', countedAt: new Date(Date.now() - 1_000) }
  expect(await freedBytes(top, [path('one'), path('two')], before)).toBe(0)
})
