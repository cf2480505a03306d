import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Group, type Preset, type ResourcePolicy, type User } from '#manager/contract'
import { type Cli, createCli } from '../../fixtures/cli.ts'
import { temporaryDirectory } from '../../fixtures/manager.ts'
import { blocksOf, commandsIn, wordsOfBerth } from '../../fixtures/page-blocks.ts'
import { type SessionsCluster, startSessionsCluster } from '../../fixtures/sessions-cluster.ts'

/** Commands of administrators and their output, also for wrong input. */

const GUIDE = new URL('../../../docs/admin/backup.md', import.meta.url)
const GiB = 2 ** 30
let cluster: SessionsCluster
let cli: Cli
beforeAll(async () => {
  cluster = await startSessionsCluster()
  cli = await createCli()
  await cli.signIn(cluster.url)
  await cluster.addUser('ada@example.org')
})
afterAll(async () => {
  await cluster[Symbol.asyncDispose]()
  await cli[Symbol.asyncDispose]()
})

/** An address where nothing listens. */
async function closedRegistry(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return `localhost:${port}`
}

const admin = (...args: string[]) => cli.run(['admin', ...args])
const json = async <T>(...args: string[]): Promise<T> => JSON.parse((await admin(...args, '--json')).out) as T

test('an update of a preset keeps what it does not name, and names of presets ignore letter case', async () => {
  expect(await admin('preset', 'create', 'nothing')).toMatchObject({ code: 2 })
  expect((await admin('preset', 'create', 'nothing', '--cpu', '0', '--mem', '0')).err).toContain(
    'needs both CPU and RAM',
  )
  await admin('preset', 'create', 'small', '--cpu', '1', '--mem', '2g', '--shm', '256m')
  const taken = await admin('preset', 'create', 'Small', '--cpu', '1', '--mem', '1g')
  expect(taken).toMatchObject({ code: 1, err: 'berth: A preset with this name exists (preset_exists)\n' })
  const changed = await json<Preset>('preset', 'update', 'small', '--cpu', '2')
  expect(changed).toMatchObject({ slots: { cpu: '2', mem: String(2 * GiB) }, shmem: String(256 * 2 ** 20) })
  expect((await admin('preset', 'update', 'small', '--mem', '128m')).err).toContain(
    'Shared memory is part of the RAM (mem)',
  )
  const listed = await admin('preset', 'ls')
  expect(listed).toMatchObject({ code: 0, err: 'No host is connected, so no preset fits now.\n' })
  await admin('preset', 'rm', 'small')
})

test('backups are scheduled by the commands of the guide, made, listed and deleted', async () => {
  const block = blocksOf(await readFile(GUIDE, 'utf8'), 'sh').find(text => text.includes('backup schedule set'))
  const [set = '', ...looks] = commandsIn(block ?? '')
  const shown = await cli.run(wordsOfBerth(set))
  expect(shown.out).toMatch(
    /^Every day at 03:00 \(Asia\/Seoul\); the newest 14 are kept; (next:|overdue since) [^.]*03:00/,
  )
  for (const look of looks) expect(await cli.run(wordsOfBerth(look)), look).toMatchObject({ code: 0 })
  expect((await admin('backup', 'schedule', 'set', '--at', '3 am')).err).toContain(
    'must be a time of day such as 03:00',
  )
  const made = await admin('backup', 'now')
  expect(made).toMatchObject({ code: 0, err: expect.stringContaining('rows (done)') as string })
  const name = made.out.trim()
  const { out, err } = await admin('backup', 'ls')
  expect(out).toContain(name)
  expect(err).toContain('last: done')
  expect(await admin('backup', 'rm', name)).toMatchObject({ code: 0 })
  expect(await admin('backup', 'rm', name)).toMatchObject({ code: 4 })
  expect((await admin('backup', 'schedule', 'off')).out).toBe('No backup is made by itself.\n')
  expect(await json('backup', 'schedule', 'show')).toMatchObject({ backupAt: null, nextAt: null })
})

