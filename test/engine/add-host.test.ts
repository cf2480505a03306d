import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ApiClient } from '#manager/contract'
import { createCli } from '../fixtures/cli.ts'
import { BUSYBOX_IMAGE, busyboxImage } from '../fixtures/docker.ts'
import { leftoversOf } from '../fixtures/leftovers.ts'
import { startTestManager } from '../fixtures/manager.ts'
import { type FreshRoot, openFreshRoot } from '../packages/fresh-root.ts'

/**
 * The line that makes a computer a host, in a fresh Debian that has neither curl nor sudo nor iptables; they come from the distribution.
 * Docker Engine and network are those of this computer. No systemd runs there: a stand-in of `systemctl` starts the command of the unit (`add-host-systemd.test.ts` has a real one).
 */
let root: FreshRoot
let api: ApiClient
let managerId: string
const opened = new AsyncDisposableStack()
let makeLine: () => Promise<string>

beforeAll(async () => {
  const packages = await mkdtemp(join(tmpdir(), 'berth-test-'))
  opened.defer(() => rm(packages, { recursive: true, force: true }))
  const manager = opened.use(await startTestManager({ timings: { updatesEveryMs: 250 } }))
  ;({ api } = await manager.signIn())
  managerId = manager.manager.managerId
  const cli = opened.use(await createCli())
  await cli.signIn(manager.url)
  makeLine = async () => (await cli.run(['admin', 'agent', 'join-token', '--command'])).out.trim()
  ;[root] = await Promise.all([openFreshRoot(packages), busyboxImage()])
  opened.use(root)
})
afterAll(() => opened.disposeAsync())

const connected = () =>
  expect.poll(async () => (await api.listAgents()).items.map(({ status }) => status)).toEqual(['CONNECTED'])

test('the line installs an agent in the foreground, which joins and runs a session', async () => {
  const line = await makeLine()
  expect(line.split('\n')).toHaveLength(1)
  const running = root.shell(`{ ${line} -s -- --foreground; } 2>&1`)
  const ended = running.then(said => {
    throw new Error(`the line ended:\n${said}`)
  })
  await Promise.race([ended, connected()])
  const { items } = await api.createSession({
    body: { image: BUSYBOX_IMAGE, resources: { cpu: '0.1', mem: '67108864' } },
  })
  const [{ id } = { id: undefined }] = items
  if (id === undefined) throw new Error('no session')
  const status = async () => (await api.getSession({ params: { id } })).status
  await expect.poll(status).toBe('RUNNING')
  await api.deleteSession({ params: { id } })
  await expect.poll(status).toBe('TERMINATED')
  await root.shell(END_AGENT)
  expect(await running).toContain('The agent runs in this terminal')
})

/** As Ctrl-C in the terminal does. */
const END_AGENT = `for process in /proc/[0-9]*; do
  ! tr '\\0' ' ' <$process/cmdline | grep -q '^/opt/berth/.*/bin/berth agent' || kill -INT "\${process#/proc/}"
done`

test('as a service it joins, and a second line changes nothing but the join; a failure puts back what was there', async () => {
  await root.shell(
    `mkdir -p /run/systemd/system\n${programOf('systemctl', SYSTEMCTL)}${programOf('journalctl', JOURNALCTL)}`,
  )
  const run = async (edit = 'cat') =>
    root.shell(`{ ${(await makeLine()).replace(/\| \$S sh$/, `| ${edit} | sh`)}; } 2>&1`)

  expect(await run()).toContain('This computer is a host of Berth now')
  await connected()
  const state = () =>
    root.shell('readlink /opt/berth/current; ls -A /opt/berth /etc/berth; stat -c %a /etc/berth/*; cat /etc/berth/*')
  const before = await state()
  expect(before).not.toContain('BERTH_JOIN')
  expect(before).toContain('600')
  await root.shell('echo BERTH_AGENT_NAME=kept >> /etc/berth/agent.env')
  const again = await run()
  expect(again).toContain('is here already')
  expect(await state()).toBe(`${before}BERTH_AGENT_NAME=kept\n`)

  // The agent refuses the join string: its reason is shown, and the service of before runs again.
  await expect(run(`sed "s/^join=.*/join='berth-join:broken'/"`)).rejects.toThrow(
    /The join string is not complete[^]*was undone/,
  )
  expect(await state()).toBe(`${before}BERTH_AGENT_NAME=kept\n`)
  await connected()

  await root.shell('sh /opt/berth/current/add-host.sh --uninstall')
  expect(
    await root.shell('ls -d /opt/berth /etc/berth /etc/systemd/system/berth-agent.service 2>/dev/null || true'),
  ).toBe('')
  expect(await root.shell(`ls ${root.data}/agent`)).toContain('key.pem')

  await expect(run(`sed "s/^join=.*/join='berth-join:broken'/"`)).rejects.toThrow(/was undone/)
  expect(await root.shell('ls -d /opt/berth /etc/systemd/system/berth-agent.service 2>/dev/null || true')).toBe('')
})

const programOf = (name: string, text: string) =>
  `cat > /usr/local/bin/${name} <<'END'\n${text}END\nchmod 755 /usr/local/bin/${name}\n`

