import { glob, readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { expect, test } from 'vitest'

/**
 * Pages fetch by `useFetched` (fetched.ts), which has the one guard against late answers and the one timer that gathers hints. Files
 * with their own are exceptions with a reason.
 */
const TIMERS_ELSEWHERE: Readonly<Record<string, string>> = {
  'data/fetched.ts': 'useFetched itself',
  'features/files/transfers/useTransfers.ts': 'measures the speed of uploads; fetches nothing',
  'features/notifications/tunnel-watch.ts': 'gathers tunnels that are lost together; fetches nothing',
}
const HINTS_ELSEWHERE: Readonly<Record<string, string>> = {
  'data/apps/useTunnels.ts': 'asks this computer, not the manager, and only about sessions with open tunnels',
  'data/fetched.ts': 'useFetched itself',
  'data/sessions/useSessions.ts': 'fetches the sessions that hints name, by their ids',
  'features/files/explorer/useExplorer.ts':
    'compares the path of the hint with the one that is shown; a listing ends with its directory',
}

const SOURCES: { name: string; text: string }[] = []
for await (const file of glob('renderer/{data,features}/**/*.{ts,vue}')) {
  if (!file.endsWith('.test.ts')) SOURCES.push({ name: relative('renderer', file), text: await readFile(file, 'utf8') })
}
const filesWith = (pattern: RegExp) =>
  SOURCES.filter(({ text }) => pattern.test(text))
    .map(({ name }) => name)
    .toSorted()
const named = (exceptions: Readonly<Record<string, string>>) => Object.keys(exceptions).toSorted()

/** `const mine = ++round`, also with an index or in a map: the number of a question. */
const COUNTER = /\b(?:const|let) \w+ = \+\+\w|\b(?:const|let) \w+ = \(?\w+ \+= 1\b|\.get\([^)]*\) \?\? 0\) \+ 1/
/** `waiting ??= setTimeout(`, `if (!waiting) waiting = setTimeout(`, and every interval. */
const OWN_TIMER = /\?\?= (?:globalThis\.)?setTimeout\(|if \(!(\w+)\) \1 = setTimeout\(|\bsetInterval\(/

test('the patterns find what they are about', () => {
  for (const counter of [
    'const mine = ++round',
    'const turn = ++turns[name]',
    'const asked = (round += 1)',
    '(rounds.get(name) ?? 0) + 1',
  ])
    expect(counter).toMatch(COUNTER)
  for (const timer of [
    'waiting ??= setTimeout(() => {',
    'if (!waiting) waiting = setTimeout(load, 400)',
    'setInterval(load)',
  ])
    expect(timer).toMatch(OWN_TIMER)
  expect(SOURCES.length).toBeGreaterThan(300)
})

test('no file counts its questions to drop late answers: useFetched does', () => {
  expect(filesWith(COUNTER)).toEqual([])
})

test('no file gathers hints or asks again and again by a timer of its own: useFetched does', () => {
  expect(filesWith(OWN_TIMER)).toEqual(named(TIMERS_ELSEWHERE))
})

test('hints are heard by useFetched, and in a few files with a reason', () => {
  expect(filesWith(/\.onHint\(/)).toEqual(named(HINTS_ELSEWHERE))
})
