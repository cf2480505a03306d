import { access, mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { _electron } from 'playwright-core'
import { expect, test } from 'vitest'

const ROOT = path.resolve(import.meta.dirname, '../..')

/**
 * Where Electron keeps its binary, without asking its package: that would start a download. ELECTRON_OVERRIDE_DIST_PATH
 * is Electron's own variable for a binary from elsewhere.
 */
async function findElectron(): Promise<string | undefined> {
  const home = path.dirname(createRequire(import.meta.url).resolve('electron/package.json'))
  const folder = process.env['ELECTRON_OVERRIDE_DIST_PATH'] ?? path.join(home, 'dist')
  const name = process.platform === 'darwin' ? 'Electron.app/Contents/MacOS/Electron' : 'electron'
  const file = path.join(folder, process.platform === 'win32' ? `${name}.exe` : name)
  return access(file).then(
    () => file,
    () => undefined,
  )
}

test('the desktop app shows the sign-in page of a manager, without Node in the page', async ctx => {
  const executablePath = await findElectron()
  if (!executablePath) return ctx.skip('Electron binary is not on this machine')
  const config = await mkdtemp(path.join(tmpdir(), 'berth-test-electron-'))
  const problem = { type: 'x', title: 'Sign in first', status: 401, code: 'not_signed_in', retry: false }
  const manager = createServer((req, res) => {
    const healthy = req.url === '/healthz'
    res.writeHead(healthy ? 200 : 401, { 'content-type': 'application/problem+json' }).end(JSON.stringify(problem))
  })
  await new Promise<void>(resolve => manager.listen(0, '127.0.0.1', resolve))
  const app = await _electron.launch({
    executablePath,
    args: [ROOT, ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])],
    env: {
      ...process.env,
      BERTH_ENDPOINT: `http://127.0.0.1:${(manager.address() as AddressInfo).port}`,
      BERTH_CONFIG_DIR: config,
    },
  })
  try {
    const page = await app.firstWindow()
    await page.getByRole('button', { name: 'Sign in' }).waitFor()
    expect(page.url()).toMatch(/^berth:\/\/console\//)
    expect(await page.evaluate(() => typeof (globalThis as { process?: unknown }).process)).toBe('undefined')
    const info = await page.evaluate(() =>
      (globalThis as never as { host: { host: { info(): Promise<unknown> } } }).host.host.info(),
    )
    expect(info).toMatchObject({ ok: true, value: { kind: 'electron' } })
  } finally {
    await app.close()
    manager.close()
    await rm(config, { recursive: true, force: true })
  }
})
