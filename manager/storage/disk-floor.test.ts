import { expect, test } from 'vitest'
import { createDiskFloor, type Floored, type Room } from './disk-floor.ts'

const STORAGE: Floored = { host: 'local', path: '/s', calls: { run: call => call() } }
const MiB = 2 ** 20
const GiB = 2 ** 30
const FULL = { code: 'disk_full', detail: { cause: 'storage_keeps_free' } }

const ROOM: Room = { isOwn: true, bytes: 0, bytesTotal: 10 * GiB, inodes: Infinity, inodesTotal: 0 }

function aFloor(room: Partial<Room>, floorMib = 100) {
  const it = { at: 0, looks: 0, room: { ...ROOM, ...room } }
  const look = () => Promise.resolve((it.looks++, it.room))
  return { it, floor: createDiskFloor({ floorBytes: floorMib * MiB, look, now: () => it.at }) }
}

test('writes leave twice the floor free, counted between two looks', async () => {
  const { it, floor } = aFloor({ bytes: 205 * MiB })
  expect(await floor.left(STORAGE)).toBe(5 * MiB)
  await floor.require(STORAGE, 3 * MiB)
  await expect(floor.require(STORAGE, 3 * MiB)).rejects.toMatchObject(FULL)
  await floor.require(STORAGE, 2 * MiB)
  expect(it.looks).toBe(1)
  it.at = 1_000
  await floor.require(STORAGE, 3 * MiB)
  expect(it.looks).toBe(2)
})

test('below the floor even an empty file is refused, until there is room', async () => {
  const { it, floor } = aFloor({ bytes: 150 * MiB })
  await expect(floor.require(STORAGE, 0)).rejects.toMatchObject(FULL)
  expect(await floor.left(STORAGE)).toBe(0)
  it.at = 5_000
  it.room = { ...ROOM, bytes: 900 * MiB }
  await floor.require(STORAGE, 0)
})

test('inodes are kept free likewise', async () => {
  const full = aFloor({ bytes: 2 ** 40, inodes: 9_000, inodesTotal: 100_000 })
  await expect(full.floor.require(STORAGE, 0)).rejects.toMatchObject(FULL)
  const ample = aFloor({ bytes: 2 ** 40, inodes: 11_000, inodesTotal: 100_000 })
  await ample.floor.require(STORAGE, 0)
})

test('on another disk than the manager writes leave the floor free, at most a twentieth of the disk', async () => {
  const forSessions = { ...FULL, detail: { cause: 'storage_keeps_for_sessions', values: { size: '100 MiB' } } }
  const large = aFloor({ isOwn: false, bytes: 105 * MiB })
  expect(await large.floor.left(STORAGE)).toBe(5 * MiB)
  await expect(large.floor.require(STORAGE, 6 * MiB)).rejects.toMatchObject(forSessions)
  await large.floor.require(STORAGE, 5 * MiB)
  const small = aFloor({ isOwn: false, bytes: 105 * MiB, bytesTotal: 200 * MiB })
  expect(await small.floor.left(STORAGE)).toBe(95 * MiB)
  const inodes = aFloor({ isOwn: false, bytes: GiB, inodes: 5_001, inodesTotal: 100_000 })
  await inodes.floor.require(STORAGE, 0)
  inodes.it.at = 5_000
  inodes.it.room = { ...inodes.it.room, inodes: 5_000 }
  await expect(inodes.floor.require(STORAGE, 0)).rejects.toMatchObject({ code: 'disk_full' })
})

test('a floor of zero keeps nothing free', async () => {
  const { floor } = aFloor({ bytes: 0 }, 0)
  expect(await floor.left(STORAGE)).toBe(Infinity)
  await floor.require(STORAGE, 2 ** 50)
})

test('a look that failed is repeated', async () => {
  let looks = 0
  const look = () => (looks++ === 0 ? Promise.reject(new Error('away')) : Promise.resolve({ ...ROOM, bytes: GiB }))
  const floor = createDiskFloor({ floorBytes: 1, look, now: () => 0 })
  await expect(floor.require(STORAGE, 1)).rejects.toThrow('away')
  await floor.require(STORAGE, 1)
})
