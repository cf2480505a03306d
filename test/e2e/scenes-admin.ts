import {
  AppError,
  type Backups,
  because,
  type ConsoleCertificate,
  type FairShare,
  type ImageRequest,
  keysOf,
  type Reservation,
  type Task,
  toProblem,
} from '#manager/contract'
import { ADMIN_WORLD, aUser } from './admin-world.ts'
import { agentId, AGENTS, GIB } from './admin-world-agents.ts'
import { aKeypair, WAITING } from './console-double-account.ts'
import { type World } from './console-double-world.ts'
import { ago, aSession, type HISTORY, variedSessions } from './console-world.ts'
import { button, type Scene } from './scene.ts'

type Act = NonNullable<Scene['act']>
/** A scene of a page of administration: ready when a text is shown, or after some steps. */
function scene(name: string, path: string, ready: string | Act, world: Partial<World> = {}): Scene {
  const act: Act = typeof ready === 'string' ? page => page.getByText(ready).first().waitFor() : ready
  return { name, path: `/admin/${path}`, world: { ...ADMIN_WORLD, ...world }, act, alike: ALIKE.has(name) }
}
/** Names of the scenes whose components are also in other scenes. */
const ALIKE: ReadonlySet<string> = new Set([
  'admin-credential',
  'admin-directory',
  'admin-directory-look-up',
  'admin-domains',
  'admin-force-end',
  'admin-group-edit',
  'admin-image-aliases',
  'admin-image-log',
  'admin-image-minimum',
  'admin-image-push',
  'admin-pause-group',
  'admin-policy-edit',
  'admin-queue-held',
  'admin-registry-add',
  'admin-remind',
  'admin-scim-token-end',
  'admin-settings-announcement',
  'admin-settings-mail',
  'admin-sign-in-provider',
  'admin-signup-decline',
  'admin-user-create',
])
/** Presses a button, and waits for a text of the dialog that it opens. */
const opens =
  (name: string, text: string, { exact = false } = {}): Act =>
  async page => {
    await (exact ? page.getByRole('button', { name, exact }) : button(page, name)).click()
    const dialog = page.getByRole('dialog').or(page.getByRole('alertdialog'))
    await dialog.getByText(text).first().waitFor()
  }
const NOT_ISSUED = because('cert_not_issued_dns', {
  authority: 'acme-v02.api.letsencrypt.org',
  names: 'berth.example.org, *.apps.example.org',
  text: 'no TXT record was found',
  program: '/etc/berth/dns-hook',
})
const CERTIFICATE: ConsoleCertificate = {
  console: 'head-443',
  source: 'acme',
  names: ['berth.example.org', '*.apps.example.org'],
  issuer: "Let's Encrypt",
  fingerprint: Array.from({ length: 32 }, () => 'A7').join(':'),
  keyFingerprint: 'a7'.repeat(32),
  notBefore: '2026-10-01T00:00:00.000Z',
  notAfter: '2026-12-30T00:00:00.000Z',
  isPublic: true,
  problem: NOT_ISSUED.why,
  problemBy: keysOf(NOT_ISSUED),
  state: 'failed',
  seenAt: '2026-11-21T09:00:00.000Z',
}
const TWO_MANAGERS = (ADMIN_WORLD.admin?.managers ?? []).flatMap(manager => [
  manager,
  { ...manager, id: '01990000-0000-7000-8000-0000000000f4', url: 'http://10.20.0.2:8090', schedules: [], self: false },
])
const withTask = (task: Task): Partial<World> => ({ admin: { ...ADMIN_WORLD.admin, tasks: [task] } })
const waiting = (index: number, queuePosition: number, code: 'capacity' | 'user_policy', message: string) =>
  aSession(index, { status: 'PENDING', queuePosition, reason: { code, message } })

