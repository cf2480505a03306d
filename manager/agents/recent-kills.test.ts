import { expect, test } from 'vitest'
import { KernelId } from '#manager/contract'
import { newId } from '../store/new-id.ts'
import { RecentKills } from './recent-kills.ts'

test('a kill is recent for a minute, counted from the last one', () => {
  let now = 0
  const kills = new RecentKills(() => now)
  const [killed, other] = [newId(KernelId), newId(KernelId)]
  kills.note(killed)
  now = 50_000
  kills.note(killed)
  now = 109_000
  expect([kills.isRecent(killed), kills.isRecent(other)]).toEqual([true, false])
  now = 110_000
  expect(kills.isRecent(killed)).toBe(false)
})

test('an agent that names kernels without end takes no more memory for them', () => {
  const kills = new RecentKills(() => 0)
  const [first = newId(KernelId), ...others] = Array.from({ length: 1_001 }, () => newId(KernelId))
  for (const id of [first, ...others]) kills.note(id)
  expect(kills.isRecent(first)).toBe(false)
  expect(others.every(id => kills.isRecent(id))).toBe(true)
})
