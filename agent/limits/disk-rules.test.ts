import { expect, test } from 'vitest'
import { filler, type Growth, hiddenFiller, inodeFloor, isUnexplained, overLimit } from './disk-rules.ts'
import { upperDirectory } from './disk-use.ts'

const GiB = 2 ** 30
const none = { bytes: 0, inodes: 0 }
const grew = (kernelId: string, bytes: number, inodes = 0): Growth => ({
  kernelId,
  before: none,
  now: { bytes, inodes },
})
const floor = { bytes: GiB, inodes: 10_000 }

test('above the floor no session is ended, however fast it writes', () => {
  expect(filler([grew('mallory', 100 * GiB)], floor, floor)).toBeUndefined()
})

test('below the floor, the session that grew most is ended, with the reason', () => {
  const left = { bytes: GiB / 2, inodes: Infinity }
  const verdict = filler([grew('alice', GiB / 4), grew('mallory', 20 * GiB)], left, floor)
  expect(verdict).toEqual({
    kernelId: 'mallory',
    why: expect.objectContaining({ why: expect.stringMatching(/512 MiB left.*20\.0 GiB/) as string }) as object,
  })
})

test('old files, and a host that other programs fill, end no session', () => {
  const left = { bytes: 0, inodes: Infinity }
  const big: Growth = { kernelId: 'alice', before: { bytes: 50 * GiB, inodes: 9 }, now: { bytes: 50 * GiB, inodes: 9 } }
  expect(filler([big, grew('bob', GiB / 100)], left, floor)).toBeUndefined()
})

test('of sessions that grew by the same folder, the one that writes is ended', () => {
  const left = { bytes: GiB / 2, inodes: Infinity }
  const [alice, mallory] = [grew('alice', 20 * GiB), { ...grew('mallory', 20 * GiB), wrote: 20 * GiB }]
  expect(filler([alice, mallory], left, floor)?.kernelId).toBe('mallory')
  expect(filler([mallory, alice], left, floor)?.kernelId).toBe('mallory')
})

test('a loss is unexplained if it is notable and more than any session is known to have taken', () => {
  const loss = { lost: { bytes: 20 * GiB, inodes: 0 }, floor }
  expect(isUnexplained([grew('alice', 19.99 * GiB)], loss)).toBe(false)
  expect(isUnexplained([grew('alice', 12 * GiB)], loss)).toBe(false)
  expect(isUnexplained([grew('alice', GiB), grew('bob', -50 * GiB)], loss)).toBe(true)
  expect(isUnexplained([], { lost: none, floor })).toBe(false)
  expect(isUnexplained([grew('alice', GiB)], { lost: { bytes: GiB, inodes: 5_000 }, floor })).toBe(true)
})

test('what cannot be found was taken by the session that has written as much, if there is one', () => {
  const loss = { lost: { bytes: 20 * GiB, inodes: 0 }, floor }
  const left = { bytes: GiB / 2, inodes: Infinity }
  const [alice, busy] = [grew('alice', GiB), { ...grew('busy', 0), wroteSince: 5 * GiB }]
  const mallory = { ...grew('mallory', 0), wroteSince: 19 * GiB }
  expect(hiddenFiller([alice, busy, mallory], left, floor, loss)?.kernelId).toBe('mallory')
  // A program of the host fills the disk.
  expect(hiddenFiller([alice, busy], left, floor, loss)).toBeUndefined()
  expect(hiddenFiller([mallory], floor, floor, loss)).toBeUndefined()
  const known = { ...grew('known', 19.9 * GiB), wroteSince: 40 * GiB }
  expect(hiddenFiller([known], left, floor, loss)).toBeUndefined()
})

test('inodes run out like bytes', () => {
  const left = { bytes: 100 * GiB, inodes: 9_000 }
  const verdict = filler([grew('alice', 20 * GiB, 10), grew('mallory', 0, 500_000)], left, floor)
  expect(verdict).toEqual({
    kernelId: 'mallory',
    why: expect.objectContaining({ why: expect.stringContaining('500000 files') as string }) as object,
  })
  expect(inodeFloor(100_000)).toBe(5_000)
  expect(inodeFloor(10 ** 8)).toBe(10_000)
})

test('a session above its own limit gets the name of the limit', () => {
  const limits = { bytes: GiB, inodes: 1000 }
  expect(overLimit(true, { bytes: GiB, inodes: 1000 }, limits)).toBeUndefined()
  expect(overLimit(true, { bytes: GiB + 1, inodes: 0 }, limits)?.why).toContain('in /home/work took 1.0 GiB')
  expect(overLimit(true, { bytes: 0, inodes: 1001 }, limits)?.why).toContain('1001 files')
  expect(overLimit(true, { bytes: 1e15, inodes: 1e9 }, { bytes: undefined, inodes: undefined })).toBeUndefined()
})

test('the writable layer is read from the mount of the root', () => {
  const root =
    '751 598 0:61 / / rw,relatime master:311 - overlay overlay rw,lowerdir=/l/A:/l/B,upperdir=/var/lib/docker/overlay2/x/diff,workdir=/w'
  expect(upperDirectory(`${root}\n752 751 0:64 / /proc rw - proc proc rw`)).toBe('/var/lib/docker/overlay2/x/diff')
  expect(upperDirectory(root.replace('upperdir=/var', 'upperdir=var'))).toBeUndefined()
  expect(upperDirectory('1 2 8:1 / / rw - ext4 /dev/sda rw')).toBeUndefined()
})
