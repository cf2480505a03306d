import { expect, test } from 'vitest'
import { type SessionId } from '#manager/contract'
import { answerHeaders, requestHeaders } from './app-origin.ts'
import { admit, type GateDeps, OPEN_PATH, type Visit, withoutCookie } from './gate.ts'
import { hostNameOf } from './origin.ts'
import { createTickets } from './secrets.ts'

const authority = 'jupyter--abcdefghijkl.localhost:30001'

function aGate() {
  let nowMs = 0
  const tickets = createTickets({ lifeMs: 60_000, now: () => nowMs })
  const deps: GateDeps = { authority, cookieName: 'berth_app_30001', cookieValue: 'good', tickets }
  const visit = (change: Partial<Visit> = {}) =>
    admit(
      {
        method: 'GET',
        target: '/',
        host: authority,
        origin: undefined,
        fetchSite: undefined,
        cookie: 'berth_app_30001=good',
        isWorkerScript: false,
        ...change,
      },
      deps,
    )
  return { visit, tickets, pass: (ms: number) => (nowMs += ms) }
}

test('a ticket works once and for a minute', () => {
  const { visit, tickets, pass } = aGate()
  const open = (ticket: string) => visit({ target: `${OPEN_PATH}?ticket=${ticket}`, cookie: undefined })
  const [first, late] = [tickets.issue(), tickets.issue()]
  expect(open(first)).toEqual({ kind: 'welcome' })
  expect(open(first)).toEqual({ kind: 'refuse', reason: 'bad_ticket' })
  pass(60_001)
  expect(open(late)).toEqual({ kind: 'refuse', reason: 'bad_ticket' })
})

test('a refused visit does not use up its ticket', () => {
  const { visit, tickets } = aGate()
  const target = `${OPEN_PATH}?ticket=${tickets.issue()}`
  expect(visit({ target, host: 'evil.example' })).toMatchObject({ reason: 'wrong_host' })
  expect(visit({ target, origin: 'http://evil.example' })).toMatchObject({ reason: 'foreign_origin' })
  expect(visit({ target, method: 'POST' })).toMatchObject({ reason: 'bad_ticket' })
  expect(visit({ target })).toEqual({ kind: 'welcome' })
})

test.each<[string, Partial<Visit>, string]>([
  ['no host', { host: undefined }, 'wrong_host'],
  ['the host without port', { host: 'jupyter--abcdefghijkl.localhost' }, 'wrong_host'],
  ['two hosts', { host: `${authority}, evil.example` }, 'wrong_host'],
  ['a target with a host of its own', { target: 'http://evil.example/' }, 'wrong_host'],
  ['a sandboxed frame', { origin: 'null', fetchSite: 'cross-site' }, 'foreign_origin'],
  ['a page of a sibling', { origin: 'null', fetchSite: 'same-site' }, 'foreign_origin'],
  ['two accounts of the sender', { origin: 'null', fetchSite: 'cross-site, same-origin' }, 'foreign_origin'],
  ['two origins', { origin: `null, http://${authority}`, fetchSite: 'same-origin' }, 'foreign_origin'],
  ['another origin', { origin: 'http://evil.example', fetchSite: 'same-origin' }, 'foreign_origin'],
  ['an unsaid sender', { origin: 'null' }, 'unsaid_origin'],
  ['https of the same name', { origin: `https://${authority}` }, 'foreign_origin'],
  ['an empty cookie', { cookie: 'berth_app_30001=' }, 'no_cookie'],
  ['the cookie of another port', { cookie: 'berth_app_30002=good' }, 'no_cookie'],
])('the cookie or origin is refused: %s', (_, change, reason) => {
  expect(aGate().visit(change)).toEqual({ kind: 'refuse', reason })
})

