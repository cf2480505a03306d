import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { APP_FOLDER } from '../../build/packages/desktop/system-files.ts'
import { MANIFEST } from '../../build/packages/manifest.ts'
import { DESKTOP_PRODUCT } from '../../build/packages/targets/desktop.ts'
import { openFreshRoot } from './fresh-root.ts'
import { expectFirstWindow, LIBRARIES, prepareDesktop, SANDBOX, startInstalledApp } from './installed-app.ts'
import { madePackage, NEXT_VERSION, rpm } from './packager.ts'

const NAME = 'berth-desktop'
const packages = mkdtempSync(join(tmpdir(), 'berth-packages-'))

beforeAll(async () => {
  const made = madePackage(NAME, 'rpm')
  cpSync(made, join(packages, 'desktop.rpm'))
  await rpm.remake({ name: NAME, rpm: DESKTOP_PRODUCT.rpm }, made, join(packages, 'next.rpm'), () => Promise.resolve())
}, 600_000)
afterAll(() => rmSync(packages, { recursive: true, force: true }))

test('the .rpm of the desktop app, by rpm in a Debian: install, a window in the sandbox, an upgrade beside it, removal', async () => {
  await using system = await openFreshRoot(packages, SANDBOX)
  const { shell } = system
  // Debian's packages instead of those that the .rpm requires.
  await shell(`apt-get install -y -q --no-install-recommends rpm ${LIBRARIES}`)
  await prepareDesktop(system)
  expect(await shell('rpm --checksig --nosignature /packages/desktop.rpm')).toContain('digests OK')
  await rpm.install(system, 'desktop.rpm')
  expect(await rpm.installed(system, NAME)).toBe(MANIFEST.version)
  // Compares sizes, modes, owners and hashes of the installed files with the package's data.
  expect(await shell(`rpm --verify --nodeps ${NAME}`)).toBe('')
  expect(await shell(`stat -c %a ${APP_FOLDER}/chrome-sandbox`)).toBe('4755\n')
  await shell('desktop-file-validate /usr/share/applications/berth-desktop.desktop')

  await using app = await startInstalledApp(system)
  await expectFirstWindow(app, system)
  await rpm.install(system, 'next.rpm')
  expect(await rpm.installed(system, NAME)).toBe(NEXT_VERSION)
  await app.page.reload()
  await app.page.getByRole('heading', { name: 'Welcome to Berth' }).waitFor()
  await app.kill()
  await rpm.remove(system, NAME)
  await expect(shell(`test -e ${APP_FOLDER} || test -e /usr/bin/berth-desktop`)).rejects.toThrow()
})
