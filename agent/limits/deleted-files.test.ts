import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { deletedUse } from './deleted-files.ts'

const MiB = 2 ** 20

test('a deleted file that processes hold open counts once, and files with a name do not', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-test-deleted-'))
  // $$ is the process id: each has files of its own.
  const script = `exec 3>gone$$ 4>kept$$; rm gone$$; head -c ${3 * MiB} /dev/zero >&3; head -c ${MiB} /dev/zero >&4; echo; read -r _`
  const children = ['a', 'b'].map(() =>
    spawn('sh', ['-c', script], { cwd: directory, stdio: ['pipe', 'pipe', 'ignore'] }),
  )
  try {
    await Promise.all(children.map(child => once(child.stdout, 'data')))
    const pids = children.map(({ pid }) => pid ?? 0)
    const { dev } = await stat(directory)
    const found = (await deletedUse([...pids, ...pids])).get(dev)
    expect(found?.inodes).toBe(2)
    expect(found?.bytes).toBeGreaterThanOrEqual(6 * MiB)
    expect(found?.bytes).toBeLessThan(7 * MiB)
  } finally {
    for (const child of children) child.kill()
    await rm(directory, { recursive: true, force: true })
  }
})

test('a process that has ended holds nothing', async () => {
  expect((await deletedUse([2 ** 22 + 1])).size).toBe(0)
})
