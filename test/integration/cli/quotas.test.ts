import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  type Agent,
  type Group,
  type Preset,
  type Recalculation,
  type ResourceGroup,
  type ResourcePolicy,
  type ScopeUsage,
  type Session,
} from '#manager/contract'
import { type Cli, createCli } from '../../fixtures/cli.ts'
import { ADMIN } from '../../fixtures/manager.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

const GiB = 2 ** 30
let cluster: SessionsCluster
let cli: Cli
beforeAll(async () => {
  cluster = await startSessionsCluster()
  cli = await createCli()
  await cli.signIn(cluster.url)
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
  await cli[Symbol.asyncDispose]()
})

const berth: Cli['run'] = (args, input) => cli.run(args, input)
const json = async <T>(...args: string[]): Promise<T> => JSON.parse((await berth([...args, '--json'])).out) as T

test('commands for policies, usage, presets, access and recalculation', async () => {
  await cluster.join({ capacity: { cpu: 4000, mem: 8 * GiB } })
  const made = await json<ResourcePolicy>(
    ...['admin', 'policy', 'create', 'student', '--cpu', '2', '--mem', '4g', '--gpu-shares', '1.5', '--sessions', '3'],
  )
  expect(made).toMatchObject({ limits: { cpu: '2', 'cuda.shares': '1.5' }, maxConcurrentSessions: 3, maxFolders: null })
  const changed = await json<ResourcePolicy>(
    ...['admin', 'policy', 'update', 'student', '--gpu-shares', 'unlimited', '--idle-timeout', '600'],
  )
  expect(changed).toMatchObject({ limits: { cpu: '2', mem: String(4 * GiB) }, idleTimeoutSeconds: 600 })
  const { items } = await cluster.api.getUsage({})
  const me = items.find(item => item.kind === 'user')?.id ?? ''
  expect(await berth(['admin', 'policy', 'assign', 'student', '--user', me])).toMatchObject({ code: 0 })
  expect(await berth(['admin', 'policy', 'rm', 'student'])).toMatchObject({ code: 1 })
  expect((await berth(['admin', 'policy', 'ls'])).out).toMatch(/student +2 CPU, 4 GiB RAM +3 /)

  const { id } = await cluster.launch({ resources: { cpu: '1.5', mem: '1g' }, group: 'default' })
  await cluster.reach(id, 'RUNNING')
  const usage = await json<ScopeUsage[]>('usage')
  expect(usage[0]).toMatchObject({ kind: 'user', policy: 'student', held: { cpu: '1.5' }, left: { cpu: '0.5' } })
  expect((await berth(['usage'])).out).toMatch(/user +admin@localhost +student +1 \/ 3 +1.5 \/ 2 +1 GiB \/ 4 GiB/)
  const used = await berth(['admin', 'usage', 'limits', '--policy', 'student'])
  expect(used.out).toMatch(/user +admin@localhost +1 \/ 3 +1.5 \/ 2 +1 GiB \/ 4 GiB/)
  const ofProject = await json('admin', 'usage', 'limits', '--project', 'default')
  expect(ofProject).toMatchObject({ shared: { held: { cpu: '1.5' }, sessions: 1 }, items: [{ name: ADMIN.email }] })
  // The figures are those of the page with the users: no request of their own.
  expect(ofProject).not.toHaveProperty('nextCursor')
  expect(await berth(['admin', 'usage', 'limits'])).toMatchObject({ code: 2 })
  const over = ['session', 'create', '--image', 'berth/python:3.13', '--cpu', '3', '--json']
  expect(await berth(over)).toMatchObject({ code: 1, err: expect.stringContaining('over_user_policy') as string })

  for (const { name } of await json<Preset[]>('preset', 'ls')) await berth(['admin', 'preset', 'rm', name])
  await berth(['admin', 'preset', 'create', 'small', '--cpu', '0.5', '--mem', '1g', '--shm', '256m'])
  await berth(['admin', 'preset', 'create', 'large', '--cpu', '2', '--mem', '2g'])
  expect((await json<Preset[]>('preset', 'ls', '--fitting')).map(({ name }) => name)).toEqual(['small'])
  expect((await berth(['preset', 'ls'])).out).toMatch(/large .*no\n/)
  await berth(['admin', 'preset', 'rm', 'large'])

  await berth(['admin', 'resource-group', 'create', 'gpu', '--domains', 'none'])
  const [host] = await json<Agent[]>('admin', 'agent', 'ls')
  const move = ['admin', 'agent', 'move', host?.name ?? '']
  const stays = await berth([...move, 'gpu'])
  expect(stays).toMatchObject({ code: 1, err: expect.stringContaining('agent_in_use') as string })
  expect((await berth([...move, 'default'])).out).toContain(host?.id)
  const slurm = ['--engine', 'slurm', '--partition', 'a100', '--time-limit', '90']
  expect((await berth(['admin', 'resource-group', 'update', 'gpu', ...slurm])).out).toMatch(/gpu +yes +slurm/)
  await berth(['admin', 'resource-group', 'update', 'gpu', '--qos', 'urgent', '--partition', ''])
  expect(await json('admin', 'resource-group', 'ls')).toContainEqual(
    expect.objectContaining({ engine: 'slurm', options: { slurm: { qos: 'urgent', timeLimitMinutes: 90 } } }),
  )
  const offers = ['--offer', 'qos=urgent', '--offer', 'qos=normal', '--offer', 'reservation=course']
  const limits = ['--time-limit', '60', '--max-time-limit', '240']
  await berth(['admin', 'resource-group', 'update', 'gpu', '--qos', '', ...limits, ...offers])
  await berth(['admin', 'resource-group', 'update', 'gpu', '--offer', 'reservation='])
  const choices = { timeLimitMinutes: 60, maxTimeLimitMinutes: 240, offers: { qos: ['urgent', 'normal'] } }
  expect(await json('admin', 'resource-group', 'ls')).toContainEqual(
    expect.objectContaining({ options: { slurm: choices } }),
  )
  const people = [
    '--person',
    'ada@example.org=ada',
    '--mail-domain',
    'example.org',
    '--project-account',
    'default=speech',
  ]
  await berth(['admin', 'resource-group', 'update', 'gpu', ...people])
  const [named] = (await json<ResourceGroup[]>('admin', 'resource-group', 'ls')).filter(({ name }) => name === 'gpu')
  expect(named?.options.slurm).toMatchObject({
    people: { users: { 'ada@example.org': 'ada' }, mailDomain: 'example.org' },
    projects: { [(await json<Group[]>('admin', 'project', 'ls'))[0]?.id ?? '']: { account: 'speech' } },
  })
  const asRoot = await berth(['admin', 'resource-group', 'update', 'gpu', '--person', 'ada@example.org=root'])
  expect(asRoot).toMatchObject({ code: 2, err: expect.stringContaining('other than root') as string })
  await berth(['admin', 'resource-group', 'update', 'gpu', '--person', 'Ada@Example.org='])
  const [unnamed] = (await json<ResourceGroup[]>('admin', 'resource-group', 'ls')).filter(({ name }) => name === 'gpu')
  expect(unnamed?.options.slurm?.people).toEqual({ mailDomain: 'example.org' })
  await berth(['admin', 'resource-group', 'update', 'gpu', '--no-people', '--project-account', 'default='])
  const nothing = await berth(['admin', 'resource-group', 'update', 'gpu', '--offer', 'account=lab'])
  expect(nothing).toMatchObject({ code: 2, err: expect.stringContaining('qos=VALUE') as string })
  const inSlurm = [
    'session',
    'create',
    '--image',
    'berth/python:3.13',
    '--resource-group',
    'gpu',
    '--cpu',
    '0.1',
    '--slurm-time',
    '2h',
  ]
  const forecast = await berth([...inSlurm, '--slurm-qos', 'urgent', '--dry-run'])
  expect(forecast.out).toContain('Slurm decides')
  const tooLong = await berth([...inSlurm, '--slurm-time', '5h'])
  expect(tooLong).toMatchObject({ code: 2, err: expect.stringContaining('240 minutes at most') as string })
  const wrong = await berth(['admin', 'resource-group', 'update', 'gpu', '--time-limit', 'soon'])
  expect(wrong).toMatchObject({ code: 2, err: expect.stringContaining('timeLimitMinutes') as string })
  const granted = await berth(['admin', 'resource-group', 'grant', 'gpu', '--user', me])
  expect(granted.out).toContain(ADMIN.email)
  await berth(['admin', 'resource-group', 'withdraw', 'gpu', '--user', me])
  expect(await json('admin', 'resource-group', 'access', 'gpu')).toEqual([])
  expect(await berth(['admin', 'resource-group', 'access', 'none'])).toMatchObject({ code: 4 })
  expect((await berth(['resource-group', 'ls'])).out).toMatch(/default/)

  expect(await json<Recalculation>('admin', 'recalculate')).toMatchObject({ findings: [] })
  expect((await berth(['admin', 'recalculate'])).out).toBe('No differences: 1 container.\n')
})

