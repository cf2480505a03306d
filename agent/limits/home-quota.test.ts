import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, mkdtemp, rename, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { diskUse } from './disk-use.ts'
import { removeTree } from '../kernel/remove-tree.ts'
import { longestMount, type Mount } from '#base/mount-info'
import { findHomeQuota, projectOf } from './home-quota.ts'

const run = promisify(execFile)
const MiB = 2 ** 20
const isRoot = process.getuid?.() === 0

test('the mount of a path is the longest one above it, and the last of equal ones', () => {
  const text = [
    '1 0 8:1 / / rw - ext4 /dev/sda rw,discard',
    '2 1 8:2 / /var/lib/berth rw,nosuid,nodev shared:1 - xfs /dev/sdb rw,prjquota',
    '3 1 8:3 / /var/lib/berth rw,nosuid,nodev shared:1 - btrfs /dev/sdc rw',
    '4 1 8:4 / /my\\040disk rw - ext4 /dev/sdd rw',
  ].join('\n')
  expect(longestMount(text, '/var/lib/berth/agent')?.type).toBe('btrfs')
  expect(longestMount(text, '/var/lib/berthold')?.mountPoint).toBe('/')
  expect(longestMount(text, '/my disk/x')?.mountPoint).toBe('/my disk')
  expect(longestMount(text, '/var/lib/berth/agent')?.flags).toEqual(['rw', 'nosuid', 'nodev'])
})

describe.runIf(isRoot)('as root', () => {
  const project = { mountPoint: '/data', type: 'ext4', options: ['rw', 'prjquota'] }
  const find = (mount: Mount, calls: string[][] = []) =>
    findHomeQuota({
      directory: '/data/scratch',
      limits: { bytes: 5 * MiB, inodes: 100 },
      mountOf: () => Promise.resolve(mount),
      run: (program, args) => Promise.resolve('').finally(() => calls.push([program, ...args])),
    })

  test.each(['ext4', 'xfs'])('%s with prjquota: each home has a project, also after a rename', async type => {
    await using directory = await temporary()
    const calls: string[][] = []
    const quota = await find({ ...project, type }, calls)
    const path = join(directory.path, 'home')
    await quota.create(path)
    await expect(quota.create(path)).rejects.toMatchObject({ code: 'EEXIST' })
    calls.length = 0
    await quota.limit(path)
    const [[, , , , , , , , id = ''] = []] = calls
    expect(Number(id)).toBeGreaterThanOrEqual(2 ** 30)
    const folders = ['-type', 'd', '-execdir', 'chattr', '-p', id, '+P', '{}', '+']
    const files = ['-type', 'f', '-execdir', 'chattr', '-p', id, '{}', '+']
    expect(calls).toEqual([
      ['find', path, '-xdev', ...folders, '-o', ...files],
      ['setquota', '-P', id, '0', '5120', '0', '100', '/data'],
    ])
    expect(projectOf(2 ** 40 + 7)).toBe(String(2 ** 30 + 7))
  })

  test.each([
    ['tmpfs', []],
    ['ext4', ['rw']],
  ])('without quotas, %s %s, the reason is given, and homes are plain directories', async (type, options) => {
    await using directory = await temporary()
    const quota = await find({ mountPoint: '/data', type, options })
    expect(quota).toMatchObject({ kind: 'none', why: expect.stringContaining(type) as string })
    await quota.create(join(directory.path, 'home'))
    await quota.limit(join(directory.path, 'home'))
  })

  test.for(['ext4', 'xfs'] as const)('%s: the full home of one user does not fill another one', async (type, ctx) => {
    await using disk = await projectDisk(type)
    // Needs CONFIG_QFMT_V2 for ext4, and CONFIG_XFS_QUOTA; the kernel of Debian's user-mode-linux has them.
    if (!disk) return ctx.skip(`this kernel has no project quotas on ${type}`)
    const limits = { bytes: 8 * MiB, inodes: 100 }
    const quota = await findHomeQuota({ directory: disk.path, limits })
    expect(quota.kind).toBe('project')
    const [mallory, alice] = [join(disk.path, 'mallory'), join(disk.path, 'alice')]
    for (const home of [mallory, alice]) {
      await quota.create(home)
      await quota.limit(home)
      await chown(home, 65_534, 65_534)
    }
    // A pipe and a link have no project id of their own; the nested folders make a path longer than PATH_MAX.
    const oddities = 'mkfifo "$0/pipe"; ln -s / "$0/link"; cd "$0"; for i in $(seq 30); do mkdir "$1"; cd "$1"; done'
    await run('bash', ['-c', oddities, mallory, 'long'.repeat(50)])
    // XFS says that the disk is full, see mount options in xfs(5).
    const full = /quota|no space left/i
    await expect(writeAs(65_534, join(mallory, 'x'), 20)).rejects.toThrow(full)
    await writeAs(65_534, join(alice, 'x'), 4)
    const many = ['-c', 'mkdir "$0/many" && cd "$0/many" && seq 200 | xargs touch', alice]
    await expect(run('sh', many, { uid: 65_534, gid: 65_534 })).rejects.toThrow(full)
    // The next session takes over the home, under another name and with its files.
    const renamed = join(disk.path, 'renamed')
    await rename(mallory, renamed)
    await quota.limit(renamed)
    await expect(writeAs(65_534, join(renamed, 'y'), 4)).rejects.toThrow(full)
    await rm(join(renamed, 'x'))
    await writeAs(65_534, join(renamed, 'y'), 4)
  })

  test('btrfs: the full home of one user does not fill another one; a home is removed like a directory', async ctx => {
    await using disk = await btrfs()
    if (!disk) return ctx.skip('no btrfs on this machine')
    const [mallory, alice] = [join(disk.path, 'mallory'), join(disk.path, 'alice')]
    const off = await findHomeQuota({ directory: disk.path, limits: { bytes: 8 * MiB, inodes: undefined } })
    expect(off).toMatchObject({ kind: 'none', why: expect.stringContaining('btrfs quota enable') as string })
    await run('btrfs', ['quota', 'enable', disk.path])
    const quota = await findHomeQuota({ directory: disk.path, limits: { bytes: 8 * MiB, inodes: 100 } })
    expect(quota.kind).toBe('btrfs')
    for (const home of [mallory, alice]) {
      await quota.create(home)
      await expect(quota.create(home)).rejects.toMatchObject({ code: 'EEXIST' })
      await quota.limit(home)
      await chown(home, 65_534, 65_534)
    }
    await expect(writeAs(65_534, join(mallory, 'x'), 20)).rejects.toThrow(/quota/i)
    await writeAs(65_534, join(alice, 'x'), 4)
    await removeTree(mallory)
    await expect(run('stat', [mallory])).rejects.toThrow()
    // A folder older than the quota.
    const old = join(disk.path, 'old')
    await mkdir(old)
    await quota.limit(old)
    expect(await quota.unenforced(old)).toEqual({ bytes: 8 * MiB, inodes: 100 })
    expect(await quota.unenforced(alice)).toEqual({ bytes: undefined, inodes: 100 })
    // A subvolume of its own, to which the quota does not apply.
    await run('btrfs', ['subvolume', 'create', join(alice, 'inner')], { uid: 65_534, gid: 65_534 })
    await writeAs(65_534, join(alice, 'inner', 'x'), 20)
    expect(await diskUse(alice, AbortSignal.timeout(10_000))).toMatchObject({ bytes: 24 * MiB, inodes: 4 })
    expect(await quota.unenforced(alice)).toEqual({ bytes: 8 * MiB, inodes: 100 })
    expect(await quota.unenforced(mallory)).toEqual({ bytes: 8 * MiB, inodes: 100 })
    // A home with more subvolumes than can be listed.
    const deaf = await findHomeQuota({
      directory: disk.path,
      limits: { bytes: 8 * MiB, inodes: 100 },
      run: (_program, [command]) =>
        command === 'subvolume' ? Promise.reject(new Error('maxBuffer exceeded')) : Promise.resolve(''),
    })
    expect(await deaf.unenforced(alice)).toEqual({ bytes: 8 * MiB, inodes: 100 })
  })
})

