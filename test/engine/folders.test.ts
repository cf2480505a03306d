import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Session } from '#manager/contract'
import { type Berth, startBerth } from '../fixtures/berth.ts'

const run = promisify(execFile)
const IMAGE = 'berth/python:3.13'

let berth: Berth
beforeAll(async () => {
  berth = await startBerth()
})
afterAll(() => berth[Symbol.asyncDispose]())

async function launch(name: string, ...folders: string[]): Promise<Session> {
  const mounts = folders.flatMap(folder => ['--folder', folder])
  const { stdout, stderr } = await berth.cli(
    ...[
      'session',
      'create',
      '--image',
      IMAGE,
      '--name',
      name,
      '--cpu',
      '0.2',
      '--mem',
      '64m',
      ...mounts,
      '--wait',
      '--json',
    ],
  )
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout) as Session
}

/** Runs a shell line in the session, as its user. */
async function inSession({ kernels }: Session, line: string): Promise<string> {
  const { stdout } = await run('docker', ['exec', kernels[0]?.containerId ?? '', 'sh', '-c', line])
  return stdout.trim()
}

test('files in a folder outlive the session, others see them at once, and a read-only mount accepts none', async () => {
  expect(await berth.cli('folder', 'create', 'data')).toMatchObject({ code: 0 })
  const first = await launch('first', 'data', 'data:deep/place:ro')
  expect(first.folders).toMatchObject([
    { name: 'data', path: '/home/work/data', readOnly: false },
    { name: 'data', path: '/home/work/deep/place', readOnly: true },
  ])
  await inSession(first, 'echo kept > ~/data/notes && mkdir ~/data/sub')
  expect(await inSession(first, 'cat ~/deep/place/notes')).toBe('kept')
  expect(await inSession(first, 'touch ~/deep/place/x 2>&1 || true')).toContain('Read-only file system')
  // The directories above a mount belong to the user, like everything in the home.
  expect(await inSession(first, 'touch ~/deep/beside && echo made')).toBe('made')

  const second = await launch('second', 'data')
  await inSession(second, 'echo more >> ~/data/notes')
  expect(await inSession(first, 'cat ~/data/notes')).toBe('kept\nmore')

  const inUse = await berth.cli('folder', 'rm', 'data')
  expect(inUse.stderr).toContain('first, second')
  for (const name of ['first', 'second']) await berth.cli('session', 'rm', name, '--wait')

  const third = await launch('third', 'data:/home/work/again')
  expect(await inSession(third, 'cat ~/again/notes; stat -c %U ~/again ~/again/notes ~/again/sub')).toBe(
    'kept\nmore\nwork\nwork\nwork',
  )
  await berth.cli('session', 'rm', 'third', '--wait')
})

test('a session can neither move its folder away nor reach a neighbouring one', async () => {
  await berth.cli('folder', 'create', 'guarded')
  const session = await launch('guarded', 'guarded')
  const { folderId } = session.folders[0] ?? { folderId: '' }
  const directory = join(berth.data, 'storage', 'folders', folderId)
  expect(await inSession(session, 'mv ~/guarded ~/elsewhere 2>&1 || true')).toContain('busy')
  expect(await inSession(session, 'ls -a ~/guarded/..')).not.toContain(folderId)
  await inSession(session, 'ln -s /etc/shadow ~/guarded/link && ln -s .. ~/guarded/up')
  expect((await stat(directory)).mode & 0o777).toBe(0o700)
  await berth.cli('session', 'rm', 'guarded', '--wait')

  // The links are deleted with the folder, but not their targets.
  expect((await berth.cli('folder', 'rm', 'guarded', '--permanently')).stderr).toContain('in the trash')
  expect(await berth.cli('folder', 'rm', 'guarded')).toMatchObject({ code: 0 })
  expect(await berth.cli('folder', 'rm', 'guarded', '--permanently')).toMatchObject({ code: 0 })
  await expect.poll(() => stat(directory).catch(() => undefined)).toBeUndefined()
  expect((await readFile('/etc/shadow', 'utf8')).length).toBeGreaterThan(0)
  expect((await berth.cli('folder', 'ls')).stdout).toContain('data')
})

test('a restarted session has its folders again', async () => {
  const before = await launch('again', 'data:in')
  await berth.cli('session', 'rm', 'again', '--wait')
  const api = await berth.api()
  const next = await api.restartSession({ params: { id: before.id } })
  expect(next.folders).toEqual(before.folders)
  await expect.poll(async () => (await api.getSession({ params: { id: next.id } })).status).toBe('RUNNING')
  const running = await api.getSession({ params: { id: next.id } })
  expect(await inSession(running, 'cat ~/in/notes')).toBe('kept\nmore')
  await berth.cli('session', 'rm', next.name, '--wait')
})

