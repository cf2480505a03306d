import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { longestMount } from '#base/mount-info'
import { createFolderQuotas, projectOf } from './folder-quota.ts'

let path: string
beforeAll(async () => {
  path = join(await mkdtemp(join(tmpdir(), 'quota-')), 'folder')
  await mkdir(path)
})
afterAll(() => rm(path, { recursive: true }))

const LIMITS = { bytes: 5, files: 5 }
const both = (why: RegExp) => ({
  bytes: expect.stringMatching(why) as string,
  files: expect.stringMatching(why) as string,
})

const isRoot = process.getuid?.() === 0

test.runIf(isRoot)(
  'a project of ext4 gets its limits, in blocks of 1 KiB and in inodes with its own, and loses them',
  async () => {
    const ran: string[][] = []
    const quotas = createFolderQuotas({
      run: (program, args) => Promise.resolve(String(ran.push([program, ...args]))),
      mountOf: () => Promise.resolve({ mountPoint: '/srv', type: 'ext4', options: ['rw', 'prjquota'] }),
    })
    expect(await quotas.limit(path, { bytes: 2 ** 20 + 1, files: 500 })).toEqual({})
    expect(ran.map(([program]) => program)).toEqual(['find', 'setquota'])
    expect(ran[1]?.slice(3)).toEqual(['0', '1025', '0', '501', '/srv'])
    ran.length = 0
    expect(await quotas.limit(path, { bytes: null, files: null })).toEqual({})
    expect(ran[0]?.slice(3)).toEqual(['0', '0', '0', '0', '/srv'])
  },
)

test.runIf(isRoot)('without quotas the reason is said, and nothing is run', async () => {
  const quotas = (type: string) =>
    createFolderQuotas({
      run: () => Promise.reject(new Error('must not run')),
      mountOf: () => Promise.resolve({ mountPoint: '/srv', type, options: ['rw'] }),
    })
  expect(await quotas('ext4').limit(path, LIMITS)).toEqual(both(/prjquota/))
  expect(await quotas('nfs4').limit(path, LIMITS)).toEqual(both(/no quotas/))
})

test('the longest mount above a path counts, and ids of projects are not those of homes', () => {
  const info = '1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 8:2 / /srv\\040x rw - xfs /dev/b rw,prjquota'
  expect(longestMount(info, '/srv x/folders/1')).toMatchObject({ type: 'xfs', mountPoint: '/srv x' })
  expect(longestMount(info, '/home')).toMatchObject({ type: 'ext4' })
  expect(Number(projectOf(5))).toBe(2 ** 31 + 5)
})
