import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createFolderQuotas } from '../../manager/storage/folder-quota.ts'

const run = promisify(execFile)
const FILE_SYSTEMS = [
  { type: 'btrfs', make: ['mkfs.btrfs', '-q'], options: 'loop', on: ['btrfs', 'quota', 'enable'] },
  {
    type: 'ext4',
    make: ['mkfs.ext4', '-q', '-O', 'quota,project', '-E', 'quotatype=prjquota'],
    options: 'loop,prjquota',
    on: ['setquota', '--version'],
  },
  { type: 'xfs', make: ['mkfs.xfs', '-q'], options: 'loop,prjquota', on: ['setquota', '--version'] },
] as const

/** A file system with quotas on a loop device. @throws if a program is missing, or the kernel has no such quotas */
async function mounted({ make, options, on }: (typeof FILE_SYSTEMS)[number]) {
  await using stack = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'folder-quota-'))
  stack.defer(() => rm(directory, { recursive: true }))
  const [image, top] = [join(directory, 'image'), join(directory, 'top')]
  await run('truncate', ['-s', '320M', image])
  const [program, ...args] = make
  await run(program, [...args, image])
  await mkdir(top)
  await run('mount', ['-o', options, image, top])
  stack.defer(async () => {
    await run('umount', [top])
  })
  await run(on[0], [...on.slice(1), ...(on[0] === 'btrfs' ? [top] : [])])
  await run('chmod', ['0755', directory])
  const kept = stack.move()
  return { top, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

/** Writes as an ordinary user, like sessions: no project quota stops root. */
const write = (path: string, mebibytes: number) =>
  run('setpriv', ['--reuid=65534', '--clear-groups', 'dd', 'if=/dev/zero', `of=${path}`, 'bs=1M', `count=${mebibytes}`])

const ten = (folder: string) => Array.from({ length: 10 }, (_, n) => join(folder, `file-${n}`))

test.for(FILE_SYSTEMS)(
  'a session gets an error when it writes more than the limit of a folder on $type',
  async (kind, { skip }) => {
    const device = await mounted(kind).catch((error: unknown) => {
      const { stderr, message } = error as { stderr?: string; message: string }
      const why = `NOT TESTED: quotas of ${kind.type}: ${(stderr ?? '') || message}`.trim()
      console.warn(why)
      return skip(why)
    })
    await using _device = device
    const quotas = createFolderQuotas()
    const folder = join(device.top, 'folder')
    await quotas.create(folder)
    await run('chown', ['65534', folder])
    const why = await quotas.limit(folder, { bytes: 5 * 2 ** 20, files: 10 })
    expect(why.bytes).toBeUndefined()
    await write(join(folder, 'fits'), 3)
    await expect(write(join(folder, 'too-much'), 20)).rejects.toThrow(/quota exceeded|No space left/)
    await rm(join(folder, 'too-much'), { force: true })
    // btrfs has no such limit, so only Berth refuses further files.
    expect(why.files === undefined).toBe(kind.type !== 'btrfs')
    const touched = run('setpriv', ['--reuid=65534', '--clear-groups', 'touch', ...ten(folder)])
    if (why.files === undefined) await expect(touched).rejects.toThrow(/quota exceeded|No space left/)
    else await touched
    expect((await quotas.limit(folder, { bytes: null, files: null })).bytes).toBeUndefined()
    await write(join(folder, 'now'), 20)
  },
)