const IMAGE_REQUEST: ImageRequest = {
  id: '01990000-0000-7000-8000-0000000000b1',
  session: { id: aSession(1).id, name: 'train-resnet', image: 'berth/pytorch:2.6' },
  email: 'researcher-5@lab.example.org',
  reference: 'users/ada/torch:2',
  title: null,
  note: 'PyTorch with the packages of the vision course.',
  createdAt: new Date().toISOString(),
  expiresAt: new Date().toISOString(),
}
const TASK: Task = {
  id: '01990000-0000-7000-8000-0000000000f1',
  kind: 'pull',
  target: 'cr.example.org/vision/pytorch:2.9',
  status: 'running',
  error: null,
  rescan: null,
  copy: null,
  backup: null,
  sessionId: null,
  pull: AGENTS.slice(0, 2).map((agent, index) => ({
    agentId: agent.id,
    agentName: agent.name,
    status: index === 0 ? 'pulling' : 'waiting',
    progress: index === 0 ? { layersDone: 3, layersTotal: 6, bytesDone: 4.1e9, bytesTotal: 9.8e9, layers: [] } : null,
    error: null,
  })),
  startedBy: 'admin@localhost',
  createdAt: ago(2),
  endedAt: null,
  version: 3,
}
const RESCAN: Task = {
  ...TASK,
  id: '01990000-0000-7000-8000-0000000000f2',
  kind: 'rescan',
  target: 'cr.example.org',
  pull: null,
  rescan: {
    repositoriesDone: 4,
    repositoriesTotal: 12,
    tagsDone: 31,
    tagsTotal: 90,
    images: 28,
    unlabelled: 2,
    removed: 0,
    problemsTotal: 0,
    problems: [],
  },
}
/** GPUs that the users of `SHARES` hold; the third has the weight 2. */
const HELD = [1, 2, 6, 1]
const SHARES: FairShare = {
  capacity: { cpu: '64', mem: String(512 * GIB), 'cuda.device': '8' },
  reserved: null,
  items: (ADMIN_WORLD.admin?.users ?? []).slice(1, 5).map(({ id, email }, index) => ({
    userId: id,
    email,
    held: { cpu: String(4 + index), 'cuda.device': String(HELD[index] ?? 0) },
    dominant: 'cuda.device',
    fraction: (HELD[index] ?? 0) / 8,
    weight: index === 2 ? 2 : 1,
    share: (HELD[index] ?? 0) / (index === 2 ? 16 : 8),
    project: null,
    waiting: index === 3 ? 0 : 1,
    turn: index === 3 ? null : index + 1,
    next: index === 3 ? null : { id: aSession(index + 1).id, name: `train-${index + 1}`, priority: 0 },
    because: index < 2 ? 'share' : null,
  })),
}
const RESERVATION: Reservation = {
  resourceGroup: 'default',
  session: { id: aSession(1).id, name: aSession(1).name, ownerEmail: aSession(1).ownerEmail },
  agent: { id: agentId(1), name: AGENTS[0]?.name ?? '' },
  agents: [{ id: agentId(1), name: AGENTS[0]?.name ?? '' }],
  needed: { cpu: '16', mem: String(128 * GIB), 'cuda.device': '2' },
  held: { cpu: '16', mem: String(96 * GIB), 'cuda.device': '1' },
  devices: [],
  since: ago(20),
  expectedBy: new Date(Date.now() + 5_400_000).toISOString(),
}
const RUN: NonNullable<Backups['last']> = {
  startedAt: '2026-11-22T18:00:00.000Z',
  endedAt: '2026-11-22T18:00:04.000Z',
  outcome: 'failed',
  startedBy: null,
  manager: 'https://berth.example.org',
  name: 'berth-20261122-180000.backup',
  bytes: null,
  error: toProblem(new AppError('disk_full', because('backup_disk_full', { directory: '/mnt/backups' }))),
}
const BACKUPS: Backups = {
  directory: '/mnt/backups',
  manager: 'https://berth.example.org',
  freeBytes: 1.9e8,
  problem: null,
  items: ['20261121', '20261120'].map((day, index) => ({
    name: `berth-${day}-180000.backup`,
    madeAt: `2026-11-${21 - index}T18:00:00.000Z`,
    bytes: 48_239_104 - 220_000 * index,
  })),
  nextAt: new Date(Date.now() + 30_000_000).toISOString(),
  running: null,
  last: RUN,
  lastDone: null,
}
/** Resource use of sessions in each hour of a day; the last hour is not complete. */
function aDay(): typeof HISTORY {
  const now = Date.now()
  const hour = 3_600_000
  const begin = Math.floor(now / hour) * hour
  return Array.from({ length: 24 }, (_, index) => {
    const at = begin - (23 - index) * hour
    const passed = Math.min(1, (now - at) / hour)
    const held = { cpu: 18 + 9 * Math.sin(index / 3), gpu: 4 + 3 * Math.sin(index / 4) }
    return {
      at: new Date(at).toISOString(),
      sessions: 9,
      cpuHours: held.cpu * passed,
      memGibHours: 0,
      gpuHours: held.gpu * passed,
      ...{ cpuIdle: null, gpuIdle: null, memIdle: null },
      ...{ readBytes: 0, writtenBytes: 0, receivedBytes: 0, sentBytes: 0 },
    }
  })
}

