import { expect, test } from 'vitest'
import { foldersBesideHome } from './session-folders.ts'

const OWN = `27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 27 7:3 / /srv/small rw,relatime - ext4 /dev/loop3 rw
43 27 7:3 /agent/mounts/k /srv/small/agent/mounts/k rw,relatime shared:2 - ext4 /dev/loop3 rw
61 43 7:3 /storage/folders/b /srv/small/agent/mounts/k/b rw,nosuid shared:5 - ext4 /dev/loop3 rw
`
const INSIDE = `78 60 0:50 / / rw,relatime - overlay overlay rw,upperdir=/u
80 78 7:3 /docker/hosts /etc/hosts rw,relatime - ext4 /dev/loop3 rw
90 78 7:3 /agent/scratch/k /home/work rw,relatime - ext4 /dev/loop3 rw
91 90 7:3 /storage/folders/a /home/work/my\\040data rw,relatime - ext4 /dev/loop3 rw
92 90 7:3 /storage/folders/r /home/work/read ro,relatime - ext4 /dev/loop3 rw
93 90 0:44 / /home/work/share rw,relatime - nfs4 server:/ rw
94 90 7:3 /agent/scratch/k/.volumes/x /home/work/x rw,relatime - ext4 /dev/loop3 rw
95 90 7:3 /storage/folders/a/inner /home/work/inner rw,relatime - ext4 /dev/loop3 rw
96 78 7:3 /agent/mounts/k /run/berth-folders ro,relatime master:2 - ext4 /dev/loop3 rw
97 96 7:3 /storage/folders/b /run/berth-folders/b rw,nosuid master:5 - ext4 /dev/loop3 rw
`

test('folders that a session can write to on the file system of its home are found, each once', () => {
  expect(foldersBesideHome(INSIDE, OWN)).toEqual(['/srv/small/storage/folders/a', '/srv/small/storage/folders/b'])
})

test('a folder of which this process sees nothing, and a process that has ended, give none', () => {
  expect(foldersBesideHome(INSIDE, OWN.split('\n')[0] ?? '')).toEqual([])
  expect(foldersBesideHome('', OWN)).toEqual([])
})

test('a file system that is mounted at the top', () => {
  const inside = `90 1 254:0 /d/scratch/k /home/work rw - ext4 /dev/vda rw\n91 90 254:0 /d/f /home/work/f rw - ext4 /dev/vda rw`
  expect(foldersBesideHome(inside, OWN)).toEqual(['/d/f'])
})
