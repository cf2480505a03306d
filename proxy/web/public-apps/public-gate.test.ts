import { expect, test } from 'vitest'
import { admitVisitor, newVisit, type PublicDoor, type PublicVisit, visitCookie } from './public-gate.ts'
import { publicAnswer } from './visitor-headers.ts'

const door: PublicDoor = {
  authority: 'berth.example.org:20001',
  scheme: 'https',
  id: 'a-place',
  name: 'a'.repeat(16),
  visitSecret: 'secret',
  nowMs: 0,
}
const cookie = `${visitCookie(door).name}=${newVisit(door, 60_000).value}`

const visit = (more: Partial<PublicVisit>): PublicVisit => ({
  method: 'GET',
  target: '/lab',
  host: door.authority,
  origin: undefined,
  cookie,
  fetchSite: undefined,
  fetchMode: undefined,
  fetchDest: undefined,
  isWorkerScript: false,
  isAllowedAddress: true,
  ...more,
})

/** A request that a page of a sibling app, or of another site, causes in a browser. */
const foreign = (fetchMode: string, fetchDest?: string) =>
  ['same-site', 'cross-site'].map(fetchSite => admitVisitor(visit({ fetchSite, fetchMode, fetchDest }), door))

test('a link on another page leads to an app; no frame of that page shows it', () => {
  // Some browsers do not send Sec-Fetch-Dest; SameSite and frame-ancestors protect them.
  for (const dest of ['document', undefined])
    expect(foreign('navigate', dest).map(({ kind }) => kind)).toEqual(['pass', 'pass'])
  const refused = { kind: 'refuse', reason: 'foreign_origin' }
  for (const dest of ['iframe', 'frame', 'embed', 'object', 'fencedframe', '']) {
    expect([dest, foreign('navigate', dest)]).toEqual([dest, [refused, refused]])
  }
  for (const mode of ['no-cors', 'cors', 'websocket']) expect(foreign(mode, 'empty')).toEqual([refused, refused])
})

test('an app frames itself', () => {
  const own = { fetchSite: 'same-origin', fetchMode: 'navigate', fetchDest: 'iframe' }
  expect(admitVisitor(visit(own), door).kind).toBe('pass')
})

test.each([
  ['http', 'names', []],
  ['http', 'ports', ['Cache-Control', 'no-store']],
  ['https', 'ports', []],
] as const)(
  'over %s at %s, only an app frames itself and uses what it has, and a browser keeps nothing for the next app of a port',
  (scheme, kind, more) => {
    const theirs = ['Content-Security-Policy', "default-src 'self'; frame-ancestors *"]
    const cached = ['Cache-Control', 'max-age=31536000, immutable']
    const open = ['Cross-Origin-Resource-Policy', 'cross-origin']
    expect(publicAnswer([...theirs, ...open, ...cached], { scheme, kind })).toEqual([
      ...theirs,
      ...(more.length > 0 ? [] : cached),
      'Content-Security-Policy',
      "frame-ancestors 'self'",
      'Cross-Origin-Resource-Policy',
      'same-origin',
      ...more,
    ])
  },
)

test.each([
  ['berth_app_1=x', undefined],
  ['=berth_app_1=x', undefined],
  [' \t= =__Host-berth_1=x; Path=/', undefined],
  ['berth_app_1', undefined],
  ['mine=berth_1=x; DOMAIN = example.org ;Path=/', 'mine=berth_1=x;Path=/'],
  ['=mine', '=mine'],
])('an app sets no cookie of ours, and none for siblings: %j becomes %j', (sent, kept) => {
  const answer = publicAnswer(['Set-Cookie', sent, 'Set-Cookie', 'a=b'], { scheme: 'https', kind: 'ports' })
  const expected = kept === undefined ? [] : ['Set-Cookie', kept]
  expect(answer.slice(0, expected.length + 2)).toEqual([...expected, 'Set-Cookie', 'a=b'])
})
