import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chown, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createCli } from '../../fixtures/cli.ts'
import { cleanEnvironment } from '../../fixtures/environment.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'

const execute = promisify(execFile)
const PASSPHRASE = 'a long enough passphrase'
const isRoot = process.getuid?.() === 0
/** A user that every Linux has. */
const idOf = (flag: string) => Number(execFileSync('id', [flag, 'nobody']).toString())

test.runIf(isRoot)(
  'root saves and restores the data of a Berth that runs as another user, with the right owners',
  async () => {
    await using stack = new AsyncDisposableStack()
    const [uid, gid] = [idOf('-u'), idOf('-g')]
    const directory = async () => {
      const { path } = stack.use(await temporaryDirectory())
      await chown(path, uid, gid)
      return path
    }
    const start = async (data: string) => {
      const child = spawn(process.execPath, [join(import.meta.dirname, '../../../manager/main.ts')], {
        ...{ uid, gid, cwd: '/' },
        env: { ...cleanEnvironment(), BERTH_DATA: data, BERTH_LOG: 'error', DATABASE_URL: '', HOME: '/nonexistent' },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const stop = async () => {
        if (child.exitCode === null && child.kill('SIGTERM')) await once(child, 'exit')
      }
      stack.defer(stop)
      const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string]
      expect(JSON.parse(line)).toMatchObject({ ready: 'manager' })
      return stop
    }
    const cli = stack.use(await createCli())
    const { path: place } = stack.use(await temporaryDirectory())
    const [old, fresh, file] = [await directory(), await directory(), join(place, 'berth.backup')]
    const flags = ['--with-key', '--passphrase-stdin', '--json', '--data']

    const stop = await start(old)
    const saved = await cli.run(['backup', file, ...flags, old], PASSPHRASE)
    expect(saved).toMatchObject({ code: 0, err: '' })
    expect(JSON.parse(saved.out)).toMatchObject({ file, withKey: true })
    expect(await stat(file)).toMatchObject({ uid: 0, mode: 0o100600 })
    await stop()
    const restored = await cli.run(['restore', file, ...flags, fresh], PASSPHRASE)
    expect(restored).toMatchObject({ code: 0, err: '' })
    expect((await execute('find', [fresh, '!', '-user', 'nobody'])).stdout).toBe('')
    const again = await start(fresh)
    await again()
  },
)
