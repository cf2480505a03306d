import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { lockDirectory } from './directory-lock.ts'

async function directory(...below: string[]) {
  const path = await mkdtemp(join(tmpdir(), 'berth-lock-'))
  return { path: join(path, ...below), [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}

test.each([['short'], ['long-'.repeat(30)]])(
  'of two agents with one directory the second is refused and learns who holds it (%s name)',
  async name => {
    await using place = await directory(name)
    {
      await using _first = await lockDirectory(place.path)
      await expect(lockDirectory(place.path)).rejects.toMatchObject({
        code: 'data_dir_locked',
        detail: { why: expect.stringContaining(`(process ${process.pid})`) as string },
      })
    }
    await using _next = await lockDirectory(place.path)
  },
)

test('a directory that is open to other users is closed', async () => {
  await using place = await directory()
  await chmod(place.path, 0o755)
  await using _lock = await lockDirectory(place.path)
  expect((await stat(place.path)).mode & 0o777).toBe(0o700)
})

test('an agent that was killed leaves no lock behind', async () => {
  await using place = await directory('agent')
  const code = `const { lockDirectory } = await import(${JSON.stringify(join(import.meta.dirname, 'directory-lock.ts'))})
    await lockDirectory(${JSON.stringify(place.path)}); console.log('held'); setInterval(() => undefined, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout, 'data')
  await expect(lockDirectory(place.path)).rejects.toMatchObject({ code: 'data_dir_locked' })
  child.kill('SIGKILL')
  await once(child, 'exit')
  await using _next = await lockDirectory(place.path)
})
