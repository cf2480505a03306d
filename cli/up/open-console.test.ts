import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { type ConsolePlace, openConsole } from './open-console.ts'

const LINK = 'http://localhost:8400/#/sign-in?ticket=secret'
let folder: string
let place: ConsolePlace

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-test-open-'))
  const signInPage = pathToFileURL(join(folder, 'sign-in.html')).href
  place = { open: 'window', root: join(folder, 'root'), profile: join(folder, 'profile'), signInPage, signInUrl: LINK }
  vi.spyOn(process, 'getuid').mockReturnValue(1000)
  vi.stubEnv('PATH', folder)
  vi.stubEnv('DISPLAY', ':0')
  vi.stubEnv('ELECTRON_OVERRIDE_DIST_PATH', folder)
  await mkdir(join(folder, 'root/dist/electron/main'), { recursive: true })
  await writeFile(join(folder, 'root/dist/electron/main/main.js'), '')
})
afterEach(async () => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true })
})

/** A program that stores its arguments and the link in its environment. */
async function install(name: string, code = 0): Promise<void> {
  const line = `echo "${name} $* ($BERTH_SIGN_IN_LINK)" >> '${join(folder, 'started')}'; exit ${code}`
  await writeFile(join(folder, name), `#!/bin/sh\n${line}\n`)
  await chmod(join(folder, name), 0o755)
}
const started = async () =>
  (await readFile(join(folder, 'started'), 'utf8').catch(() => '')).split('\n').filter(Boolean)

describe.runIf(process.platform === 'linux')('on Linux', () => {
  test('the console opens in the desktop app, which gets the link where no other user reads it', async () => {
    for (const name of ['electron', 'chromium', 'xdg-open']) await install(name)
    expect(await openConsole(place)).toBeDefined()
    expect(await started()).toEqual([`electron ${place.root} (${LINK})`])
  })

  test('without an app that starts it opens in an app window of a browser, with a profile of its own', async () => {
    await install('electron', 127)
    for (const name of ['chromium', 'xdg-open']) await install(name)
    expect(await openConsole(place)).toBeDefined()
    const [app, browser, ...more] = await started()
    expect([app, more]).toEqual([`electron ${place.root} (${LINK})`, []])
    expect(browser).toContain(`chromium --app=${place.signInPage} --user-data-dir=${place.profile} `)
    expect(browser).not.toContain('sandbox')
    expect(browser).not.toContain('ticket')
    for (const flag of ['background-networking', 'component-update', 'sync'])
      expect(browser).toContain(` --disable-${flag}`)
  })

  test('an app window ends with Berth', async () => {
    const script = `#!/bin/sh\necho $$ > '${join(folder, 'pid')}'\nexec /bin/sleep 600\n`
    await writeFile(join(folder, 'chromium'), script, { mode: 0o755 })
    const window = await openConsole(place)
    const pid = Number(await readFile(join(folder, 'pid'), 'utf8'))
    const isRunning = () => {
      try {
        return process.kill(pid, 0)
      } catch {
        return false
      }
    }
    expect(isRunning()).toBe(true)
    window?.[Symbol.dispose]()
    await expect.poll(isRunning).toBe(false)
  })

  test('without both, and where the user wants it so, it opens in the usual browser', async () => {
    await install('xdg-open')
    expect(await openConsole(place)).toBeDefined()
    await expect.poll(started).toEqual([`xdg-open ${place.signInPage} ()`])
    for (const name of ['electron', 'chromium']) await install(name)
    expect(await openConsole({ ...place, open: 'browser' })).toBeDefined()
    await expect.poll(started).toEqual(Array.from({ length: 2 }, () => `xdg-open ${place.signInPage} ()`))
  })

  test('root gets no window, because Chromium would have no sandbox', async () => {
    vi.mocked(process.getuid!).mockReturnValue(0)
    for (const name of ['electron', 'chromium', 'xdg-open']) await install(name)
    expect(await openConsole(place)).toBeDefined()
    await expect.poll(started).toEqual([`xdg-open ${place.signInPage} ()`])
  })

  test('where nothing can be opened, the caller hears so', async () => {
    expect(await openConsole(place)).toBeUndefined()
  })
})