test('sessions are created from a template, for later, and for another user', async () => {
  const spec = {
    image: 'berth/python:3.13',
    resources: { cpu: '0.5', mem: String(GiB) },
    environ: { A: '1', B: '2' },
    count: 1,
    resourceGroup: 'default',
    group: 'default',
  }
  await cluster.api.saveSessionTemplate({ params: { name: 'Training' }, body: spec })
  expect((await berth(['template', 'ls'])).out).toMatch(/Training +berth\/python:3\.13 +0\.5 CPU, 1 GiB RAM/)
  await cluster.addUser('gail@localhost')
  const created = await json<Session>(
    ...['session', 'create', '--template', 'training', '--name', 'tonight', '--env', 'B=3', '--mem', '2g'],
    ...['--owner', 'gail@localhost', '--start-at', '+2h'],
  )
  expect(created).toMatchObject({
    ownerEmail: 'gail@localhost',
    requested: { cpu: '0.5', mem: String(2 * GiB) },
    environNames: ['A', 'B'],
  })
  expect(Date.parse(created.startsAt ?? '') - Date.now()).toBeGreaterThan(7_000_000)
  await expect.poll(async () => (await berth(['session', 'show', created.id])).out).toMatch(/starts +at .* or later/)

  expect(await berth(['template', 'default', 'training'])).toMatchObject({ code: 0 })
  expect((await berth(['template', 'ls'])).out).toMatch(/Training .* yes\n/)
  expect(await berth(['template', 'default'])).toMatchObject({ code: 0 })
  expect((await berth(['template', 'ls'])).out).not.toContain('yes')
  expect(await berth(['template', 'rm', 'training'])).toMatchObject({ code: 0 })
  expect(await berth(['session', 'create', '--template', 'training'])).toMatchObject({
    code: 4,
    err: expect.stringContaining('You have no template "training"') as string,
  })
  expect((await berth(['session', 'create', '--name', 'none'])).err).toContain('Name an image with --image')
})

