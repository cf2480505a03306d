import { expect, test } from 'vitest'
import { folderOptions, isReached, mountAt, mountsFrom, readMounts } from './mount-table.ts'

/** As printed by Linux 6.18: the mount directory of a kernel, a folder in it, and one with a space. */
const OWN = `27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
43 27 254:0 /data/mounts/k /data/mounts/k rw,relatime shared:2 - ext4 /dev/vda rw,discard
61 43 254:0 /srv/f /data/mounts/k/f ro,nosuid,nodev,relatime shared:5 - ext4 /dev/vda rw,discard
62 27 254:0 /x /my\\040disk rw,nosuid,noexec shared:7 master:1 propagate_from:3 - xfs /dev/vdb rw
`
const INSIDE = `78 60 0:50 / / rw,relatime - overlay overlay rw
96 78 254:0 /data/mounts/k /run/berth-folders ro,relatime master:2 - ext4 /dev/vda rw,discard
`
const own = readMounts(OWN)
const source = '/data/mounts/k'
const target = '/run/berth-folders'

test('mountinfo is read with escapes, options and peer groups', () => {
  expect(own.map(({ at }) => at)).toEqual(['/', source, `${source}/f`, '/my disk'])
  expect(own.at(-1)).toEqual({ at: '/my disk', options: ['rw', 'nosuid', 'noexec'], shared: 7, master: 1 })
  expect(mountAt(own, `${source}/f`)?.options).toContain('ro')
  expect(readMounts('')).toEqual([])
})

test('mounts are unmounted from the inside, and a neighbour of the same beginning is none of them', () => {
  const more = readMounts(`${OWN}70 27 254:0 / /data/mounts/k2 rw - ext4 /dev/vda rw\n`)
  expect(mountsFrom(more, source).map(({ at }) => at)).toEqual([`${source}/f`, source])
})

test.each([
  ['the container is a slave of the place', INSIDE, source, true],
  ['the agent has another group than the engine saw', INSIDE.replace('master:2', 'master:9'), source, false],
  ['the container is older', INSIDE.split('\n')[0] ?? '', source, false],
  ['the process has ended', '', source, false],
  ['the place is not mounted', INSIDE, '/data/mounts/other', false],
  ['the container has a private copy', INSIDE.replace(' master:2', ''), source, false],
])('%s', (_what, inside, at, expected) => {
  expect(isReached({ mounts: own, source: at }, { mounts: readMounts(inside), target })).toBe(expected)
})

test('restrictions of the storage are kept, and set-user-id programs and devices never work', () => {
  expect(folderOptions(['rw', 'relatime'], false)).toBe('bind,rw,nosuid,nodev')
  expect(folderOptions(['rw', 'noexec', 'noatime'], true)).toBe('bind,ro,nosuid,nodev,noexec,noatime')
  expect(folderOptions(['ro', 'nosuid'], false)).toBe('bind,ro,nosuid,nodev')
})