/** Starts and stops the agent as its unit says. */
const SYSTEMCTL = `#!/bin/sh
stop() {
  [ -e /run/agent.pid ] || return 0
  kill "$(cat /run/agent.pid)" 2>/dev/null && tail --pid="$(cat /run/agent.pid)" -f /dev/null
  rm /run/agent.pid
}
unit=/etc/systemd/system/berth-agent.service
case "$*" in
  'is-active berth-agent') [ -e /run/agent.pid ] && echo active || echo inactive ;;
  is-active*) exit 3 ;;
  restart*)
    stop
    rm -f /run/agent.log
    # An update to a program that does not start.
    if [ -e /run/broken ]; then
      case $(readlink /opt/berth/current) in *-old) ;; *) echo 'berth: No key.' >/run/agent.log; exit 0 ;; esac
    fi
    set -a
    INVOCATION_ID=stand-in
    for file in $(sed -n 's/^EnvironmentFile=-//p' $unit); do . "$file"; done
    setsid $(sed -n 's/^ExecStart=//p' $unit) >/run/agent.log 2>&1 </dev/null &
    echo $! >/run/agent.pid ;;
  disable* | stop*) stop ;;
esac
`
/** Starts a command that outlives its caller. */
const SYSTEMD_RUN = `#!/bin/sh
while [ "$1" != -- ]; do
  case $1 in --unit=*) unit=\${1#--unit=} ;; esac
  shift
done
shift
setsid "$@" >/run/$unit.log 2>&1 </dev/null &
`
const JOURNALCTL = '#!/bin/sh\ncat /run/agent.log\n'

test('an agent gets the program of its manager while its session runs, and goes back where the new one does not start', async () => {
  await root.shell(
    `mkdir -p /run/systemd/system
${programOf('systemctl', SYSTEMCTL)}${programOf('journalctl', JOURNALCTL)}${programOf('systemd-run', SYSTEMD_RUN)}`,
  )
  await root.shell(`{ ${await makeLine()}; } 2>&1`)
  await connected()
  const [agent] = (await api.listAgents()).items
  if (!agent) throw new Error('no agent')
  const update = async () => (await api.getAgent({ params: { id: agent.id } })).update
  const inUse = async () => (await root.shell('basename "$(readlink /opt/berth/current)"')).trim()
  const name = await inUse()
  const { items } = await api.createSession({
    body: { image: BUSYBOX_IMAGE, resources: { cpu: '0.1', mem: '67108864' } },
  })
  const [{ id } = { id: undefined }] = items
  if (id === undefined) throw new Error('no session')
  const session = async () => {
    const { status, startedAt } = await api.getSession({ params: { id } })
    return `${status} ${startedAt ?? ''}`
  }
  await expect.poll(session).toMatch(/^RUNNING/)
  const before = await session()
  /** Makes the program in use one of another version. */
  const age = () =>
    root.shell(`cp -a /opt/berth/${name} /opt/berth/0.0.9-old
sed -i 's/"digest":"../"digest":"00/' /opt/berth/0.0.9-old/program.json
ln -sfn /opt/berth/0.0.9-old /opt/berth/current
rm -rf /opt/berth/${name}
systemctl restart berth-agent`)

  await root.shell('touch /run/broken')
  await age()
  await expect.poll(async () => (await update()).why).toBe('The agent ended: No key.')
  expect(await inUse()).toBe('0.0.9-old')
  await connected()
  expect(await session()).toBe(before)

  await root.shell('rm /run/broken')
  await api.updateAgentProgram({ params: { id: agent.id } })
  await expect.poll(async () => (await update()).state).toBe('current')
  expect(await inUse()).toBe(name)
  await connected()
  expect(await session()).toBe(before)

  // The host leaves, and with it the session.
  await api.removeAgent({ params: { id: agent.id }, body: { sessions: 'end' } })
  const left = async () => (await api.getAgent({ params: { id: agent.id } })).removal?.step
  await expect.poll(left).toBe('removed')
  expect(await session()).toMatch(/^TERMINATED/)
  const removed = () => root.shell('cat /run/berth-agent-leave.log')
  await expect.poll(removed).toContain('Berth was removed from this computer')
  const places = `/opt/berth /etc/berth /etc/systemd/system/berth-agent.service ${root.data}/agent`
  expect(await root.shell(`ls -d ${places} 2>/dev/null || true`)).toBe('')
  expect(await leftoversOf(managerId)).toEqual({ containers: [], networks: [], volumes: [] })
})

test.each([
  ['another processor', "s/^machine=.*/machine='pdp11'/", 'has an agent for pdp11 only'],
  ['another archive than announced', `s/^sha256=.*/sha256='${'0'.repeat(64)}'/`, 'could not be fetched'],
])('%s is refused in words, and nothing is left', async (_what, edit, words) => {
  const line = (await makeLine()).replace(/\| \$S sh$/, `| sed "${edit}" | sh -s -- --foreground`)
  await expect(root.shell(`{ ${line}; } 2>&1`)).rejects.toThrow(words)
  expect(await root.shell('ls -d /opt/berth 2>/dev/null || true')).toBe('')
})

test('a line that is no longer valid says so', async () => {
  const line = (await makeLine()).replace(/Bearer ..../, 'Bearer AAAA')
  await expect(root.shell(`{ ${line}; } 2>&1`)).rejects.toThrow('older than fifteen minutes')
})
