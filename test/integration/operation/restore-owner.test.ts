import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createCli } from '../../fixtures/cli.ts'
import { cleanEnvironment } from '../../fixtures/environment.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { blocksOf, commandsIn, wordsOfBerth } from '../../fixtures/page-blocks.ts'

const execute = promisify(execFile)
const GUIDE = new URL('../../../docs/admin/backup.md', import.meta.url)
const PASSPHRASE = 'a long enough passphrase'
const isRoot = process.getuid?.() === 0
/** A user that every Linux has. */
const idOf = (flag: string) => execFileSync('id', [flag, 'nobody']).toString().trim()

/** The two commands of the guide: one makes the new directory, one fills it. */
async function commandsOfGuide(): Promise<[install: string, restore: string]> {
  const block = blocksOf(await readFile(GUIDE, 'utf8'), 'sh').find(text => text.includes('install -d -o berth'))
  return commandsIn(block ?? '') as [string, string]
}

test.runIf(isRoot)(
  'root saves the data of a Berth that runs as another user, and restores it by the steps of the guide, with the right owners',
  async () => {
    await using stack = new AsyncDisposableStack()
    const [uid, gid] = [Number(idOf('-u')), Number(idOf('-g'))]
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
    const { path: old } = stack.use(await temporaryDirectory())
    await chown(old, uid, gid)
    const [fresh, file] = [join(place, 'new'), join(place, 'berth.backup')]
    // The directory of a test is its own user's; the other user has to pass through it.
    await chmod(place, 0o711)

    const stop = await start(old)
    const saved = await cli.run(
      ['backup', file, '--with-key', '--passphrase-stdin', '--json', '--data', old],
      PASSPHRASE,
    )
    expect(saved).toMatchObject({ code: 0, err: '' })
    expect(JSON.parse(saved.out)).toMatchObject({ file, withKey: true })
    expect(await stat(file)).toMatchObject({ uid: 0, mode: 0o100600 })
    await stop()
    const [install, restore] = await commandsOfGuide()
    const here: Readonly<Record<string, string>> = { FILE: file, '/var/lib/berth-new': fresh }
    const mine = (words: readonly string[]) => words.map(word => here[word] ?? word)
    const [program = '', ...args] = install.replace('-o berth', '-o nobody').replace('-g berth', `-g ${gid}`).split(' ')
    await execute(program, mine(args))
    const restored = await cli.run([...mine(wordsOfBerth(restore)), '--passphrase-stdin', '--json'], PASSPHRASE)
    expect(restored).toMatchObject({ code: 0, err: '' })
    expect((await execute('find', [fresh, '!', '-user', 'nobody'])).stdout).toBe('')
    const again = await start(fresh)
    await again()
  },
)