test('the versions of all parts are shown', async () => {
  const { out } = await admin('versions')
  expect(out).toMatch(/PostgreSQL +1[5-9]/)
  expect(await json('versions')).toMatchObject({
    node: process.version,
    platform: `${process.platform} ${process.arch}`,
  })
})

test('users are imported from a CSV file; a wrong row does not keep the others from their accounts', async () => {
  await using dir = await temporaryDirectory()
  const file = join(dir.path, 'users.csv')
  await writeFile(
    file,
    '\uFEFFEmail;Name;Projects\ngrace@example.org;"Hopper, Grace";default\nnobody;;\nada@example.org;Ada;\n',
  )
  const dry = await admin('user', 'import', file, '--dry-run')
  expect(dry.code).toBe(2)
  expect(dry.err).toContain('1 of 3 rows refused')
  expect(dry.out).toMatch(
    /grace@example\.org\s+would be created\n.*nobody\s+refused .*e-mail address.*\n.*exists already/,
  )
  const { out } = await admin('user', 'import', file)
  expect(out).toMatch(/grace@example\.org\s+created\s+http\S+reset-password/)
  const [grace] = await json<{ name: string }[]>('user', 'ls', '--search', 'grace')
  expect(grace?.name).toBe('Hopper, Grace')
  const missing = await admin('user', 'import', join(dir.path, 'nothing.csv'))
  expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('cannot be read') as string })
  await writeFile(file, 'name\nAda\n')
  expect((await admin('user', 'import', file)).err).toContain('a column "email"')
})

test('the size of all folders of a project and the number of their files are limited, and the limit taken away', async () => {
  const made = await json<Group>('project', 'create', 'robots', '--folder-size', '1.5t')
  expect(made.maxFolderBytes).toBe(1.5 * 2 ** 40)
  expect((await admin('project', 'ls')).out).toMatch(/robots .* 1\.5 TiB/)
  await admin('project', 'update', 'robots', '--description', 'Arms')
  expect((await json<Group[]>('project', 'ls')).find(({ name }) => name === 'robots')?.maxFolderBytes).toBe(
    1.5 * 2 ** 40,
  )
  const { maxFolderBytes } = await json<Group>('project', 'update', 'robots', '--folder-size', 'unlimited')
  expect(maxFolderBytes).toBeNull()
  const counted = await json<Group>('project', 'update', 'robots', '--folder-files', '500000')
  expect(counted.maxFolderFiles).toBe(500_000)
  await admin('project', 'update', 'robots', '--description', 'More arms')
  expect((await admin('project', 'ls')).out).toMatch(/robots .* ∞ +500000 +More arms/)
  const found = await json<Group[]>('project', 'ls', '--search', 'MORE ARMS')
  expect(found.map(({ name }) => name)).toEqual(['robots'])
  expect(await json('project', 'ls', '--search', 'no such project')).toEqual([])
  expect((await admin('project', 'update', 'robots', '--folder-files', '0')).code).toBe(2)
})

test('policies accept the same time formats as sessions, and are assigned by e-mail address', async () => {
  const made = await json<ResourcePolicy>(
    'policy',
    'create',
    'student',
    '--idle-timeout',
    '90m',
    '--max-lifetime',
    '8h',
  )
  expect(made).toMatchObject({ idleTimeoutSeconds: 5400, maxLifetimeSeconds: 28_800 })
  const lifted = await json<ResourcePolicy>('policy', 'update', 'student', '--idle-timeout', '0')
  expect(lifted).toMatchObject({ idleTimeoutSeconds: null, maxLifetimeSeconds: 28_800 })
  await admin('policy', 'update', 'student', '--sessions', '3', '--folders', '2', '--storage-hosts', 'a,b')
  const any = ['--sessions', 'unlimited', '--folders', 'unlimited', '--storage-hosts', 'unlimited']
  const free = await json<ResourcePolicy>('policy', 'update', 'student', ...any)
  expect(free).toMatchObject({ maxConcurrentSessions: null, maxFolders: null, allowedStorageHosts: null })
  const files = await json<ResourcePolicy>('policy', 'update', 'student', '--folder-files', '500000')
  expect(files.maxFolderFiles).toBe(500_000)
  expect((await admin('policy', 'ls')).out).toMatch(/student .* 8 h .* 500000 /)
  expect((await admin('policy', 'update', 'student', '--folder-files', '0')).code).toBe(2)
  expect(await admin('policy', 'assign', 'student', '--user', 'ADA@example.org')).toMatchObject({ code: 0 })
  expect(await admin('policy', 'assign', 'student', '--user', 'bob@example.org')).toMatchObject({ code: 4 })
  const [ada] = (await cluster.api.listUsers({ query: { search: 'ada@' } })).items
  expect(ada?.resourcePolicy).toBe('student')
})

