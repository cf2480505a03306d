import { glob, readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { expect, test } from 'vitest'
import { ROUTES } from '#manager/contract'

/**
 * Pages fetch with `useFetched` (fetched.ts), which contains the only guard against late answers and the only timer that collects hints.
 * Files with their own are exceptions with a reason.
 */
const TIMERS_ELSEWHERE: Readonly<Record<string, string>> = {
  'data/fetched.ts': 'useFetched itself',
  'features/files/transfers/transfer-clock.ts': 'measures the speed of uploads; fetches nothing',
  'features/notifications/tunnel-watch.ts': 'gathers tunnels that are lost together; fetches nothing',
  'ui/useNow.ts': 'tells the time; fetches nothing',
}
const HINTS_ELSEWHERE: Readonly<Record<string, string>> = {
  'data/apps/useTunnels.ts': 'asks this computer, not the manager, and only about sessions with open tunnels',
  'data/fetched.ts': 'useFetched itself',
  'data/sessions/useSessions.ts': 'fetches the sessions that hints name, by their ids',
  'features/files/explorer/useExplorer.ts':
    'compares the path of the hint with the one that is shown; a listing ends with its directory',
}
/**
 * Files that send requests to the manager without a signal. `useFetched` passes a signal with each request, so a call with a signal belongs
 * to it, however many functions are between.
 */
const ASKED_BY_HAND: Readonly<Record<string, string>> = {
  'data/account/useAccount.ts': 'adopts a sign-in of another tab: the newest wins by its secret',
  'data/files/files-client.ts': 'writes files by the same fetch as it reads them',
  'data/sessions/session-acts.ts': 'merges single sessions by their version, in whatever order answers arrive',
  'data/sessions/session-lists.ts': 'merges single sessions by their version, in whatever order answers arrive',
  'features/admin/system/ImagesCard.vue': 'a click rescans the registries that are active then; nothing is shown',
  'features/admin/usage/MonthPage.vue': 'a click exports to a file; nothing is shown',
  'features/detail/LogsTab.vue': 'a click downloads the whole log; nothing is shown',
  'features/files/transfers/useUploadQueue.ts': 'waits for the sign-in before uploads go on; nothing is shown',
  'features/launch/LaunchAgain.vue': 'a click repeats a launch: lists of sessions have no values of variables',
}
/** Files with a signal of their own. */
const SIGNALS_ELSEWHERE: Readonly<Record<string, string>> = {
  'data/apps/useOpenApp.ts': 'a click opens an app, and another one stops that; asks this computer',
  'data/fetched.ts': 'useFetched itself',
  'data/launch/useLaunch.ts': 'a click repeats a session, and another one stops that',
  'data/sessions/session-sync.ts': 'ends the rounds in which useSessions fetches',
  'features/admin/admin-list.ts':
    'asks for further rows of a list, which useFetched drops if the list changes, and for all rows of a file',
  'features/admin/images/ImagesPage.vue': 'a click exports to a file; nothing is shown',
  'features/admin/system/DiagnosticsPage.vue': 'a click makes a bundle, and another one stops that',
  'features/admin/system/useDiagnoses.ts': 'a click checks hosts, each once at a time, and another one stops that',
  'features/files/explorer/drag-out.ts': 'ends listeners; fetches nothing',
  'features/files/explorer/listing.ts':
    'fetches the pages of a listing that are in view; a listing ends with its directory',
  'features/files/preview/PreviewDialog.vue':
    'a save that is refused reads the version of somebody else, while a dialog waits',
  'features/files/transfers/run-together.ts': 'ends a waiting time; fetches nothing',
  'features/terminal/terminal-connection.ts': 'ends an attempt to connect; fetches nothing',
  'features/this-computer/ThisComputerDialog.vue': 'waits for this computer, not the manager',
}

const SOURCES: { name: string; text: string }[] = []
for await (const file of glob('renderer/{app,data,features,ui}/**/*.{ts,vue}')) {
  if (!file.endsWith('.test.ts')) SOURCES.push({ name: relative('renderer', file), text: await readFile(file, 'utf8') })
}
const filesWith = (pattern: RegExp) =>
  SOURCES.filter(({ text }) => pattern.test(text))
    .map(({ name }) => name)
    .toSorted()
const named = (exceptions: Readonly<Record<string, string>>) => Object.keys(exceptions).toSorted()

/** `const mine = ++round`, also with an index or in a map: the number of a request. */
const COUNTER = /\b(?:const|let) \w+ = \+\+\w|\b(?:const|let) \w+ = \(?\w+ \+= 1\b|\.get\([^)]*\) \?\? 0\) \+ 1/
/** `waiting ??= setTimeout(`, `if (!waiting) waiting = setTimeout(`, and every interval. */
const OWN_TIMER = /\?\?= (?:globalThis\.)?setTimeout\(|if \(!(\w+)\) \1 = setTimeout\(|\bsetInterval\(/

const GETS = Object.entries(ROUTES).flatMap(([name, { method }]) => (method === 'GET' ? [name] : []))
/** `api.getUser`, and `fetchBytes(` for answers that are no JSON. */
const ASKING = new RegExp(String.raw`\bapi\s*\.(?:${GETS.join('|')})\b|\bfetchBytes(?=\()`, 'g')
/** `new AbortController`, `AbortSignal.timeout`, and a parameter that may be left out. */
const OWN_SIGNAL = /\bnew AbortController\b|\bAbortSignal\.|\bsignal\?: /
/** `const { getUser } = api` */
const TAKEN_APART = /\} = (?:[\w()]+\.)*api\b/

/** Whether the text sends requests to the manager without a signal. */
const asksByHand = (text: string) =>
  [...text.matchAll(ASKING)].some(({ 0: { length }, index }) => !/\bsignal\b/.test(argumentsAt(text, index + length)))

/** The arguments of a call, with brackets; empty if there is no call. */
function argumentsAt(text: string, start: number): string {
  if (text[start] !== '(') return ''
  let depth = 0
  for (let end = start; end < text.length; end++) {
    if (text[end] === '(') depth++
    if (text[end] === ')' && --depth === 0) return text.slice(start, end)
  }
  return ''
}

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
  for (const question of [
    'await api.getUser({ params: { id } })',
    'api.me().then(() => signal)',
    'services.api.listUsers',
    "await fetchBytes('/bundle', { method: 'GET' })",
    'useFetched({ fetch: (_, signal) => Promise.all([api.me({ signal }), api\n  .listAgents()]) })',
  ])
    expect(asksByHand(question), question).toBe(true)
  for (const other of ['api.getUser({ params: { id: (a, b) }, signal })', 'api.updateUser({ body })', 'my.listUsers()'])
    expect(asksByHand(other), other).toBe(false)
  for (const signal of [
    'const mine = new AbortController()',
    'AbortSignal.any([])',
    '(id: string, signal?: AbortSignal)',
  ])
    expect(signal).toMatch(OWN_SIGNAL)
  for (const taken of ['const { me } = useServices().api', 'const { me } = api']) expect(taken).toMatch(TAKEN_APART)
  expect('const { api } = useServices()').not.toMatch(TAKEN_APART)
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

test('what the manager is asked for passes on the signal of useFetched, except in a few files with a reason', () => {
  const asking = SOURCES.filter(({ text }) => asksByHand(text)).map(({ name }) => name)
  expect(asking.toSorted()).toEqual(named(ASKED_BY_HAND))
})

test('signals are from useFetched, except in a few files with a reason', () => {
  expect(filesWith(OWN_SIGNAL)).toEqual(named(SIGNALS_ELSEWHERE))
})

test('nobody takes functions out of the client, where the rule would not see that they ask', () => {
  expect(filesWith(TAKEN_APART)).toEqual([])
})
