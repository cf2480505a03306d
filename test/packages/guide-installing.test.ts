import { exec } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { MANIFEST } from '../../build/packages/manifest.ts'
import { SERVER_PRODUCT } from '../../build/packages/targets/server.ts'
import { freePort } from '../fixtures/free-port.ts'
import { blocksOf, commandsIn } from '../fixtures/page-blocks.ts'
import { type FreshRoot, openSystemdRoot } from './fresh-root.ts'
import { asNextServer, deb, madePackage, NEXT_VERSION } from './packager.ts'
import { SERVER } from './server-life.ts'

/**
 * The lines of docs/admin/installing.md and docs/admin/agents.md for packages, typed as they stand there in a Debian 12 with a real systemd.
 * Docker Engine and network are those of this computer: packages that Debian only recommends, its Docker Engine among them, are not installed.
 */
const page = (name: string) => readFileSync(new URL(`../../docs/admin/${name}`, import.meta.url), 'utf8')
const INSTALLING = page('installing.md')
const packages = mkdtempSync(join(tmpdir(), 'berth-packages-'))
const opened = new AsyncDisposableStack()
let computer: FreshRoot
let host: FreshRoot

beforeAll(async () => {
  const made = madePackage(SERVER, 'deb')
  cpSync(made, join(packages, basename(made)))
  await deb.remake({ name: SERVER, rpm: SERVER_PRODUCT.rpm }, made, join(packages, 'next.deb'), asNextServer)
  computer = opened.use(await openSystemdRoot(packages))
  host = opened.use(await openSystemdRoot(packages))
  for (const { shell } of [computer, host])
    await shell(`cat > /etc/apt/apt.conf.d/90berth-test <<'END'
APT::Install-Recommends "0";
APT::Get::Assume-Yes "1";
END`)
}, 600_000)
afterAll(async () => {
  await opened.disposeAsync()
  rmSync(packages, { recursive: true, force: true })
})

/** The commands to install and to remove a file, in its row of the table. */
function rowOf(file: string): { install: string; remove: string } {
  const row = INSTALLING.split('\n').find(line => line.startsWith(`| \`${file}\``)) ?? ''
  const [, , install = '', remove = ''] = row.split(' | ').map(cell => cell.replaceAll(/^`|`( \|)?$/g, ''))
  return { install, remove }
}
const DEB = rowOf('berth-server_VERSION_amd64.deb')

const sectionOf = (text: string, title: string) => (text.split(`\n## ${title}\n`)[1] ?? '').split('\n## ')[0] ?? ''
const commandsOf = (text: string, title: string) => blocksOf(sectionOf(text, title), 'sh').flatMap(commandsIn)

/** Types a command in the folder of the packages. The guide leaves the version out. */
const typed = ({ shell }: FreshRoot, command: string) => shell(`cd /packages; ${command.replace('….', '*.')}`)

/** Variables of a service that are needed only because many tests share an engine. */
async function configure({ shell, data, name }: FreshRoot, file: string): Promise<void> {
  await shell(`printf '%s\n' BERTH_DATA=${data} BERTH_AGENT_CLAIM=${name} BERTH_PORT=0 >> /etc/berth/${file}`)
}

const WAIT = { timeout: 120_000 }
const unitOf =
  ({ shell }: FreshRoot) =>
  async (unit: string, property: string) =>
    (await shell(`systemctl show --value --property ${property} ${unit}`)).trim()
/** Link of a log or an answer that signs in. */
const signInLink = (text: string) => /Sign in once with this link: (\S+)/.exec(text)?.[1] ?? ''

