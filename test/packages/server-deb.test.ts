import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SERVER_PRODUCT } from '../../build/packages/targets/server.ts'
import { openFreshRoot } from './fresh-root.ts'
import { asNextServer, deb, madePackage } from './packager.ts'
import { liveAsServer, SERVER } from './server-life.ts'

const packages = mkdtempSync(join(tmpdir(), 'berth-packages-'))

beforeAll(async () => {
  const made = madePackage(SERVER, 'deb')
  cpSync(made, join(packages, 'server.deb'))
  await deb.remake({ name: SERVER, rpm: SERVER_PRODUCT.rpm }, made, join(packages, 'next.deb'), asNextServer)
}, 600_000)
afterAll(() => rmSync(packages, { recursive: true, force: true }))

test('berth-server: install, sign in, a session with ssh, an upgrade beside it, removal that keeps the data', async () => {
  await using debian = await openFreshRoot(packages)
  const { shell } = debian
  await liveAsServer(debian, deb)
  await shell('mkdir -p /var/lib/berth')
  expect(await shell('apt-get purge -y -q berth-server')).toContain("Berth's data stays in /var/lib/berth")
  expect(await shell('ls /etc /var/lib')).not.toMatch(/^berth-server$/m)
  await expect(shell('test -e /etc/berth')).rejects.toThrow()
  expect(await shell('test -d /var/lib/berth && echo there')).toContain('there')
})