test('a session fetches a repository before its command; other addresses are refused', async () => {
  const create = ['session', 'create', '--image', 'berth/python:3.13', '--start-at', '+2h']
  const address = 'https://git.example.org/team/tools.git'
  const made = await json<Session>(...create, '--import', address, '--command', 'echo ready', '--name', 'with-tools')
  expect(made.startupCommand?.split('\n')).toEqual([
    `[ -e '/home/work/tools' ] || GIT_TERMINAL_PROMPT=0 git clone --depth 1 -- '${address}' '/home/work/tools'`,
    'echo ready',
  ])
  for (const [wrong, why] of [
    [['--import', 'http://git.example.org/tools'], 'https address of a Git repository'],
    [['--import', address, '--image-command'], 'cannot be used with'],
  ] as const) {
    expect(await berth([...create, ...wrong])).toMatchObject({ code: 2, err: expect.stringContaining(why) as string })
  }
})

test('sessions begin with the defaults of their image where the command line says so', async () => {
  const image = 'berth/python:3.13'
  const defaults = (...words: string[]) => berth(['image', 'defaults', ...words])
  expect(await defaults('set', image, '--cpu', '0.5', '--mem', '2g', '--env', 'A=1')).toMatchObject({ code: 0 })
  expect((await defaults('ls')).out).toMatch(/berth\/python:3\.13 +0\.5 CPU, 2 GiB RAM +A +0/)
  const create = ['session', 'create', '--image', image, '--start-at', '+2h']
  expect(await json<Session>(...create, '--name', 'as-usual', '--defaults', '--cpu', '1')).toMatchObject({
    requested: { cpu: '1', mem: String(2 * GiB) },
    environNames: ['A'],
  })
  expect(await json<Session>(...create, '--name', 'plain')).toMatchObject({ environNames: [] })
  expect(await defaults('rm', image)).toMatchObject({ code: 0 })
  expect(await berth([...create, '--defaults'])).toMatchObject({
    code: 4,
    err: expect.stringContaining(`You have no defaults for the image "${image}"`) as string,
  })
  expect(await berth([...create, '--defaults', '--template', 'x'])).toMatchObject({ code: 2 })
})

