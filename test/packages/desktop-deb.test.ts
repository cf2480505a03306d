import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkApp } from '../../build/packages/desktop/check-app.ts'
import { FUSES } from '../../build/packages/desktop/fuses.ts'
import { APP_FOLDER } from '../../build/packages/desktop/system-files.ts'
import { DESKTOP_PRODUCT } from '../../build/packages/targets/desktop.ts'
import { openLaunchDialog, rowOf } from '../e2e/console-steps.ts'
import { openFreshRoot } from './fresh-root.ts'
import { expectFirstWindow, prepareDesktop, SANDBOX, startInstalledApp, USER } from './installed-app.ts'
import { deb, madePackage, NEXT_VERSION } from './packager.ts'

const packages = mkdtempSync(join(tmpdir(), 'berth-packages-'))

beforeAll(async () => {
  // The package's Electron is the official one or that of the tests.
  const made = madePackage('berth-desktop', 'deb')
  cpSync(made, join(packages, 'desktop.deb'))
  // The same app: only the package manager sees another version.
  const product = { name: 'berth-desktop', rpm: DESKTOP_PRODUCT.rpm }
  await deb.remake(product, made, join(packages, 'next.deb'), () => Promise.resolve())
}, 600_000)
afterAll(() => rmSync(packages, { recursive: true, force: true }))

test('the package has an app with closed fuses, an archive whose hashes are right, and less than its budget of bytes', async () => {
  const folder = join(packages, 'unpacked')
  execFileSync('dpkg-deb', ['-x', join(packages, 'desktop.deb'), folder])
  const { fuses, size, asarHash } = await checkApp(join(folder, APP_FOLDER))
  expect(FUSES).toMatchObject(fuses)
  expect(fuses).toMatchObject({ runAsNode: false, enableNodeCliInspectArguments: false, onlyLoadAppFromAsar: true })
  expect(asarHash).toMatch(/^[0-9a-f]{64}$/)
  expect(size).toBeGreaterThan(100e6)
  rmSync(folder, { recursive: true })
})

test('the desktop app: install, a window in the sandbox, Berth on this computer with a session, an upgrade beside it, removal that keeps the data', async () => {
  await using debian = await openFreshRoot(packages, SANDBOX)
  const { shell, data } = debian
  // Same as on Ubuntu, which needs the profile.
  await shell('apt-get install -y -q --no-install-recommends apparmor')
  await shell('DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends /packages/desktop.deb')
  const profile = '/etc/apparmor.d/berth-desktop'
  expect(await shell(`apparmor_parser --skip-kernel-load --skip-cache --debug ${profile} 2>&1`)).toContain('userns')
  await prepareDesktop(debian)
  await shell('desktop-file-validate /usr/share/applications/berth-desktop.desktop')
  const asUser = (command: string) => shell(`setpriv --reuid ${USER} --regid ${USER} --init-groups sh -c '${command}'`)
  expect(await asUser('xdg-mime query default x-scheme-handler/berth')).toContain('berth-desktop.desktop')
  expect(await shell(`stat -c %a ${APP_FOLDER}/chrome-sandbox`)).toBe('4755\n')
  // With the fuse, the variable has no effect, and the program tries to open a screen.
  const asNode = await asUser('ELECTRON_RUN_AS_NODE=1 timeout 60 berth-desktop -p 40+2 2>&1 || true')
  expect(asNode).not.toMatch(/^42$/m)

  await using app = await startInstalledApp(debian)
  const { page } = app
  await expectFirstWindow(app, debian)

  await page.getByRole('button', { name: 'Start Berth here' }).click()
  await page.getByRole('heading', { name: 'Summary', level: 1 }).waitFor({ timeout: 180_000 })
  const services = 'pgrep -fc "programs/[0-9a-f]+/bin/[b]erth up" || true'
  expect(await shell(services)).toBe('1\n')
  await page.locator('a[href="#/sessions"]').first().click()
  await openLaunchDialog(page)
  await page.getByText('Python 3.13 with JupyterLab').first().click()
  await page.getByLabel('Name optional').fill('packed')
  await page.getByRole('button', { name: /^Launch$/ }).click()
  await rowOf(page, 'packed').getByText('Running').waitFor({ timeout: 120_000 })

  // An upgrade while the app and its session run: both continue.
  await deb.install(debian, 'next.deb')
  expect(await deb.installed(debian, 'berth-desktop')).toBe(NEXT_VERSION)
  await page.reload()
  await rowOf(page, 'packed').getByText('Running').waitFor()
  expect(await shell(services)).toBe('1\n')

  // The native library of the credential store is loaded from a folder beside the archive; without a store the sign-in stays in memory.
  const log = await shell(`cat /home/${USER}/.config/berth/logs/desktop.log`)
  expect(log).not.toMatch(/ENOTDIR|Cannot find (module|package)/)

  await app.kill()
  await expect.poll(() => shell(services), { timeout: 60_000 }).toBe('0\n')
  await shell('apt-get remove -y -q berth-desktop')
  await expect(shell(`test -e ${APP_FOLDER} || test -e /usr/bin/berth-desktop || test -e ${profile}`)).rejects.toThrow()
  expect(await shell(`ls ${data}`)).toContain('master.key')
  expect(await shell(`ls /home/${USER}/.config/berth`)).toContain('desktop.json')
})

test('on Debian 12, without anything that is only recommended, there is a window', async () => {
  await using debian = await openFreshRoot(packages, SANDBOX, 'bookworm')
  await deb.install(debian, 'desktop.deb')
  // Checked first, because the screen's program installs some libraries.
  expect(await debian.shell('ldconfig -p')).toContain('libX11-xcb.so.1 ')
  await prepareDesktop(debian)
  await using app = await startInstalledApp(debian)
  await expectFirstWindow(app, debian)
})