test('access to a resource group is granted by e-mail address and by the name of a project', async () => {
  const made = await admin('resource-group', 'create', 'gpu', '--domains', 'none')
  expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^NAME .*\ngpu /) as string })
  expect((await admin('resource-group', 'grant', 'gpu', '--user', 'ada@example.org')).out).toContain('ada@example.org')
  expect((await admin('resource-group', 'grant', 'gpu', '--project', 'default/default')).out).toMatch(
    /project +default\/default/,
  )
  await admin('resource-group', 'withdraw', 'gpu', '--user', 'ada@example.org')
  const rules = await json<{ kind: string }[]>('resource-group', 'access', 'gpu')
  expect(rules.map(({ kind }) => kind)).toEqual(['group'])
  const all = await json<{ resourceGroup: string; name: string }[]>('resource-group', 'access')
  expect(all.map(({ resourceGroup, name }) => `${resourceGroup} ${name}`)).toEqual([
    'default default',
    'gpu default/default',
  ])
})

test.each([
  ['{reserve', 'The value is not JSON'],
  ['{"reserveAfterSeconds":-1}', 'reserveAfterSeconds: must be at least 0'],
  ['{"reserve":1}', 'must not have a field "reserve"'],
  ['{"weights":{"ada@example.org":2}}', 'weights.ada@example.org: has a key that does not fit: must be an id'],
])('%s is refused as an option of a resource group, by name', async (options, said) => {
  const { code, err } = await admin('resource-group', 'update', 'default', '--options', options)
  expect(code).toBe(2)
  expect(err).toContain(said)
})

test('an image that no agent holds cannot be removed, and a minimum is cleared only on request', async () => {
  await cluster.join()
  const gone = await admin('image', 'rm', 'nosuch/image:1')
  expect(gone).toMatchObject({ code: 4, out: '' })
  expect(gone.err).toContain('No agent has the image "nosuch/image:1".')
  const reference = 'berth/python:3.13'
  await admin('image', 'set-minimum', reference, '--cpu', '1')
  const bare = await admin('image', 'set-minimum', reference)
  expect(bare).toMatchObject({ code: 2 })
  expect(bare.err).toContain('Give the minimum (--cpu, --mem, …), or --reset.')
  expect(await json('image', 'ls', '--search', `nosuch ${reference}`)).toEqual([])
  const images = (await cluster.api.listImages()).items
  expect(images.find(image => image.reference === reference)?.minimum.cpu).toBe('1')
})

test('a failed rescan is reported with exit code 1', async () => {
  const closed = await closedRegistry()
  await admin('registry', 'add', closed, '--url', `http://${closed}`)
  const { code, out, err } = await admin('registry', 'rescan', closed)
  expect(code).toBe(1)
  expect(out).toBe('1 of 1 rescans failed.\n')
  expect(err).toContain('(failed: ')
  await admin('registry', 'rm', closed)
})

