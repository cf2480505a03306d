import { execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { startProxy } from '#proxy'
import { startTestManager, temporaryDirectory } from '../../fixtures/manager.ts'
import { openScreen } from '../../fixtures/screen.ts'

const run = promisify(execFile)

/** Without a welcome message and a check for updates, each of which opens a window at the first start. */
const SETTINGS = `<FileZilla3><Settings>
  <Setting name="Greeting version">99.0.0</Setting>
  <Setting name="Update Check">0</Setting>
</Settings></FileZilla3>`

test('the site file opens the folders in FileZilla: its user accepts the host key, and moves a file each way', async context => {
  // `npm test` installs it; without the program there is nothing to test.
  if (!existsSync('/usr/bin/filezilla')) return context.skip('no filezilla')
  await using stack = new AsyncDisposableStack()
  const manager = stack.use(await startTestManager())
  const home = stack.use(await temporaryDirectory()).path
  const owner = await manager.addUser('owner@example.org')
  const folder = await owner.api.createFolder({ body: { name: 'data' } })
  const remote = join(manager.dataDir, 'storage', 'folders', folder.id)
  const proxy = stack.use(
    await startProxy({
      managerUrl: manager.url,
      credentials: () => Promise.resolve({ authorization: `Bearer ${owner.token}` }),
      dataDir: join(home, 'proxy'),
      userId: owner.id,
      sshDirectory: join(home, 'ssh'),
    }),
  )
  await proxy.sftp.open({})
  const config = join(home, '.config/filezilla')
  const local = join(home, 'local')
  await mkdir(config, { recursive: true })
  await mkdir(local)
  await writeFile(join(config, 'sitemanager.xml'), (await proxy.sftp.keyFile('filezilla')).content)
  await writeFile(join(config, 'filezilla.xml'), SETTINGS)
  const down = randomBytes(700_001)
  const up = randomBytes(300_003)
  await writeFile(join(remote, 'down.bin'), down)
  await writeFile(join(local, 'up.bin'), up)

  const screen = stack.use(await openScreen())
  const env = { ...process.env, ...screen.env, HOME: home }
  const xdotool = async (...steps: (string | number)[]) => (await run('xdotool', steps.map(String), { env })).stdout
  const filezilla = spawn('filezilla', ['--site=0/berth-folders', `--local=${local}`], { env, stdio: 'ignore' })
  const ended = once(filezilla, 'exit')
  stack.defer(async () => {
    filezilla.kill()
    await ended
  })
  /** Searches again until a window exists: xdotool fails if any window closes during the search. */
  const windowOf = (title: string) =>
    vi.waitFor(async () => (await xdotool('search', '--onlyvisible', '--name', title)).trim(), {
      timeout: 120_000,
      interval: 500,
    })
  const question = await windowOf('Unknown host key')
  // The button of the question takes no key before the dialog has been drawn.
  await vi.waitFor(
    async () => {
      const isOpen = await xdotool('windowactivate', '--sync', question, 'key', 'Return').then(
        () => true,
        () => false,
      )
      if (isOpen) throw new Error('the question about the host key is still open')
    },
    { timeout: 120_000, interval: 500 },
  )

  const window = await windowOf('berth-folders.*FileZilla')
  /**
   * Clicks below the entries of the list on this side, so that it receives keys, and opens an entry, until the file has arrived. A key press
   * before the list is loaded has no effect; one that comes twice opens a question about the file that is there, which Escape closes.
   */
  const transfer = (side: 'local' | 'remote', keys: readonly string[], target: string) =>
    expect
      .poll(
        async () => {
          if (existsSync(target)) return true
          await xdotool('key', 'Escape')
          const inList = ['mousemove', '--window', window, side === 'local' ? 300 : 900, 500, 'click', 1]
          await xdotool('windowactivate', window, ...inList)
          await xdotool('key', '--delay', 100, ...keys, 'Return')
          await delay(1_500)
          return false
        },
        { timeout: 300_000 },
      )
      .toBe(true)
  // The list's first entry is the folder, and within the folder the file.
  await transfer('remote', ['Home', 'Down'], join(local, 'down.bin'))
  await expect.poll(async () => (await readFile(join(local, 'down.bin'))).equals(down)).toBe(true)
  await transfer('local', ['End'], join(remote, 'up.bin'))
  await expect.poll(async () => (await readFile(join(remote, 'up.bin'))).equals(up)).toBe(true)
})