/** The pages of administration. */
export const ADMIN_SCENES: readonly Scene[] = [
  scene(
    'admin-overview',
    'overview',
    async page => {
      await page.locator('.chart-plot canvas').first().waitFor()
      await page.getByText('A second superadmin').waitFor()
    },
    {
      history: aDay(),
      sessions: [
        ...variedSessions(),
        waiting(91, 4, 'capacity', 'It needs 2 GPU; 0 is free now.'),
        waiting(92, 5, 'user_policy', 'It needs 8 CPU; 4 are left.'),
      ],
    },
  ),
  scene('admin-sessions', 'sessions', 'train-resnet-50', { sessions: variedSessions() }),
  scene(
    'admin-message',
    'sessions',
    async page => {
      await page.getByText('train-resnet-50').first().waitFor()
      await page.getByRole('checkbox', { name: 'Select all' }).click()
      await page.getByText('selected', { exact: false }).first().waitFor()
      await page.getByRole('button', { name: 'Message', exact: true }).first().click()
      await page.getByRole('dialog').getByText('among their notifications').waitFor()
    },
    { sessions: variedSessions() },
  ),
  scene('admin-queue', 'queue?group=default', 'waited longest', {
    sessions: [1, 2, 3].map(index =>
      waiting(index, index, 'capacity', 'It needs 2 GPU; 0 is free now. It starts when other sessions end.'),
    ),
  }),
  scene('admin-queue-held', 'queue', 'Capacity on', {
    sessions: [1, 2].map(index => waiting(index, index, 'capacity', 'It needs 2 GPU; 0 is free now.')),
    admin: { ...ADMIN_WORLD.admin, reservations: [RESERVATION] },
  }),
  scene(
    'admin-fair-share',
    'queue?group=default',
    async page => {
      await page.getByText('who has the smallest share').waitFor()
      await page.getByText('How shares are counted').click()
    },
    {
      sessions: [1, 2].map(index => waiting(index, index, 'capacity', 'It needs 2 GPU; 0 is free now.')),
      resourceGroups: (ADMIN_WORLD.resourceGroups ?? []).map(group => ({ ...group, sequencer: 'drf' })),
      admin: { ...ADMIN_WORLD.admin, shares: SHARES },
    },
  ),
  scene('admin-pause-group', 'queue?group=default', opens('Pause this group', 'where sessions are launched')),
  scene(
    'admin-force-end',
    'sessions',
    async page => {
      await button(page, 'Force the end of ending-now').click()
      await page.getByRole('dialog').getByText('has not confirmed it').waitFor()
    },
    { sessions: variedSessions() },
  ),
  scene('admin-usage', 'usage', 'held, and without work'),
  scene('admin-month', 'usage/month', 'By agent'),
  scene('admin-remind', 'usage', async page => {
    await button(page, 'Remind researcher-2@lab.example.org').click()
    await page.getByRole('dialog').getByText('among their notifications').waitFor()
  }),
  scene('admin-agents', 'agents', 'gpu-host-3.cluster'),
  scene('admin-agent', `agents/${agentId(1)}`, 'Xid 79'),
  scene('admin-agent-move', `agents/${agentId(1)}`, opens('Move', 'Drain it first', { exact: true })),
  scene('admin-agent-update', `agents/${agentId(2)}`, 'Update now'),
  scene('admin-agent-leaves', `agents/${agentId(4)}`, 'Call it off'),
  scene('admin-agent-remove', `agents/${agentId(2)}`, opens('Remove host', 'Folders of users')),
  scene('admin-join', 'agents', opens('Add a host', 'Waiting for the host')),
  scene(
    'admin-join-here',
    'agents',
    async (page, double) => {
      await opens('Add a host', 'works only there')(page, double)
      await page.getByText('Berth is installed there already').click()
    },
    { admin: { ...ADMIN_WORLD.admin, joinUrl: 'http://127.0.0.1:41777' } },
  ),
  scene('admin-users', 'users', 'researcher-5@lab'),
  scene('admin-user', `users/${aUser(3).id}`, '2 sign-ins'),
  scene('admin-user-create', 'users', async page => {
    await button(page, 'Create a user').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
    await page.getByText('Enter an e-mail address').waitFor()
  }),
  scene('admin-users-import', 'users', async page => {
    await button(page, 'Import').click()
    await page.locator('[data-import=users]').setInputFiles({
      name: 'vision-group.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('email,name\nada@lab.example.org,Ada\nnobody,Nobody\nresearcher-5@lab.example.org,Five\n'),
    })
    await page.getByText('vision-group.csv').waitFor()
  }),
  scene('admin-invitations', 'invitations', 'Ada from the vision group'),
  scene('admin-signup-accept', 'invitations', opens('Accept noor.haddad@example.org', 'a link')),
  scene('admin-signup-decline', 'invitations', opens('Decline jonas.lind@example.org', 'Mailed to the person')),
  scene('admin-groups', 'resource-groups', 'gpu-large'),
  scene('admin-group-edit', 'resource-groups', async (page, double) => {
    await opens('Edit gpu-large', 'The session that has waited longest is next.')(page, double)
    await page.getByLabel('Waiting sessions may interrupt others').check()
    await page.getByText('As usual, 30 minutes').scrollIntoViewIfNeeded()
  }),
  scene('admin-access', 'resource-groups', opens('Who may use gpu-large', 'User researcher-1')),
  scene('admin-access-all', 'resource-groups/access?open=default', 'Through its domain'),
  scene('admin-policies', 'policies', 'students'),
  scene('admin-policy-edit', 'policies', opens('Edit students', 'Idle timeout')),
  scene('admin-presets', 'presets', 'Two GPUs'),
  scene('admin-domains', 'domains', 'chemistry'),
  scene('admin-projects', 'projects', 'speech', { role: 'domain_admin' }),
  scene('admin-limit-use', 'projects', opens('Use of the limits of vision', 'All together')),
  scene('admin-images', 'images', 'berth/pytorch', withTask(TASK)),
  scene('admin-image-minimum', 'images', opens('Set the minimum of berth/python:3.13', 'Its labels say:')),
  scene('admin-image-requests', 'images', opens('Decline users/ada/torch:2', 'as a message'), {
    admin: { ...ADMIN_WORLD.admin, imageRequests: [IMAGE_REQUEST] },
  }),
  scene(
    'admin-image-push',
    'images',
    opens('Make users/ada/torch:2', 'The user that Berth has for the registry pushes'),
    {
      admin: { ...ADMIN_WORLD.admin, imageRequests: [IMAGE_REQUEST] },
    },
  ),
  scene('admin-image-aliases', 'images', opens('Edit the aliases of berth/python:3.13', 'Separated by commas')),
  scene('admin-image-details', 'images', opens('Details of berth/python:3.13', 'All domains may use it')),
  scene('admin-image-build', 'images', opens('Build an image', 'The steps run as root')),
  scene(
    'admin-image-log',
    'images',
    'Step 2/3',
    withTask({
      ...TASK,
      kind: 'build',
      pull: null,
      log: 'Step 1/3 : FROM berth/python:3.13\n ---> 4f1c\nStep 2/3 : RUN pip install torch\n',
    }),
  ),
  scene('admin-clean-up', 'images', opens('Clean up', 'Frees at least')),
  scene('admin-sign-in-providers', 'sign-in-providers', 'Example Lab'),
  scene('admin-sign-in-provider', 'sign-in-providers', async page => {
    await page.getByText('Example Lab').first().waitFor()
    await button(page, 'Edit Example Lab').click()
    await page.getByText('Applied at each sign-in').waitFor()
  }),
  scene('admin-directory', 'sign-in-providers', async page => {
    await page.getByText('Campus').first().waitFor()
    await button(page, 'Edit Campus').click()
    await page.getByText('Name each group by its').waitFor()
  }),
  scene('admin-directory-look-up', 'sign-in-providers', opens('Look up a person in Campus', 'Nobody is signed in')),
  scene('admin-scim-tokens', 'scim-tokens', 'Entra ID'),
  scene('admin-scim-token', 'scim-tokens', opens('Make a SCIM token', 'while you administer')),
  scene('admin-scim-token-end', 'scim-tokens', opens('End Okta', 'The provider changes nothing')),
  scene('admin-webhooks', 'webhooks', 'ops-room'),
  scene('admin-webhook', 'webhooks', opens('Add a webhook', 'Stored encrypted')),
  scene('admin-webhook-deliveries', 'webhooks', opens('Deliveries of ops-room', 'Given up')),
  scene('admin-registries', 'registries', 'docker.io', withTask(RESCAN)),
  scene('admin-registry-add', 'registries', opens('Add a registry', 'The host as image names have it')),
  scene('admin-settings', 'settings', 'changed by admin@localhost'),
  scene('admin-settings-announcement', 'settings', async page => {
    await button(page, 'Edit Announcement').click()
    await page
      .getByLabel('Text', { exact: true })
      .fill('Down for **maintenance** on Saturday.\n\n- Sessions end at 07:45.')
    await page.getByText('Preview').waitFor()
  }),
  scene('admin-settings-mail', 'settings', async page => {
    await button(page, 'Edit Mail').click()
    await page.getByRole('dialog').getByLabel('Mail server').waitFor()
  }),
  scene('admin-audit', 'audit', 'Terminate a session', { role: 'domain_admin' }),
  scene(
    'admin-maintenance',
    'maintenance',
    async page => {
      await button(page, 'Compare now').click()
      await page.getByText('Everything agrees: 9 containers').waitFor()
      await page.getByText('berth-20261121-180000.backup', { exact: true }).waitFor()
    },
    {
      admin: { ...ADMIN_WORLD.admin, backups: BACKUPS, settings: { backupAt: '03:00', backupTimeZone: 'Asia/Seoul' } },
    },
  ),
  scene(
    'admin-about',
    'about',
    async page => {
      await page.getByText('Not renewed', { exact: true }).waitFor()
      await button(page, 'Show the packages').click()
      await page.getByRole('searchbox', { name: 'Search by name or licence' }).fill('vue-router')
      await page.getByText('1 package').waitFor()
      await page.getByText('vue-router', { exact: true }).click()
      await page.getByText('Eduardo San Martin Morote').first().waitFor()
    },
    { admin: { ...ADMIN_WORLD.admin, certificates: [CERTIFICATE] } },
  ),
  scene(
    'admin-diagnostics',
    'diagnostics',
    async page => {
      await button(page, 'Check everything').click()
      await page.getByText('Worth a look').first().waitFor()
      await page.getByText('Being checked').first().waitFor({ state: 'detached' })
      await page.getByText('Manager http://10.20.0.2:8090', { exact: true }).waitFor()
    },
    { admin: { ...ADMIN_WORLD.admin, managers: TWO_MANAGERS } },
  ),
  scene('admin-credentials', 'credentials', 'AKIAABCDEFGHIJKLMNO1', {
    keypairs: [...[0, 1, 2].map(aKeypair), WAITING],
  }),
  scene('admin-credential', 'credentials', opens('Create a keypair', 'Requests in 15 minutes'), {
    keypairs: [aKeypair(0)],
  }),
  {
    name: 'admin-refused',
    alike: true,
    path: '/admin/agents',
    world: { role: 'domain_admin' },
    act: page => page.getByText('This page is for administrators').waitFor(),
  },
]
