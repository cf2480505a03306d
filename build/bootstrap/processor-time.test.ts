import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { parseStat, type ProcessRow } from './process-table.ts'
import { type Family, checkAgain, startMeter } from './processor-time.ts'

const ROOT = 100
const row = (pid: number, parent: number, user: number, waited = 0): ProcessRow => ({
  ...{ pid, parent, session: 1, started: pid },
  own: { user, system: 0 },
  waited: { user: waited, system: 0 },
})
/** Reads these tables one after the other. */
const follow = (...tables: readonly ProcessRow[][]) =>
  tables.reduce<Family | undefined>((family, rows) => checkAgain(ROOT, rows, family), undefined)

test('a line of the process table is read, whatever the name of its program is', () => {
  const line = `71 (a) b) 3) S 9 71 70 0 -1 4194560 1 2 3 4 150 25 300 50 20 0 1 0 8812 1 1`
  expect(parseStat(line)).toEqual({
    ...{ pid: 71, parent: 9, session: 70, started: 8812 },
    own: { user: 1.5, system: 0.25 },
    waited: { user: 3, system: 0.5 },
  })
})

test('time before the first look, and time of strangers, does not count', () => {
  expect(follow([row(ROOT, 1, 5)], [row(ROOT, 1, 7), row(300, 1, 40)])?.used.user).toBe(2)
})

test('an ended child counts once, whether somebody waited for it or nobody', () => {
  const before = [row(ROOT, 1, 0), row(101, ROOT, 0), row(102, 101, 3)]
  // The parent of 101 waited for it, and 101 had used another second since it was last seen.
  expect(follow([row(ROOT, 1, 0)], before, [row(ROOT, 1, 0), row(101, ROOT, 0, 4)])?.used.user).toBe(4)
  expect(follow([row(ROOT, 1, 0)], before, [row(ROOT, 1, 0), row(101, ROOT, 0)])?.used.user).toBe(3)
  // Both are gone, and the process above them waited only for the upper one.
  expect(follow([row(ROOT, 1, 0)], before, [row(ROOT, 1, 0, 0)])?.used.user).toBe(3)
  // A short-lived one, which no reading has seen.
  expect(follow([row(ROOT, 1, 0)], [row(ROOT, 1, 0, 2)])?.used.user).toBe(2)
})

test('a member whose parent has ended stays one; another process that has its id later is a stranger', () => {
  const left = follow([row(ROOT, 1, 0), row(101, ROOT, 0), row(102, 101, 0)], [row(ROOT, 1, 0), row(102, 1, 2)])
  expect([...(left?.members.keys() ?? [])]).toEqual([ROOT, 102])
  const again = checkAgain(ROOT, [row(ROOT, 1, 0), { ...row(102, 1, 50), started: 9 }], left)
  expect([...again.members.keys()]).toEqual([ROOT])
  expect(again.used.user).toBe(2)
})

test('a meter finds what its process starts, and what that uses', async () => {
  const meter = startMeter(process.pid)
  const busy = spawn(process.execPath, [
    '-e',
    'for (const end = Date.now() + 300; Date.now() < end;); console.log(1); process.stdin.resume()',
  ])
  await once(busy.stdout, 'data')
  expect(meter.living()).toEqual(expect.arrayContaining([process.pid, busy.pid]))
  expect(meter.used().user).toBeGreaterThan(0.02)
  busy.stdin.end()
  await once(busy, 'exit')
  expect(meter.living()).not.toContain(busy.pid)
  meter.stop()
})
