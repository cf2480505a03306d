import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type AppsAddress, parseAppsAddress, SessionId, UserId } from '#manager/contract'
import { type LastHeld } from '../store/sessions/app-ports.ts'
import { choosePort, portsPerUser, REST_MS } from './app-ports.ts'

const at = (text: string) => parseAppsAddress(text) as AppsAddress & { kind: 'ports' }
const HTTP = at('http://berth.example.org:20000-20003')
const HTTPS = at('https://berth.example.org:20000-20003')
const [mira, bob] = ['01900000-0000-7000-8000-000000000001', '01900000-0000-7000-8000-000000000002'].map(id =>
  UserId.parse(id),
) as [UserId, UserId]
const [former, sessionId] = ['01900000-0000-7000-8000-000000000003', '01900000-0000-7000-8000-000000000004'].map(id =>
  SessionId.parse(id),
) as [SessionId, SessionId]
const nowMs = Date.parse('2026-11-28T12:00:00Z')
const leftAgo = (userId: UserId, ms: number, ofOther = false): LastHeld => ({
  userId,
  leftAt: new Date(nowMs - ms),
  ofOther,
  sessionId: former,
})
const takenBy = (who: UserId | null, ports: readonly number[]) => new Map(ports.map(port => [port, who]))
const nobody = { taken: takenBy(null, []), left: new Map<number, LastHeld>() }

test('a wanted port that is free is given; a taken one never', () => {
  expect(choosePort(HTTP, nobody, { userId: mira, sessionId, wanted: 20_002, nowMs })).toBe(20_002)
  const others = { ...nobody, taken: takenBy(bob, [20_000, 20_001, 20_002]) }
  expect(choosePort(HTTP, others, { userId: mira, sessionId, wanted: 20_002, nowMs })).toBe(20_003)
  const all = { ...nobody, taken: takenBy(bob, [20_000, 20_001, 20_002, 20_003]) }
  expect(choosePort(HTTPS, all, { userId: mira, sessionId, wanted: 20_002, nowMs })).toBe('taken')
})

test('over http a port rests before it goes to another person; over https it is the last that does', () => {
  const left = new Map([
    [20_000, leftAgo(mira, 1_000)],
    [20_001, leftAgo(mira, REST_MS - 1)],
    [20_002, leftAgo(mira, REST_MS)],
  ])
  const taken = takenBy(null, [20_003])
  for (const address of [HTTP, HTTPS]) {
    expect(choosePort(address, { taken, left }, { userId: bob, sessionId, wanted: 20_000, nowMs })).toBe(20_002)
    // The person who had the port before gets it at once.
    expect(choosePort(address, { taken, left }, { userId: mira, sessionId, wanted: 20_000, nowMs })).toBe(20_000)
  }
  const more = { left, taken: takenBy(null, [20_002, 20_003]) }
  expect(choosePort(HTTP, more, { userId: bob, sessionId, wanted: 20_000, nowMs })).toBe('resting')
  expect(choosePort(HTTPS, more, { userId: bob, sessionId, wanted: 20_000, nowMs })).toBe(20_001)
})

test('the port of an app whose pages others could make rests for the person who left it, too, but not for the same session', () => {
  const left = new Map([[20_000, leftAgo(mira, 1_000, true)]])
  const known = { taken: takenBy(null, [20_001, 20_002, 20_003]), left }
  const asked = { userId: mira, sessionId, wanted: 20_000, nowMs }
  expect(choosePort(HTTP, known, asked)).toBe('resting')
  expect(choosePort(HTTP, known, { ...asked, sessionId: former })).toBe(20_000)
  expect(choosePort(HTTP, { ...known, taken: takenBy(null, [20_001, 20_002]) }, asked)).toBe(20_003)
})

test('ports that rest count in the share of the person who left them: nobody makes the whole range rest', () => {
  const range = [20_000, 20_001, 20_002, 20_003]
  for (const address of [HTTP, HTTPS]) {
    for (const kept of [0, 1]) {
      const taken = new Map<number, UserId>()
      const left = new Map<number, LastHeld>()
      for (const wanted of [...range, undefined, ...range]) {
        const port = choosePort(address, { taken, left }, { userId: mira, sessionId, wanted, nowMs })
        if (typeof port !== 'number') throw new Error(`no port: ${port}`)
        if (taken.size < kept) taken.set(port, mira)
        else left.set(port, leftAgo(mira, 0))
      }
      expect(new Set([...taken.keys(), ...left.keys()]).size).toBe(2)
      const given = choosePort(address, { taken, left }, { userId: bob, sessionId, wanted: undefined, nowMs })
      expect(left.has(Number(given))).toBe(false)
    }
  }
})

test('whatever was held, a port is free, in the range, and over http not of another person of late', () => {
  const port = fc.integer({ min: 20_000, max: 20_003 })
  const held = fc.tuple(port, fc.constantFrom(mira, bob), fc.integer({ min: 0, max: 2 * REST_MS }))
  fc.assert(
    fc.property(
      fc.array(port),
      fc.array(held),
      fc.option(port, { nil: undefined }),
      fc.constantFrom(HTTP, HTTPS),
      (taken, holders, wanted, address) => {
        const left = new Map(holders.map(([at, who, ago]) => [at, leftAgo(who, ago)]))
        const given = choosePort(
          address,
          { taken: takenBy(null, taken), left },
          { userId: bob, sessionId, wanted, nowMs },
        )
        if (given === 'taken') expect(new Set(taken).size).toBe(4)
        else if (given === 'resting') expect(address.scheme).toBe('http')
        else {
          expect(taken).not.toContain(given)
          const last = left.get(given ?? 0)
          const isRested = !last || last.userId === bob || nowMs - last.leftAt.getTime() >= REST_MS
          expect(address.scheme === 'https' || isRested).toBe(true)
        }
      },
    ),
  )
})

test('one person has at most 16 ports, and at most half of a small range', () => {
  expect(portsPerUser(at('http://a.example.org:20000-20099'))).toBe(16)
  expect(portsPerUser(HTTP)).toBe(2)
  expect(portsPerUser(at('http://a.example.org:20000-20000'))).toBe(1)
})
