import { expect } from 'vitest'
import { MANIFEST } from '../../build/packages/manifest.ts'
import { type FreshRoot } from './fresh-root.ts'
import { NEXT_VERSION, type Packager } from './packager.ts'

export const SERVER = 'berth-server'

/**
 * Life of berth-server with an administrator: install, sign in, a session with ssh, an upgrade beside it, removal. Afterwards the data
 * still exists, and the programs do not.
 *
 * @param system has `server.EXT` and `next.EXT` at /packages
 */
export async function liveAsServer(system: FreshRoot, packager: Packager): Promise<void> {
  const { shell, data } = system
  await packager.install(system, `server.${packager.ending}`)
  expect(await packager.installed(system, SERVER)).toBe(MANIFEST.version)
  expect(await shell('berth --version')).toContain(MANIFEST.version)
  expect(await shell('getent passwd berth')).toContain('/usr/sbin/nologin')
  expect(await shell('stat -c %a /etc/berth')).toContain('700')
  await shell('apt-get install -y -q --no-install-recommends openssh-client')

  let unit = await system.startUnit('berth.service')
  const signIn = () =>
    shell(`berth login --endpoint ${unit.url} --email admin@localhost --password-stdin < ${data}/admin-password`)
  await signIn()
  await shell('berth session create --image berth/python:3.13 --name packed --cpu 0.5 --mem 256m --wait')
  expect(await shell('berth ssh packed "echo made > kept && echo from $(hostname)"')).toContain('from')

  await packager.install(system, `next.${packager.ending}`)
  expect(await packager.installed(system, SERVER)).toBe(NEXT_VERSION)
  expect(await shell('berth --version')).toContain(NEXT_VERSION)
  // The servers of the earlier version answer until systemd restarts them; the session never notices.
  expect(await shell('berth session ls --json')).toContain('"RUNNING"')
  await unit.stop()
  unit = await system.startUnit('berth.service')
  await signIn()
  expect(await shell('berth ssh packed cat kept')).toContain('made')

  await shell('berth session rm packed')
  await unit.stop()
  await packager.remove(system, SERVER)
  expect(await packager.installed(system, SERVER)).toBe('')
  await expect(shell('test -e /usr/lib/berth || test -e /usr/bin/berth')).rejects.toThrow()
  expect(await shell(`ls ${data}`)).toContain('admin-password')
}
