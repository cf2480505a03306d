import { expect, test } from 'vitest'
import { createPeopleWatch, hasOtherPeople, isSharedComputer, type Traces } from './other-people.ts'

const ALONE: Traces = {
  platform: 'linux',
  own: { uid: 1000, home: '/home/ada' },
  homes: [
    { path: '/home/ada', owner: 1000 },
    { path: '/home/lost+found', owner: 0 },
    { path: '/home/ada-before', owner: 1000 },
    { path: '/home/.snapshots', owner: 0 },
  ],
  accounts: [
    'root:x:0:0::/root:/bin/bash',
    'postgres:x:101:104::/var/lib/postgresql:/bin/bash',
    'ada:x:1000:1000::/home/ada:/bin/zsh',
    'nixbld1:x:30001:30000::/var/empty:/usr/sbin/nologin',
    'nobody:x:65534:65534::/nonexistent:/bin/sh',
    '',
  ].join('\n'),
  signedIn: ['1000', '114'],
}
const MAC: Traces = {
  ...ALONE,
  platform: 'darwin',
  own: { uid: 501, home: '/Users/ada' },
  homes: [
    { path: '/Users/ada', owner: 501 },
    { path: '/Users/Shared', owner: 0 },
    { path: '/Users/Guest', owner: 201 },
  ],
}
const WINDOWS: Traces = {
  ...ALONE,
  platform: 'win32',
  own: { uid: -1, home: 'C:\\Users\\ada' },
  homes: ['ada', 'Public', 'Default', 'Default User', 'All Users'].map(name => ({
    path: `C:\\Users\\${name}`,
    owner: 0,
  })),
}
const ROOT: Traces = { ...ALONE, own: { uid: 0, home: '/root' }, homes: [], accounts: '', signedIn: ['0'] }

test.each([
  ['Linux', ALONE],
  ['macOS', MAC],
  ['Windows', WINDOWS],
  ['a server with root alone', ROOT],
])('one person on %s is alone', (_, traces) => {
  expect(hasOtherPeople(traces)).toBe(false)
})

test.each<[string, Traces]>([
  ['a home', { ...ALONE, homes: [{ path: '/home/bob', owner: 1001 }] }],
  ['a home that is not mounted', { ...ALONE, homes: [{ path: '/home/bob', owner: 0 }] }],
  ['an account without a home', { ...ALONE, accounts: 'bob:x:1001:1001::/nonexistent:/bin/bash' }],
  ['an account with the default shell', { ...ALONE, accounts: 'bob:x:1001:1001::/home/bob:' }],
  ['an account of another directory that is signed in', { ...ALONE, signedIn: ['1000', '70001'] }],
  ['a home on macOS', { ...MAC, homes: [{ path: '/Users/bob', owner: 502 }] }],
  ['a home on Windows', { ...WINDOWS, homes: [{ path: 'C:\\Users\\bob', owner: 0 }] }],
  ['a home beside root', { ...ROOT, homes: [{ path: '/home/bob', owner: 1000 }] }],
  ['an account beside root', { ...ROOT, accounts: ALONE.accounts }],
])('%s is evidence of other people', (_, traces) => {
  expect(hasOtherPeople(traces)).toBe(true)
})

test('the traces of this computer can be read', async () => {
  expect(await isSharedComputer()).toBeTypeOf('boolean')
})

test('homes that cannot be looked at count as other people, and hold one look', async () => {
  const check = Promise.withResolvers<Traces>()
  let looks = 0
  const isShared = createPeopleWatch(() => (looks++, check.promise))
  expect(await Promise.all([isShared(), isShared(), isShared()])).toEqual([true, true, true])
  expect([await isShared(), looks]).toEqual([true, 1])
  check.resolve(ALONE)
  await expect.poll(isShared).toBe(false)
  const isUnreadable = createPeopleWatch(() => Promise.reject(new Error('EIO')))
  expect(await isUnreadable()).toBe(true)
})