test('dotfiles and the start-up script come from files and standard input, and are printed byte by byte, with plain line breaks', async () => {
  const text = "PS1='\\u001b[1m$ '\nalias ll='ls -l'\n"
  expect(await berth(['dotfile', 'put', '.bashrc'], text)).toMatchObject({ code: 0 })
  expect((await berth(['dotfile', 'get', '.bashrc'])).out).toBe(text)
  const escape = 'a\u001b[31mred, without a line break at the end'
  expect(await berth(['dotfile', 'put', '.netrc', '-', '--mode', '600'], escape)).toMatchObject({ code: 0 })
  expect((await berth(['dotfile', 'get', '.netrc'])).out).toBe(escape)
  // A replaced file keeps its permissions.
  await berth(['dotfile', 'put', '.netrc'], 'machine example.org\n')
  expect((await berth(['dotfile', 'ls'])).out).toMatch(/\.bashrc +644 .*\n\.netrc +600 +20 B/)
  const own = import.meta.filename
  await berth(['dotfile', 'put', '.config/own.ts', own])
  expect((await berth(['dotfile', 'get', '.config/own.ts'])).out).toBe(await readFile(own, 'utf8'))
  expect(await berth(['dotfile', 'put', '.config/own.ts', `${own}.none`])).toMatchObject({
    code: 2,
    err: expect.stringContaining('cannot be read') as string,
  })
  expect(await berth(['dotfile', 'put', 'visible'], 'x')).toMatchObject({ code: 2 })
  expect(await berth(['dotfile', 'rm', '.bashrc', '.netrc', '.config/own.ts'])).toMatchObject({ code: 0 })
  expect(await berth(['dotfile', 'get', '.bashrc'])).toMatchObject({
    code: 4,
    err: expect.stringContaining('You have no dotfile ".bashrc"') as string,
  })
  expect(await berth(['dotfile', 'rm', '.bashrc'])).toMatchObject({ code: 4 })

  expect(await berth(['startup-script', 'set'], 'pip install rich\n')).toMatchObject({ code: 0 })
  expect((await berth(['startup-script', 'show'])).out).toBe('pip install rich\n')
  // Shells take a line break of Windows for a part of the command.
  await berth(['startup-script', 'set'], 'set -e\r\nif true; then\r\n echo x\r\nfi\r\n')
  expect((await berth(['startup-script', 'show'])).out).toBe('set -e\nif true; then\n echo x\nfi\n')
  expect(await berth(['startup-script', 'set'], ' \n')).toMatchObject({ code: 2 })
  await berth(['startup-script', 'rm'])
  expect((await berth(['startup-script', 'show'])).out).toBe('')
})