test('a domain may name registries that Berth does not know; the admin is told which ones it knows', async () => {
  await admin('registry', 'add', 'cr.example.org')
  const warned = await admin('domain', 'create', 'physics', '--registries', 'cr.example.org,nosuch.example.org')
  expect(warned).toMatchObject({ code: 0 })
  expect(warned.err).toContain('there is no registry "nosuch.example.org". Known registries: cr.example.org.')
  expect((await admin('domain', 'update', 'physics', '--registries', 'cr.example.org')).err).toBe('')
  const all = await admin('domain', 'update', 'physics', '--registries', 'all')
  expect(all).toMatchObject({ code: 0, err: '', out: expect.stringMatching(/physics +yes +∞ +all/) as string })
})

test('an invitation to an address that would be refused is made with a warning', async () => {
  const closed = await admin('invitation', 'create')
  expect(closed).toMatchObject({ code: 0, out: expect.stringContaining('/#/sign-up?invitation=') as string })
  expect(closed.err).toBe(
    'Warning: Sign-up is closed, also with an invitation, until a superadmin sets allowSignUp to "invitation".\n',
  )
  await admin('settings', 'set', 'allowSignUp=invitation')
  expect((await admin('invitation', 'create')).err).toBe('')
  await admin('domain', 'deactivate', 'physics')
  expect((await admin('invitation', 'create', '--domain', 'physics')).err).toContain('"physics" is inactive')
})

test('users do not see resource groups that they may not use', async () => {
  await cluster.reset()
  await cluster.api.createDomain({ body: { name: 'elsewhere' } })
  await cluster.api.withdrawResourceGroupAccess({ params: { name: 'default' }, query: { domain: 'elsewhere' } })
  const [email, password] = ['eve@example.org', 'Their-own-pass-1']
  await cluster.api.createUser({
    body: { mustChangePassword: false, email, name: 'Eve', password, domain: 'elsewhere' },
  })
  const eve = await cluster.signIn(email)
  const agent = await cluster.join()
  const { id } = await cluster.launch()
  await cluster.reach(id, 'RUNNING')
  expect((await eve.getResources()).sessions).toEqual({ running: 0, pending: 0 })
  expect((await cluster.api.getResources()).sessions).toEqual({ running: 1, pending: 0 })
  const agentsOf = async (api: typeof eve) => (await api.listImages()).items.flatMap(image => image.agentIds ?? [])
  expect((await eve.listImages()).items.map(({ holders }) => holders)).toEqual([0])
  expect(await agentsOf(cluster.api)).toContain(agent.id)
})

test.each([
  ['admin user create ada --name Ada --password-stdin', 2, 'email: must be an e-mail address, such as ada@example.org'],
  [
    'admin user create ada@example.org --name Ada',
    2,
    'There is no terminal to ask for "Password". Pass the value by standard input: --password-stdin.',
  ],
  ['usage --user nobody@example.org', 4, 'There is no user "nobody@example.org".'],
  ['admin policy assign default', 2, 'Give --user or --keypair.'],
  ['admin resource-group grant default', 2, 'Give --domain, --project or --user.'],
  ['admin resource-group access nosuch', 4, 'There is no resource group "nosuch".'],
  ['admin preset rm nosuch', 4, 'There is no preset "nosuch".'],
  ['session create --image berth/python:3.13 --batch', 2, 'A batch session needs --command or --image-command.'],
  [
    'login --endpoint http://127.0.0.1:1/berth --email a@b.co --password-stdin',
    2,
    'Berth answers at the root of its address only: use http://127.0.0.1:1 instead of http://127.0.0.1:1/berth.',
  ],
  ['login --endpoint http://127.0.0.1:1 --email a@b.co --password-stdin', 1, 'http://127.0.0.1:1 does not answer.'],
] as const)('berth %s exits with %i and says what is wrong', async (line, code, said) => {
  const outcome = await cli.run(line.split(' '), 'Their-own-pass-1')
  expect(outcome.err).toContain(said)
  expect(outcome.code).toBe(code)
})

test('the usage of somebody else is queried by e-mail address and by the name of a project', async () => {
  const of = async (...args: string[]) => (await cli.run(['usage', ...args])).out
  expect(await of('--user', 'ada@example.org')).toMatch(/user +ada@example.org/)
  expect(await of('--project', 'default/default')).toMatch(/project +default/)
})