test('the right cookie is accepted, also beside a planted one of the same name', () => {
  const { visit } = aGate()
  expect(visit({ origin: `http://${authority}` })).toEqual({ kind: 'pass' })
  // A form of the app's own page with `Referrer-Policy: no-referrer`.
  expect(visit({ origin: 'null', fetchSite: 'same-origin' })).toEqual({ kind: 'pass' })
  expect(visit({ cookie: 'berth_app_30001=planted; berth_app_30001=good' })).toEqual({ kind: 'pass' })
})

test('only our cookie is removed, every copy of it', () => {
  expect(withoutCookie('a=1; berth_app_1=x; b=2; berth_app_1=y', 'berth_app_1')).toBe('a=1; b=2')
  expect(withoutCookie('berth_app_1=x', 'berth_app_1')).toBeUndefined()
  expect(withoutCookie('berth_app_10=x', 'berth_app_1')).toBe('berth_app_10=x')
})

test.each([
  ['/sw.js', true],
  ['/_berth/sw.js', true],
  ['/_berth', true],
  ['/static/sw.js', false],
  ['/_berth/opens/sw.js', false],
  ['//sw.js', false],
])('the worker script %s would see tickets: %s', (target, isRefused) => {
  const { visit } = aGate()
  const refused = { kind: 'refuse', reason: 'worker' }
  expect(visit({ target, isWorkerScript: true })).toEqual(isRefused ? refused : { kind: 'pass' })
  expect(visit({ target })).toEqual({ kind: 'pass' })
})

test.each([
  ['/'],
  ['../'],
  ['/_ber'],
  ['http://elsewhere.example/'],
  ['http://['],
  ['/,x'],
  [' /,/static/'],
  ['/static/,/'],
  ['/static/../'],
  ['/static/%2e%2E/'],
  ['//elsewhere/static/'],
  ['/\\static/'],
  ['/static/\t/../'],
  [''],
  ['/static/', '/'],
  ['/static/', 'x/../../'],
  ['/static/', '/static/'],
])('an app cannot widen the scope of a worker over the opening path: %s %s', (...values) => {
  const raw = values.flatMap(value => ['Service-Worker-Allowed', value])
  expect(answerHeaders(['A', 'a', ...raw], '/static/sw.js')).toEqual(['A', 'a'])
})

test('an app can widen the scope of a worker beside the opening path', () => {
  const raw = ['Service-Worker-Allowed', '/static/v1.2/']
  expect(answerHeaders(raw, '/static/js/sw.js')).toEqual(raw)
})

test('files beside the opening path are not served from the cache for a worker', () => {
  expect(answerHeaders(['Cache-Control', 'max-age=9'], '/sw.js?v=1')).toEqual([
    'Cache-Control',
    'max-age=9',
    'Vary',
    'Service-Worker',
  ])
  expect(answerHeaders([], '/static/sw.js')).toEqual([])
})

test('the secret of an app replaces a header of that name from the client', () => {
  const raw = ['Host', 'h', 'AUTHORIZATION', 'forged', 'Cookie', 'berth_app_1=x', 'authorization', 'forged too']
  const inject = { header: 'Authorization', value: 'token t' }
  expect(requestHeaders(raw, 'berth_app_1', inject)).toEqual(['Host', 'h', 'Authorization', 'token t'])
})

test('origins differ by session and by app, and are valid host names', () => {
  const [a, b] = ['01900000-0000-7000-8000-000000000001', '01900000-0000-7000-8000-000000000002'] as SessionId[]
  const names = [hostNameOf('jupyter', a!), hostNameOf('jupyter', b!), hostNameOf('vscode', a!)]
  expect(new Set(names).size).toBe(3)
  for (const name of names) expect(name).toMatch(/^[a-z]+--[a-z2-7]{12}\.localhost$/)
})

test('a look at a ticket does not use it up', () => {
  const { tickets, pass } = aGate()
  const [first, late] = [tickets.issue(), tickets.issue()]
  expect([tickets.isGood(first), tickets.isGood(first), tickets.isGood('other')]).toEqual([true, true, false])
  expect([tickets.redeem(first), tickets.isGood(first)]).toEqual([true, false])
  pass(60_001)
  expect(tickets.isGood(late)).toBe(false)
})
