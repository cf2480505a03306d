import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SERVER_PRODUCT } from '../../build/packages/targets/server.ts'
import { openFreshRoot } from './fresh-root.ts'
import { SANDBOX } from './installed-app.ts'
import { asNextServer, madePackage, rpm } from './packager.ts'
import { liveAsServer, SERVER } from './server-life.ts'

const packages = mkdtempSync(join(tmpdir(), 'berth-packages-'))

beforeAll(async () => {
  const made = madePackage(SERVER, 'rpm')
  cpSync(made, join(packages, 'server.rpm'))
  await rpm.remake({ name: SERVER, rpm: SERVER_PRODUCT.rpm }, made, join(packages, 'next.rpm'), asNextServer)
}, 600_000)
afterAll(() => rmSync(packages, { recursive: true, force: true }))

test('the .rpm of berth-server, by rpm in a Debian: install, a session with ssh, an upgrade beside it, removal', async () => {
  // rpm runs scriptlets in a namespace of their own.
  await using system = await openFreshRoot(packages, SANDBOX)
  const { shell } = system
  // Debian's packages instead of those that the .rpm requires.
  await shell('apt-get install -y -q --no-install-recommends rpm ca-certificates iptables')
  expect(await shell('rpm --checksig --nosignature /packages/server.rpm')).toContain('digests OK')
  await liveAsServer(system, rpm)
})