test('a folder is added to a running session by the command line, seen on the storage, and taken out with its files kept', async () => {
  await berth.cli('folder', 'create', 'later')
  const session = await launch('running')
  const api = await berth.api()
  const now = () => api.getSession({ params: { id: session.id } })
  expect((await now()).foldersFixed).toBeNull()
  const mounted = await berth.cli('session', 'mount', 'running', 'later:in/later')
  expect(mounted).toMatchObject({ code: 0, stdout: 'later  /home/work/in/later\n' })
  await inSession(session, 'echo written > ~/in/later/note')
  const folderId = (await now()).folders[0]?.folderId ?? ''
  const note = join(berth.data, 'storage', 'folders', folderId, 'note')
  expect(await readFile(note, 'utf8')).toBe('written\n')
  expect((await berth.cli('folder', 'rm', 'later')).stderr).toContain('running')
  expect(await berth.cli('session', 'unmount', 'running', 'later')).toMatchObject({ code: 0 })
  expect(await inSession(session, 'ls ~/in')).toBe('')

  // Ended with the folder mounted, and started again with it.
  await berth.cli('session', 'mount', 'running', 'later:in/later:ro')
  await berth.cli('session', 'rm', 'running', '--wait')
  expect(await readFile(note, 'utf8')).toBe('written\n')
  await berth.cli('session', 'restart', 'running', '--wait')
  const [again] = (await api.listSessions({ query: { name: 'running', status: 'RUNNING' } })).items
  expect(again?.folders).toMatchObject([{ path: '/home/work/in/later', readOnly: true }])
  if (again)
    expect(await inSession(again, 'cat ~/in/later/note; test -L ~/in/later || echo no link')).toBe('written\nno link')
  await berth.cli('session', 'rm', 'running', '--wait')
})

test('folders .ssh and .local are in each session, and the session keeps its own SSH key', async () => {
  for (const name of ['.ssh', '.local']) await berth.cli('folder', 'create', name)
  const session = await launch('dotted')
  const tool = String.raw`printf '#!/bin/sh\necho from the folder\n' > ~/.local/bin/tool && chmod +x ~/.local/bin/tool`
  await inSession(session, `echo none > ~/.ssh/authorized_keys && mkdir -p ~/.local/bin && ${tool}`)
  const { stdout } = await berth.cli('ssh', 'dotted', '--', 'ls', '/home/work/.local/bin', '/home/work/id_container')
  expect(stdout).toBe('/home/work/id_container\n\n/home/work/.local/bin:\ntool\n')
  // Programs of `pip install --user` are there; a login shell, which sets the PATH anew, finds them and the toolbox too.
  for (const [words, answer] of [
    [['tool'], /^from the folder\n$/],
    [['bash', '-ic', 'tool'], /^from the folder\n$/],
    [['bash', '-lc', '"tool; type tmux"'], /^from the folder\ntmux is \S+\n$/],
  ] as const)
    expect((await berth.cli('ssh', 'dotted', '--', ...words)).stdout, words.join(' ')).toMatch(answer)
  await berth.cli('session', 'rm', 'dotted', '--wait')
  const next = await launch('dotted-too')
  expect(await inSession(next, 'cat ~/.ssh/authorized_keys; ls ~/.local/bin')).toBe('none\ntool')
  await berth.cli('session', 'rm', 'dotted-too', '--wait')
})

test('a session starts with the dotfiles and the start-up script of its owner, and apps wait for the script', async () => {
  const api = await berth.api()
  // This may fail: a second run of this test finds the folder.
  await berth.cli('folder', 'create', '.config')
  await api.putDotfile({ body: { path: '.bashrc', content: 'export FROM_DOTFILE=yes\n' } })
  await api.putDotfile({ body: { path: '.secrets/token', content: 'hidden', mode: '600' } })
  await api.putDotfile({ body: { path: '.config/git/config', content: '[user]\n' } })
  const script =
    'echo "script of $(id -un) in $PWD"; source ~/.bashrc; sleep 3; echo "$FROM_DOTFILE" > ~/made; exit 3\n'
  await api.setBootstrapScript({ body: { script } })
  try {
    const resources = { cpu: '0.5', mem: '512m' }
    const { items } = await api.createSession({ body: { name: 'prepared', image: IMAGE, resources } })
    const id = items[0]?.id
    if (id === undefined) throw new Error('no session')
    await expect.poll(async () => (await api.getSession({ params: { id } })).status).toBe('RUNNING')
    const session = await api.getSession({ params: { id } })
    expect(await inSession(session, 'cat ~/.bashrc; stat -c "%a %U" ~/.secrets ~/.secrets/token')).toBe(
      'export FROM_DOTFILE=yes\n755 work\n600 work',
    )
    const granted = api.createGrant({ params: { id, app: 'jupyterlab' } }).catch((error: unknown) => error)
    const state = () => inSession(session, 'ls ~/made 2>/dev/null; pgrep -f "[j]upyter-lab" >/dev/null && echo lab')
    const states = [await state().catch(() => '')]
    while (!states.at(-1)?.includes('lab')) states.push(await state().catch(() => ''))
    // The app was never available before the script had created its file.
    expect([...new Set(states)].at(0)).toBe('')
    expect(states).not.toContain('lab')
    expect(await granted).toMatchObject({ app: { name: 'jupyterlab' } })
    const logs = (await berth.cli('session', 'logs', 'prepared')).stdout
    expect(logs).toContain('script of work in /home/work')
    expect(logs).toContain('Your start-up script ended with exit code 3; the session continues.')
    expect(logs).toContain('Your dotfile .config/git/config is not in this session: a folder is mounted at ~/.config.')
    expect(await inSession(session, 'cat ~/made')).toBe('yes')
    const { stdout } = await run('docker', ['inspect', session.kernels[0]?.containerId ?? ''])
    expect(stdout).not.toContain('FROM_DOTFILE')
    await berth.cli('session', 'rm', 'prepared', '--wait')
  } finally {
    await api.setBootstrapScript({ body: { script: '' } })
    for (const { path } of (await api.listDotfiles()).items) await api.deleteDotfile({ query: { path } })
  }
})
