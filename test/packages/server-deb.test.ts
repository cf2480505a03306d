import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { debArchitecture } from '../../build/packages/deb.ts'
import { MANIFEST } from '../../build/packages/manifest.ts'
import { root } from '../fixtures/berth.ts'
import { openFreshRoot } from './fresh-root.ts'

const name = `berth-server_${MANIFEST.version}_${debArchitecture}.deb`
const packages = mkdtempSync(join(tmpdir(), 'berth-packages-'))
const install = (file: string) =>
  `DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends /packages/${file}`

beforeAll(() => {
  // Made by `npm run package server-deb`; `npm run test:packages` does so first.
  cpSync(join(root, 'dist', 'packages', name), join(packages, name))
  makeNextVersion(join(packages, name), join(packages, 'next.deb'))
})
afterAll(() => rmSync(packages, { recursive: true, force: true }))

test('berth-server: install, sign in, a session with ssh, an upgrade beside it, removal that keeps the data', async () => {
  await using debian = await openFreshRoot(packages)
  const { shell, data } = debian
  await shell(install(name))
  expect(await shell('berth --version')).toContain(MANIFEST.version)
  expect(await shell('getent passwd berth')).toContain('/usr/sbin/nologin')
  expect(await shell('stat -c %a /etc/berth')).toContain('700')
  await shell('apt-get install -y -q --no-install-recommends openssh-client')

  let unit = await debian.startUnit('berth.service')
  const signIn = () =>
    shell(`berth login --endpoint ${unit.url} --email admin@localhost --password-stdin < ${data}/admin-password`)
  await signIn()
  await shell('berth session create --image berth/python:3.13 --name packed --cpu 0.5 --mem 256m --wait')
  expect(await shell('berth ssh packed "echo made > kept && echo from $(hostname)"')).toContain('from')

  await shell(install('next.deb'))
  expect(await shell('berth --version')).toContain('99.0.0')
  // The servers of the earlier version answer until systemd restarts them; the session never notices.
  expect(await shell('berth session ls --json')).toContain('"RUNNING"')
  await unit.stop()
  unit = await debian.startUnit('berth.service')
  await signIn()
  expect(await shell('berth ssh packed cat kept')).toContain('made')

  await shell('berth session rm packed')
  await unit.stop()
  await shell('apt-get remove -y -q berth-server')
  await expect(shell('test -e /usr/lib/berth || test -e /usr/bin/berth')).rejects.toThrow()
  expect(await shell(`ls ${data}`)).toContain('admin-password')
  await shell('mkdir -p /var/lib/berth')
  expect(await shell('apt-get purge -y -q berth-server')).toContain("Berth's data stays in /var/lib/berth")
  expect(await shell('ls /etc /var/lib')).not.toMatch(/^berth-server$/m)
  await expect(shell('test -e /etc/berth')).rejects.toThrow()
  expect(await shell('test -d /var/lib/berth && echo there')).toContain('there')
})

/** The same package as version 99.0.0. */
function makeNextVersion(from: string, to: string): void {
  const folder = join(packages, 'next')
  execFileSync('dpkg-deb', ['-R', from, folder])
  for (const file of ['DEBIAN/control', 'usr/lib/berth/package.json']) {
    const path = join(folder, file)
    writeFileSync(path, readFileSync(path, 'utf8').replace(/(?<=^Version: |"version": ")[\d.]+/m, '99.0.0'))
  }
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zgzip', '-z1', '-b', folder, to])
  rmSync(folder, { recursive: true })
}