test.each([
  'usage --project nosuch',
  'session create --image berth/python:3.13 --project nosuch --dry-run',
  'preset ls --project nosuch',
  'folder create data --project nosuch',
  'admin preset ls --project nosuch',
  'admin usage limits --project nosuch',
  'admin resource-group grant default --project nosuch',
  'admin resource-group withdraw default --project nosuch',
  'admin user ls --project nosuch',
  'admin user create bob@example.org --projects nosuch --password-stdin',
  'admin user update ada@example.org --projects nosuch',
])('berth %s says that there is no such project; so does the old word of it, after a note', async line => {
  const now = await cli.run(line.split(' '), 'Their-own-pass-1')
  expect(now).toMatchObject({ code: 4, err: expect.stringContaining('(group_not_found)') as string })
  const before = await cli.run(line.replace('--project', '--group').split(' '), 'Their-own-pass-1')
  expect(before.err).toMatch(/^Note: "--groups?" is called "--projects?" now; /)
  expect(before).toEqual({ ...now, err: `${before.err.split('\n')[0]}\n${now.err}` })
})

test('the words that a script knows from the version before make and show a project', async () => {
  const made = await admin('group', 'create', 'optics', '--json')
  expect(made).toMatchObject({ code: 0, err: expect.stringMatching(/^Note: .*"berth admin project".*\n$/) as string })
  expect(JSON.parse(made.out)).toMatchObject({ name: 'optics' })
  await admin('group', 'members', 'add', 'optics', 'ada@example.org')
  const members = await admin('user', 'ls', '--group', 'optics')
  expect(members.out).toContain('ada@example.org')
  // In the table, the age of an account grows between two calls.
  const known = await json<User[]>('user', 'ls', '--group', 'optics')
  expect(known.map(({ email }) => email)).toEqual(['ada@example.org'])
  expect(known).toEqual(await json('user', 'ls', '--project', 'optics'))
})

test('weights are set by address and by name of a project, shown, and decide whose session starts next', async () => {
  await cluster.reset()
  await cluster.join({ capacity: { cpu: 3000, mem: 4 * GiB } })
  await cluster.addUser('bob@example.org')
  const [ada, bob] = await Promise.all(['ada@example.org', 'bob@example.org'].map(cluster.signIn))
  const launch = (name: string, api = cluster.api) => cluster.launch({ name, resources: { cpu: '1', mem: '1g' } }, api)
  const held = await Promise.all([launch('of-admin'), launch('of-ada', ada), launch('of-bob', bob)])
  for (const { id } of held) await cluster.reach(id, 'RUNNING')
  const first = await launch('admin-next')
  const second = await launch('ada-next', ada)
  const weights = ['--weight', 'ADA@example.org=2', '--weight', 'bob@example.org=0.5']
  const made = await admin('resource-group', 'update', 'default', '--sequencer', 'drf', ...weights)
  expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^NAME .*\ndefault /) as string })
  expect((await admin('resource-group', 'shares', 'default')).out).toMatch(
    /1 +ada@example\.org +16\.7% +33\.3% of CPU +2 .*\n2 +admin@localhost +33\.3% .*\n- +bob@example\.org +66\.7% .* 0\.5 /,
  )
  await cluster.api.deleteSession({ params: { id: held[2].id } })
  await cluster.reach(second.id, 'RUNNING')
  expect((await cluster.api.getSession({ params: { id: first.id } })).status).toBe('PENDING')

  await admin(
    'resource-group',
    'update',
    'default',
    '--weight',
    'bob@example.org=1',
    '--project-weight',
    'default/default=3',
  )
  const { options } = (await cluster.api.listResourceGroups()).items.find(({ name }) => name === 'default') ?? {}
  expect([Object.values(options?.weights ?? {}), Object.values(options?.projectWeights ?? {})]).toEqual([[2], [3]])
})