test('the .deb, its service and its sign-in link; a host joins by hand; an upgrade beside a session; removal that keeps the data', async () => {
  const { shell, data } = computer
  const unit = unitOf(computer)
  await typed(computer, DEB.install)
  expect(await deb.installed(computer, SERVER)).toBe(MANIFEST.version)
  expect(await shell('systemctl is-enabled berth berth-manager berth-agent || true')).toBe('disabled\n'.repeat(3))
  expect(await shell('stat -c %a /etc/berth')).toBe('700\n')

  // "systemctl enable --now berth", and at once "berth up --no-open", which prints the link of the running Berth.
  await configure(computer, 'berth.env')
  const [enable = '', ask = ''] = commandsOf(INSTALLING, 'As a service')
  await typed(computer, enable)
  // No person types so fast that the second command could get the lock of the data directory first.
  await expect.poll(() => shell(`ls ${data}`), WAIT).toContain('up.sock')
  const link = signInLink(await typed(computer, ask))
  expect(await unit('berth', 'UnitFileState')).toBe('enabled')
  expect(await unit('berth', 'ActiveState')).toBe('active')
  /** Each start has another port, because tests run beside each other. */
  const signIn = (from: string) =>
    shell(
      `berth login --endpoint ${new URL(from).origin} --email admin@localhost --password-stdin < ${data}/admin-password`,
    )
  await signIn(link)
  await shell('berth session create --image berth/python:3.13 --name packed --cpu 0.5 --mem 256m --wait')

  // "A host by hand", with the package.
  await typed(host, DEB.install)
  const invitation = await shell('berth admin agent join-token')
  const [addToken = '', start = ''] = commandsOf(page('agents.md'), 'A host by hand')
  await host.shell(addToken.replace('STRING', invitation.trim()))
  await configure(host, 'agent.env')
  await host.shell('echo BERTH_AGENT_NAME=joined >> /etc/berth/agent.env')
  await host.shell(start)
  const agents = () => shell('berth admin agent ls')
  await expect.poll(agents, WAIT).toMatch(/joined .*CONNECTED .*full/)

  // "Upgrading": install the new package over the old one; it restarts the units that run.
  const before = await unit('berth', 'MainPID')
  await typed(computer, 'apt install ./next.deb')
  expect(await deb.installed(computer, SERVER)).toBe(NEXT_VERSION)
  expect(await unit('berth', 'MainPID')).not.toBe(before)
  await signIn(signInLink(await typed(computer, ask)))
  expect(await shell('berth session ls --json')).toContain('"RUNNING"')
  await shell('berth session rm packed')

  // "Removing": units stop and are off; the data stays, also when the package is purged.
  for (const [one, name] of [
    [host, 'berth-agent'],
    [computer, 'berth'],
  ] as const) {
    await one.shell(DEB.remove)
    expect(await deb.installed(one, SERVER)).toBe('')
    expect(await unitOf(one)(name, 'ActiveState')).toBe('inactive')
    expect(await one.shell(`ls /usr/bin/berth /etc/systemd/system/multi-user.target.wants 2>&1 || true`)).not.toMatch(
      new RegExp(`${name}.service|^/usr/bin/berth$`, 'm'),
    )
  }
  expect(await shell(`ls ${data}`)).toContain('admin-password')
  await shell('mkdir -p /var/lib/berth')
  const [, purge = ''] = /`(apt purge)`/.exec(sectionOf(INSTALLING, 'Removing')) ?? []
  expect(await shell(`${purge} ${SERVER}`)).toContain("Berth's data stays in /var/lib/berth")
  expect(await shell('ls -d /etc/berth /var/lib/berth 2>/dev/null || true')).toBe('/var/lib/berth\n')
})

test('the container: load, run, and the sign-in link in its log', async () => {
  const { install, remove } = rowOf('berth-server-VERSION-x64.docker.tar')
  const [start = '', log = ''] = commandsOf(INSTALLING, 'As a container')
  const name = `berth-test-guide-${randomUUID().slice(0, 8)}`
  const port = String(await freePort())
  /** A command of the guide with a name, a volume and a port of this test, and what the guide says of another port. */
  const here = (command: string) =>
    command
      .replace('--name berth ', `--name ${name} `)
      .replace('-v berth:', `-v ${name}:`)
      .replace(/(docker (?:logs|rm)) ?(?:berth)?$/, `$1 ${name}`)
      .replace('127.0.0.1:8400:', `127.0.0.1:${port}:`)
      .replace(' -v ', ` -e BERTH_ALLOWED_HOSTS=localhost:${port} -v `)
      .replace('VERSION', MANIFEST.version)
      .replace('….', '*.')
  const type = async (command: string) => {
    const { stdout, stderr } = await promisify(exec)(here(command), {
      cwd: dirname(madePackage(SERVER, 'docker.tar')),
    })
    return stdout + stderr
  }
  try {
    expect(await type(install)).toContain(`berth/server:${MANIFEST.version}`)
    await type(start)
    await expect.poll(async () => signInLink(await type(log)), WAIT).toContain('/#/sign-in?ticket=')
    expect((await fetch(`http://localhost:${port}/healthz`)).status).toBe(200)
  } finally {
    await type(`docker stop ${name}`)
    const [first = '', second = ''] = remove.split('`, `')
    await type(first)
    await type(`docker volume rm ${name}`)
    await type(`${second} berth/server:VERSION`)
  }
})
