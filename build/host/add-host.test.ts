import { execFile } from 'node:child_process'
import { access, chmod, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'

const run = promisify(execFile)
const SCRIPT = await readFile(join(import.meta.dirname, 'add-host.sh'), 'utf8')

let folder: string
beforeEach(async () => (folder = await mkdtemp(join(tmpdir(), 'berth-test-'))))
afterEach(() => rm(folder, { recursive: true, force: true }))

/** Stand-ins of programs: shell functions, which go before programs. The service is in the state `STATE`, and its log is a file. */
const PROGRAMS = `
id() { echo 0; }
curl() { return 1; }
iptables() { :; }
dockerd() { :; }
sleep() { :; }
journalctl() { cat "$FOLDER/journal" 2>/dev/null; }
systemctl() {
  echo "$*" >>"$FOLDER/systemctl"
  case $* in
    'is-active berth-agent') echo "$STATE"; [ "$STATE" = active ] ;;
    is-active*) return 3 ;;
    is-enabled*) [ "$STATE" = active ] ;;
  esac
}
`

/** Runs the script as if by root, with its paths, and that of systemd, below a folder. */
const runHere = (...flags: string[]) => runWith({}, ...flags)

/** @param environment of the caller; `PROGRAMS` in it are more stand-ins, `STATE` is that of the service */
const runWith = (environment: Readonly<Record<string, string>>, ...flags: string[]) => {
  const here = SCRIPT.replaceAll(
    /(?<![\w.$])\/(?=opt\/berth|var\/lib\/berth|etc\/|usr\/lib\/|run\/systemd)/g,
    `${folder}/`,
  ).replace('! -user root', `! -user ${process.getuid?.()}`)
  const values = `url=http://127.0.0.1:1 pin= token=x join=x replaces= version=1 machine=$(uname -m) sha256=x\n`
  const { DOCKER_HOST: _, ...inherited } = process.env
  const env = { ...inherited, BERTH_DATA: '', FOLDER: folder, STATE: 'inactive', ...environment }
  return run('sh', ['-c', `${PROGRAMS}${environment.PROGRAMS ?? ''}${values}${here}`, 'sh', ...flags], { env })
}

/** A computer with systemd, where the program of the line is already, and another one is in use. */
async function placeProgram(): Promise<void> {
  for (const path of ['run/systemd/system', 'etc/systemd/system', 'etc/berth', 'opt/berth/0-before', 'opt/berth/1-x'])
    await mkdir(join(folder, path), { recursive: true, mode: 0o755 })
  for (const name of ['add-host.sh', 'toolbox.tar']) await writeFile(join(folder, 'opt/berth/1-x', name), '')
  await writeFile(
    join(folder, 'opt/berth/1-x/berth-agent.service'),
    `ExecStart=${folder}/opt/berth/current/berth agent\n`,
  )
  await symlink(join(folder, 'opt/berth/0-before'), join(folder, 'opt/berth/current'))
}

async function place(unit: string): Promise<{ readonly unit: string; readonly settings: string }> {
  const paths = {
    unit: join(folder, 'etc/systemd/system/berth-agent.service'),
    settings: join(folder, 'etc/berth/agent.env'),
  }
  await mkdir(join(folder, 'etc/systemd/system'), { recursive: true })
  await mkdir(join(folder, 'etc/berth'), { recursive: true })
  await writeFile(paths.unit, unit)
  await writeFile(paths.settings, 'BERTH_AGENT_NAME=kept\n')
  return paths
}

const isThere = (path: string) =>
  access(path).then(
    () => true,
    () => false,
  )

const isLinux = process.platform === 'linux'

test.runIf(isLinux)('what another agent of this computer has is neither removed nor replaced', async () => {
  const { unit, settings } = await place('ExecStart=/srv/berth/bin/berth agent\n')
  await runHere('--uninstall')
  await expect(runHere('--no-docker-install')).rejects.toThrow('was not made by this script')
  expect(await readFile(unit, 'utf8')).toContain('/srv/berth')
  expect(await isThere(settings)).toBe(true)
})

test.runIf(isLinux)('the service of the script is removed with its settings', async () => {
  const { unit, settings } = await place(`ExecStart=${folder}/opt/berth/current/berth agent\n`)
  await runHere('--uninstall')
  expect([await isThere(unit), await isThere(settings)]).toEqual([false, false])
})

test.each(['dash', 'bash', 'busybox'])('%s reads the script, where it is installed', async shell => {
  const applet = shell === 'busybox' ? ['sh'] : []
  const checked = run(shell, [...applet, '-n', join(import.meta.dirname, 'add-host.sh')])
  await checked.catch((error: unknown) => expect(error).toMatchObject({ code: 'ENOENT' }))
})

const BEFORE = () => `# before\nExecStart=${folder}/opt/berth/current/berth agent\n`
const systemctl = async () => (await readFile(join(folder, 'systemctl'), 'utf8')).trim().split('\n')

test.runIf(isLinux).each([
  ['inactive', 'stop berth-agent', 1],
  ['active', 'restart berth-agent', 0],
])(
  'after a failure a service that was %s is so again, with its unit, settings and program',
  async (STATE, last, disabled) => {
    await placeProgram()
    const { unit, settings } = await place(BEFORE())
    await writeFile(join(folder, 'journal'), 'berth: The join string is not complete.\n')
    await expect(runWith({ STATE, BERTH_DATA: '/srv/berth' })).rejects.toThrow(/not complete[^]*was undone/)
    expect((await systemctl()).at(-1)).toBe(last)
    expect((await systemctl()).filter(call => call.startsWith('disable'))).toHaveLength(disabled)
    expect(await readFile(unit, 'utf8')).toBe(BEFORE())
    expect(await readFile(settings, 'utf8')).toBe('BERTH_AGENT_NAME=kept\n')
    expect(await readlink(join(folder, 'opt/berth/current'))).toContain('0-before')
  },
)

test.runIf(isLinux)('no file of a step that failed stays', async () => {
  await placeProgram()
  await expect(runWith({ PROGRAMS: 'mv() { return 1; }\n' })).rejects.toThrow('was undone')
  expect((await readdir(join(folder, 'opt/berth'))).toSorted()).toEqual(['0-before', '1-x', 'current'])
})

test.runIf(isLinux)(
  'data directory and engine of the caller are those of the service, also for the next line',
  async () => {
    await placeProgram()
    const { settings } = await place(BEFORE())
    await writeFile(join(folder, 'journal'), '{"ready":"agent"}\n')
    const named = 'BERTH_DATA=/srv/berth\nDOCKER_HOST=tcp://10.0.0.1:2375\nBERTH_AGENT_NAME=kept\n'
    await runWith({ BERTH_DATA: '/srv/berth', DOCKER_HOST: 'tcp://10.0.0.1:2375' })
    expect(await readFile(settings, 'utf8')).toBe(named)
    await runHere()
    expect(await readFile(settings, 'utf8')).toBe(named)
    const { stderr } = await runHere('--uninstall')
    expect(stderr).toContain('/srv/berth stay')
    await expect(runWith({ BERTH_DATA: 'here' })).rejects.toThrow('must be an absolute path')
  },
)

test.runIf(isLinux)(
  'a folder for programs into which others may write is refused before anything changes',
  async () => {
    await placeProgram()
    await chmod(join(folder, 'opt/berth/1-x'), 0o777)
    await expect(runHere()).rejects.toThrow('others may write to it')
    expect(await isThere(join(folder, 'systemctl'))).toBe(false)
  },
)

const outcome = () => readFile(join(folder, 'opt/berth/update-outcome'), 'utf8')
const switchTo = (STATE = 'active') => runWith({ STATE }, '--switch=1-x')

test.runIf(isLinux)(
  'an update makes another program the one in use, with its unit, once its agent has joined',
  async () => {
    await placeProgram()
    const { unit } = await place(BEFORE())
    await mkdir(join(folder, 'opt/berth/0-older'))
    await writeFile(join(folder, 'journal'), '{"ready":"agent"}\n')
    await switchTo()
    expect(await outcome()).toBe('done 1-x\n\n')
    expect(await readlink(join(folder, 'opt/berth/current'))).toContain('1-x')
    expect(await readFile(unit, 'utf8')).not.toContain('# before')
    expect((await systemctl()).at(-1)).toBe('restart berth-agent')
    expect(await isThere(join(folder, 'opt/berth/0-older'))).toBe(false)
    expect(await isThere(join(folder, 'opt/berth/0-before'))).toBe(true)
  },
)

test.runIf(isLinux).each([
  ['gives up', 'berth: The key is damaged.\n', 'The agent ended: The key is damaged.'],
  ['does not join in time', '', 'The agent has not joined within 120 seconds'],
])(
  'where the new agent %s, the program of before is in use again, and the reason is kept',
  async (_what, journal, why) => {
    await placeProgram()
    const { unit, settings } = await place(BEFORE())
    await writeFile(join(folder, 'journal'), journal)
    await expect(switchTo()).rejects.toThrow('was undone')
    expect(await outcome()).toMatch(new RegExp(`^failed 1-x\\n${why}`))
    expect(await readlink(join(folder, 'opt/berth/current'))).toContain('0-before')
    expect(await readFile(unit, 'utf8')).toBe(BEFORE())
    expect(await readFile(settings, 'utf8')).toBe('BERTH_AGENT_NAME=kept\n')
    expect((await systemctl()).filter(call => call === 'restart berth-agent')).toHaveLength(2)
    expect(await isThere(join(folder, 'opt/berth/1-x'))).toBe(false)
  },
)

test.runIf(isLinux).each([
  ['berth: No key.\n', 'The agent ended: No key.'],
  ['Failed to start the agent.\n', 'systemd did not start the agent: Failed to start the agent.'],
])('where systemd does not start the new agent, which says %j, so does the outcome', async (journal, why) => {
  await placeProgram()
  await place(BEFORE())
  await writeFile(join(folder, 'journal'), journal)
  const PROGRAMS = `systemctl() {
  echo "$*" >>"$FOLDER/systemctl"
  case $* in is-active*) echo active ;; restart*) return 1 ;; esac
}
`
  await expect(runWith({ PROGRAMS }, '--switch=1-x')).rejects.toThrow('was undone')
  expect(await outcome()).toContain(`failed 1-x\n${why}`)
  expect(await readlink(join(folder, 'opt/berth/current'))).toContain('0-before')
})

test.runIf(isLinux)('no other path than that of a program is switched to', async () => {
  await placeProgram()
  await place(BEFORE())
  for (const name of ['', '../etc', '.new-1', 'a b', 'missing-1'])
    await expect(runHere(`--switch=${name}`)).rejects.toThrow(/not the name of a program|There is no program/)
  expect(await readlink(join(folder, 'opt/berth/current'))).toContain('0-before')
})

/** A host of which the agent has removed what is on the engine, with exit code `code`. */
async function placeHost(code: number): Promise<void> {
  await placeProgram()
  await place(BEFORE())
  await mkdir(join(folder, 'var/lib/berth/agent/scratch'), { recursive: true })
  await mkdir(join(folder, 'opt/berth/0-before'), { recursive: true })
  const berth = join(folder, 'opt/berth/0-before/berth')
  await writeFile(
    berth,
    `#!/bin/sh\necho "$1 $BERTH_AGENT_LEAVE $BERTH_DATA $BERTH_AGENT_CLAIM" $DOCKER_HOST >>${folder}/berth\nexit ${code}\n`,
  )
  await chmod(berth, 0o755)
  await writeFile(join(folder, 'opt/berth/0-before/host.env'), 'BERTH_AGENT_CLAIM=of $(touch here)\n')
}

test.runIf(isLinux)('a host that leaves has nothing of Berth afterwards, but keeps folders of users', async () => {
  await placeHost(0)
  await mkdir(join(folder, 'var/lib/berth/storage'))
  for (const name of ['.new-x', '.update-x']) await mkdir(join(folder, 'opt/berth', name))
  await runWith({ STATE: 'active' }, '--leave', '--images')
  expect(await readFile(join(folder, 'berth'), 'utf8')).toBe(`agent images ${folder}/var/lib/berth of $(touch here)\n`)
  expect((await systemctl())[0]).toBe('disable --quiet --now berth-agent')
  for (const path of ['opt/berth', 'etc/berth', 'etc/systemd/system/berth-agent.service', 'var/lib/berth/agent'])
    expect(await isThere(join(folder, path))).toBe(false)
  expect(await isThere(join(folder, 'var/lib/berth/storage'))).toBe(true)
})

test.runIf(isLinux)('what stays on the engine keeps the program, with which the removal is repeated', async () => {
  await placeHost(1)
  await expect(runWith({ STATE: 'active' }, '--leave')).rejects.toThrow('Run this again')
  expect(await isThere(join(folder, 'opt/berth/0-before/berth'))).toBe(true)
  expect(await isThere(join(folder, 'var/lib/berth/agent'))).toBe(true)
})

/** A table of mounts of this host, in the way of the kernel; none: it cannot be read. */
const MOUNTS = `
cat() {
  case $1 in /proc/self/mounts) command cat "$FOLDER/mounts" ;; *) command cat "$@" ;; esac
}
`

test.runIf(isLinux).each([
  ['with a slash at the end', 'srv/berth', 'srv/berth/', 'srv/berth'],
  ['that is a link', 'disk/of berth', 'srv/berth', 'disk/of\\040berth'],
  ['with a space and a backslash', 'srv/of \\berth', 'srv/of \\berth', 'srv/of\\040\\134berth'],
])('a data directory %s is left alone while something is mounted in it', async (_what, real, named, inTable) => {
  await placeHost(0)
  const work = join(folder, real, 'agent/mounts/kernel/work')
  await mkdir(work, { recursive: true })
  await mkdir(join(folder, 'srv'), { recursive: true })
  if (named !== real && !named.endsWith('/')) await symlink(join(folder, real), join(folder, named))
  await writeFile(join(work, 'thesis'), '')
  await writeFile(
    join(folder, 'mounts'),
    `proc /proc proc rw 0 0\nx ${folder}/${inTable}/agent/mounts/kernel/work ext4 rw 0 0\n`,
  )
  const leaving = { BERTH_DATA: `${folder}/${named}`, PROGRAMS: MOUNTS }
  await expect(runWith(leaving, '--leave')).rejects.toThrow('is mounted')
  expect(await isThere(join(work, 'thesis'))).toBe(true)
  await writeFile(join(folder, 'mounts'), '')
  await expect(runWith(leaving, '--leave')).rejects.toThrow('cannot be read')
  await writeFile(join(folder, 'mounts'), `x ${folder}/${inTable}/agent-of-others ext4 rw 0 0\n`)
  await runWith(leaving, '--leave')
  expect(await isThere(join(folder, real, 'agent'))).toBe(false)
})

test.runIf(isLinux)('a state directory that is a link is left to the administrator', async () => {
  await placeHost(0)
  await mkdir(join(folder, 'srv'))
  await mkdir(join(folder, 'homes'))
  await symlink(join(folder, 'homes'), join(folder, 'srv/agent'))
  await expect(runWith({ BERTH_DATA: join(folder, 'srv') }, '--leave')).rejects.toThrow('is a link')
  expect(await isThere(join(folder, 'homes'))).toBe(true)
})

test.runIf(isLinux)('quotes around values of the settings are not part of them, as for the service', async () => {
  await placeHost(0)
  await writeFile(join(folder, 'opt/berth/0-before/host.env'), `BERTH_AGENT_CLAIM="of 'all'"\n`)
  await writeFile(join(folder, 'etc/berth/agent.env'), `DOCKER_HOST='tcp://10.0.0.1:2375'\n`)
  await runWith({}, '--leave')
  expect(await readFile(join(folder, 'berth'), 'utf8')).toBe(
    `agent engine ${folder}/var/lib/berth of 'all' tcp://10.0.0.1:2375\n`,
  )
})