async function temporary(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'berth-test-quota-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

function writeAs(uid: number, path: string, mib: number) {
  return run('dd', ['if=/dev/zero', `of=${path}`, 'bs=1M', `count=${mib}`, 'conv=fsync'], { uid, gid: uid })
}

type Disk = AsyncDisposable & { readonly path: string }

const btrfs = () => mounted(256, ['mkfs.btrfs', '-q'], ['-o', 'loop'])
const projectDisk = (type: 'ext4' | 'xfs') =>
  mounted(
    320, // mkfs.xfs refuses less than 300 MiB
    type === 'ext4' ? ['mkfs.ext4', '-q', '-F', '-O', 'quota,project'] : ['mkfs.xfs', '-q'],
    ['-t', type, '-o', 'loop,prjquota'],
  )

/** A file system in a file; undefined if this machine cannot create or mount it. */
async function mounted(
  mib: number,
  [mkfs = '', ...flags]: string[],
  options: readonly string[],
): Promise<Disk | undefined> {
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-disk-'))
  const [image, path] = [join(directory, 'image'), join(directory, 'mount')]
  await chmod(directory, 0o711)
  await writeFile(image, '')
  await truncate(image, mib * MiB)
  await mkdir(path)
  const isMounted = await run(mkfs, [...flags, image])
    .then(() => run('mount', [...options, image, path]))
    .then(
      () => true,
      () => false,
    )
  if (!isMounted) {
    await rm(directory, { recursive: true, force: true })
    return undefined
  }
  return {
    path,
    async [Symbol.asyncDispose]() {
      await run('umount', [path])
      await rm(directory, { recursive: true, force: true })
    },
  }
}
