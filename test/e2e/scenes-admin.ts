import {
  type Agent,
  type AgentCleanUp,
  type AgentDevice,
  type AuditEntry,
  type Domain,
  type Group,
  type Invitation,
  type Manager,
  type Registry,
  type ResourceGroupAccess,
  type ResourcePolicy,
  type Task,
  type User,
} from '#manager/contract'
import { aKeypair, OTHER_LOGIN } from './console-double-account.ts'
import { type World } from './console-double.ts'
import { ago, aSession, type HISTORY, IMAGES, LIMITED, statsOf, variedSessions } from './console-world.ts'
import { button, type Scene } from './scene.ts'

const GIB = 2 ** 30
const agentId = (index: number) => `01990000-0000-7000-8000-0000000ae${String(index).padStart(3, '0')}` as Agent['id']

const device = (index: number, change: Partial<AgentDevice> = {}): AgentDevice => ({
  uuid: `GPU-5b1e2f0c-77aa-4c1d-9f3e-00000000000${index}`,
  model: 'NVIDIA H100 80GB HBM3',
  slot: 'cuda.device',
  memBytes: 80 * GIB,
  mode: 'whole',
  isolation: 'whole',
  isolationReason: null,
  problem: null,
  plugin: 'nvidia',
  occupied: '0',
  utilization: 0,
  memUsedBytes: 0,
  ...change,
})

export function anAgent(index: number, change: Partial<Agent> = {}): Agent {
  return {
    id: agentId(index),
    name: `gpu-host-${index}.cluster.example.org`,
    resourceGroup: 'default',
    status: 'CONNECTED',
    schedulable: true,
    capacity: { cpu: '64', mem: String(512 * GIB), 'cuda.device': '4' },
    occupied: { cpu: '27.5', mem: String(201 * GIB), 'cuda.device': '3' },
    devices: [],
    networkIsolation: 'full',
    networkIsolationReason: null,
    version: '0.1.0',
    engineVersion: '28.4.0',
    lastSeenAt: ago(0),
    managers: [],
    problem: null,
    ...change,
  }
}

const AGENTS: Agent[] = [
  anAgent(1, {
    devices: [
      device(0, { occupied: '1', utilization: 93, memUsedBytes: 61 * GIB }),
      device(1, {
        slot: 'cuda.shares',
        mode: 'shared',
        isolation: 'enforced',
        occupied: '0.3',
        utilization: 21,
        memUsedBytes: 9 * GIB,
      }),
      device(2),
      device(3, {
        problem: 'The driver does not answer for this GPU (Xid 79).',
        utilization: null,
        memUsedBytes: null,
      }),
    ],
  }),
  anAgent(2, { schedulable: false, occupied: { cpu: '2', mem: String(8 * GIB) } }),
  anAgent(3, { status: 'LOST', lastSeenAt: ago(90), problem: null }),
  anAgent(4, {
    resourceGroup: 'cpu-only',
    capacity: { cpu: '16', mem: String(64 * GIB) },
    occupied: {},
    networkIsolation: 'partial',
    networkIsolationReason: 'The firewall of this host has no table for Berth.',
  }),
]
export const aUser = (index: number, change: Partial<User> = {}): User => ({
  id: `01990000-0000-7000-8000-00000000ad${String(index).padStart(2, '0')}` as User['id'],
  email: `researcher-${index}@lab.example.org`,
  name: ['Mira Holm', 'Jonas Lindqvist', 'Aiko Tanaka', 'Sofia Marques'][index % 4] ?? '',
  role: 'user',
  domain: 'default',
  groups: [{ id: '01990000-0000-7000-8000-0000000000b1' as never, name: 'vision' }],
  active: true,
  emailVerified: true,
  secondFactor: index % 3 === 0,
  resourcePolicy: 'students',
  createdAt: ago(index * 2_000),
  ...change,
})
const USERS: User[] = [
  aUser(0, { role: 'superadmin', email: 'admin@localhost', name: 'Administrator' }),
  aUser(1, { role: 'domain_admin' }),
  aUser(2, { emailVerified: false }),
  aUser(3, { active: false }),
  ...Array.from({ length: 40 }, (_, index) => aUser(index + 4)),
]
const INVITATIONS: Invitation[] = (['open', 'used', 'expired'] as const).map((status, index) => ({
  id: `01990000-0000-7000-8000-0000000000d${index}`,
  domain: 'default',
  note: ['Ada from the vision group', '', 'A guest'][index] ?? '',
  createdAt: ago(3_000),
  expiresAt: ago(-3_000),
  status,
  usedBy: null,
}))
const at = { createdAt: ago(50_000), version: 1 }
const DOMAINS: Domain[] = [
  { name: 'default', description: '', limits: {}, active: true, allowedRegistries: null, ...at },
  {
    name: 'chemistry',
    description: 'Department of chemistry',
    limits: { cpu: '256', mem: String(2048 * GIB), 'cuda.device': '16' },
    active: false,
    allowedRegistries: ['cr.example.org'],
    ...at,
  },
]
const GROUPS: Group[] = ['default', 'vision', 'speech'].map((name, index) => ({
  id: `01990000-0000-7000-8000-0000000000b${index}` as Group['id'],
  domain: 'default',
  name,
  description: index === 1 ? 'Object detection and tracking' : '',
  limits: index === 1 ? { cpu: '24', 'cuda.device': '6' } : {},
  active: index !== 2,
  members: 3 + index * 14,
  ...at,
}))
const POLICIES: ResourcePolicy[] = ['default', 'students'].map((name, index) => ({
  name,
  limits: index === 0 ? {} : { cpu: '16', mem: String(128 * GIB), 'cuda.device': '4' },
  maxConcurrentSessions: index === 0 ? null : 8,
  maxContainersPerSession: null,
  idleTimeoutSeconds: index === 0 ? null : 7_200,
  maxLifetimeSeconds: null,
  allowedStorageHosts: null,
  maxFolders: index === 0 ? null : 20,
  users: index * 41,
  keypairs: index * 7,
  ...at,
}))
const ACCESS: ResourceGroupAccess[] = [
  { kind: 'domain', id: 'default', name: 'default' },
  { kind: 'user', id: '01990000-0000-7000-8000-00000000ad01', name: 'researcher-1@lab.example.org' },
]
const [FIRST] = AGENTS
const REGISTRIES: Registry[] = ['cr.example.org', 'docker.io'].map((name, index) => ({
  name,
  url: index === 0 ? 'https://cr.example.org' : 'https://registry-1.docker.io',
  projects: index === 0 ? [] : ['library'],
  username: index === 0 ? 'berth' : null,
  hasPassword: index === 0,
  active: index === 0,
  images: index === 0 ? 48 : 0,
  scannedAt: index === 0 ? ago(300) : null,
  ...at,
}))
const TASK: Task = {
  id: '01990000-0000-7000-8000-0000000000f1',
  kind: 'pull',
  target: 'cr.example.org/vision/pytorch:2.9',
  status: 'running',
  error: null,
  rescan: null,
  copy: null,
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
const AUDIT: AuditEntry[] = [
  { action: 'updateSettings', target: null, result: 'ok', detail: { fields: ['smtpHost', 'smtpFrom'] } },
  { action: 'deleteSession', target: 'session:01990000-0000-7000-8000-000000000007', result: 'ok', detail: {} },
  { action: 'createUser', target: null, result: 'user_exists', detail: { fields: ['email', 'name'] } },
].map((entry, index) => ({
  id: 900 - index,
  at: ago(20 + index * 300),
  actorId: null,
  actor: 'admin@localhost',
  actedAs: index === 1 ? 'researcher-1@lab.example.org' : null,
  domain: 'default',
  address: '192.0.2.17',
  ...entry,
}))
const MANAGERS: Manager[] = [
  {
    id: '01990000-0000-7000-8000-0000000000f3',
    url: 'http://10.20.0.1:8090',
    version: '0.1.0',
    startedAt: ago(9_000),
    seenAt: ago(0),
    clockAheadMs: 2,
    schedules: ['default', 'cpu-only'],
    agents: 3,
    agentsVia: 0,
    agentsMissing: 0,
    self: true,
  },
]
const CLEAN_UP: AgentCleanUp[] = AGENTS.slice(0, 2).map((agent, index) => ({
  agentId: agent.id,
  agentName: agent.name,
  images:
    index === 0
      ? [{ digest: 'sha256:1', references: ['cr.example.org/old:1'], sizeBytes: 9 * GIB, uniqueBytes: 7 * GIB }]
      : [],
  kept: [],
  freedBytes: index === 0 ? 7 * GIB : 0,
  error: null,
}))

/** Resource use of sessions in each hour of a day; the last hour is not over. */
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
      cpuIdle: null,
    }
  })
}

/** A cluster as its superadmin sees it. */
export const ADMIN_WORLD: Partial<World> = {
  role: 'superadmin',
  sessions: [
    aSession(7, {
      name: 'train-resnet-50',
      kernels: [
        {
          id: '01990000-0000-7000-8000-00000000000b' as never,
          role: 'main1',
          status: 'RUNNING',
          agentId: agentId(1),
          agentName: 'gpu-host-1.cluster.example.org',
          containerId: null,
          exitCode: null,
          devices: [
            { uuid: FIRST?.devices[0]?.uuid ?? '', slot: 'cuda.device', amount: '1' },
            { uuid: FIRST?.devices[1]?.uuid ?? '', slot: 'cuda.shares', amount: '0.3' },
          ],
        },
      ],
    }),
  ],
  presets: LIMITED.presets ?? [],
  resourceGroups: LIMITED.resourceGroups ?? [],
  images: IMAGES.map(image => ({ ...image, agentIds: [agentId(1)] })),
  admin: {
    agents: AGENTS,
    users: USERS,
    logins: [OTHER_LOGIN, { ...OTHER_LOGIN, id: OTHER_LOGIN.id.replace('a002', 'a003') }],
    invitations: INVITATIONS,
    domains: DOMAINS,
    groups: GROUPS,
    policies: POLICIES,
    access: ACCESS,
    registries: REGISTRIES,
    audit: AUDIT,
    managers: MANAGERS,
    cleanUp: CLEAN_UP,
    report: USERS.slice(1, 9).map((user, index) => ({
      key: user.id,
      name: user.email,
      sessions: 40 - 4 * index,
      cpuHours: 2_310.4 / (index + 1),
      memGibHours: 18_200 / (index + 1),
      gpuHours: 512.5 / (index + 1),
      cpuIdle: index % 4 === 3 ? null : 0.2 + index / 12,
    })),
  },
}

/** The pages of administration. */
export const ADMIN_SCENES: readonly Scene[] = [
  {
    name: 'admin-overview',
    path: '/admin/overview',
    world: {
      ...ADMIN_WORLD,
      history: aDay(),
      sessions: [
        ...variedSessions(),
        aSession(91, {
          status: 'PENDING',
          queuePosition: 4,
          reason: { code: 'capacity', message: 'It needs 2 GPU; 0 is free now.' },
        }),
        aSession(92, {
          status: 'PENDING',
          queuePosition: 5,
          reason: { code: 'user_policy', message: 'It needs 8 CPU; 4 are left.' },
        }),
      ],
    },
    async act(page) {
      await page.locator('.chart-plot canvas').first().waitFor()
      await page.getByText('A second superadmin').waitFor()
    },
  },
  {
    name: 'admin-sessions',
    path: '/admin/sessions',
    world: { ...ADMIN_WORLD, sessions: variedSessions() },
    act: page => page.getByText('train-resnet-50').first().waitFor(),
  },
  {
    name: 'admin-queue',
    path: '/admin/queue?group=default',
    world: {
      ...ADMIN_WORLD,
      resourceGroups: LIMITED.resourceGroups ?? [],
      sessions: [1, 2, 3].map(index =>
        aSession(index, {
          status: 'PENDING',
          queuePosition: index,
          reason: { code: 'capacity', message: 'It needs 2 GPU; 0 is free now. It starts when other sessions end.' },
        }),
      ),
    },
    act: page => page.getByText('waited longest').waitFor(),
  },
  {
    name: 'admin-usage',
    path: '/admin/usage',
    world: {
      ...ADMIN_WORLD,
      sessions: [
        aSession(3, { name: 'left-open', requested: { 'cuda.device': '2' }, stats: statsOf(20, GIB, [0, 1]) }),
      ],
    },
    act: page => page.getByText('holds GPUs that do nothing now').waitFor(),
  },
  {
    name: 'admin-agents',
    path: '/admin/agents',
    world: ADMIN_WORLD,
    act: page => page.getByText('gpu-host-3.cluster').first().waitFor(),
  },
  {
    name: 'admin-agent',
    path: `/admin/agents/${agentId(1)}`,
    world: ADMIN_WORLD,
    act: page => page.getByText('Xid 79').first().waitFor(),
  },
  {
    name: 'admin-join',
    path: '/admin/agents',
    world: ADMIN_WORLD,
    async act(page) {
      await button(page, 'Join an agent').click()
      await page.getByText('Waiting for the agent').waitFor()
    },
  },
  {
    name: 'admin-users',
    path: '/admin/users',
    world: ADMIN_WORLD,
    act: page => page.getByText('researcher-5@lab').first().waitFor(),
  },
  {
    name: 'admin-user',
    path: `/admin/users/${aUser(3).id}`,
    world: ADMIN_WORLD,
    act: page => page.getByText('2 sign-ins').waitFor(),
  },
  {
    name: 'admin-user-create',
    path: '/admin/users',
    world: ADMIN_WORLD,
    async act(page) {
      await button(page, 'Create a user').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click()
      await page.getByText('Enter an e-mail address').waitFor()
    },
  },
  {
    name: 'admin-invitations',
    path: '/admin/invitations',
    world: ADMIN_WORLD,
    act: page => page.getByText('Ada from the vision group').waitFor(),
  },
  {
    name: 'admin-groups',
    path: '/admin/resource-groups',
    world: ADMIN_WORLD,
    act: page => page.getByText('gpu-large').waitFor(),
  },
  {
    name: 'admin-group-edit',
    path: '/admin/resource-groups',
    world: ADMIN_WORLD,
    async act(page) {
      await button(page, 'Edit gpu-large').click()
      await page.getByText('The session that has waited longest is next.').waitFor()
    },
  },
  {
    name: 'admin-access',
    path: '/admin/resource-groups',
    world: ADMIN_WORLD,
    async act(page) {
      await button(page, 'Who may use gpu-large').click()
      await page.getByText('User researcher-1').waitFor()
    },
  },
  {
    name: 'admin-policies',
    path: '/admin/policies',
    world: ADMIN_WORLD,
    act: page => page.getByText('students').first().waitFor(),
  },
  {
    name: 'admin-policy-edit',
    path: '/admin/policies',
    world: ADMIN_WORLD,
    async act(page) {
      await button(page, 'Edit students').click()
      await page.getByRole('dialog').getByText('Idle timeout').waitFor()
    },
  },
  {
    name: 'admin-presets',
    path: '/admin/presets',
    world: ADMIN_WORLD,
    act: page => page.getByText('Two GPUs').waitFor(),
  },
  {
    name: 'admin-domains',
    path: '/admin/domains',
    world: ADMIN_WORLD,
    act: page => page.getByText('chemistry').first().waitFor(),
  },
  {
    name: 'admin-projects',
    path: '/admin/projects',
    world: { ...ADMIN_WORLD, role: 'domain_admin' },
    act: page => page.getByText('speech').first().waitFor(),
  },
  {
    name: 'admin-images',
    path: '/admin/images',
    world: { ...ADMIN_WORLD, admin: { ...ADMIN_WORLD.admin, tasks: [TASK] } },
    act: page => page.getByText('berth/pytorch').first().waitFor(),
  },
  {
    name: 'admin-image-minimum',
    path: '/admin/images',
    world: ADMIN_WORLD,
    async act(page) {
      await button(page, 'Set the minimum of berth/python:3.13').click()
      await page.getByText('Its labels say:').waitFor()
    },
  },
  {
    name: 'admin-clean-up',
    path: '/admin/images',
    world: ADMIN_WORLD,
    async act(page) {
      await button(page, 'Clean up').click()
      await page.getByText('Frees at least').waitFor()
    },
  },
  {
    name: 'admin-registries',
    path: '/admin/registries',
    world: { ...ADMIN_WORLD, admin: { ...ADMIN_WORLD.admin, tasks: [RESCAN] } },
    act: page => page.getByText('docker.io').first().waitFor(),
  },
  {
    name: 'admin-registry-add',
    path: '/admin/registries',
    world: ADMIN_WORLD,
    async act(page) {
      await button(page, 'Add a registry').click()
      await page.getByText('The host as image names have it').waitFor()
    },
  },
  {
    name: 'admin-settings',
    path: '/admin/settings',
    world: ADMIN_WORLD,
    act: page => page.getByText('changed by admin@localhost').first().waitFor(),
  },
  {
    name: 'admin-settings-mail',
    path: '/admin/settings',
    world: ADMIN_WORLD,
    async act(page) {
      await button(page, 'Edit Mail').click()
      await page.getByRole('dialog').getByLabel('Mail server').waitFor()
    },
  },
  {
    name: 'admin-audit',
    path: '/admin/audit',
    world: { ...ADMIN_WORLD, role: 'domain_admin' },
    act: page => page.getByText('deleteSession').first().waitFor(),
  },
  {
    name: 'admin-maintenance',
    path: '/admin/maintenance',
    world: ADMIN_WORLD,
    async act(page) {
      await button(page, 'Compare now').click()
      await page.getByText('Everything agrees: 9 containers').waitFor()
    },
  },
  {
    name: 'admin-credentials',
    path: '/admin/credentials',
    world: { ...ADMIN_WORLD, keypairs: [0, 1, 2].map(aKeypair) },
    act: page => page.getByText('AKIAABCDEFGHIJKLMNO1').first().waitFor(),
  },
  {
    name: 'admin-credential',
    path: '/admin/credentials',
    world: { ...ADMIN_WORLD, keypairs: [aKeypair(0)] },
    async act(page) {
      await button(page, 'Create a keypair').click()
      await page.getByRole('dialog').getByText('Requests in 15 minutes').waitFor()
    },
  },
  {
    name: 'admin-refused',
    path: '/admin/agents',
    world: { role: 'domain_admin' },
    act: page => page.getByText('This page is for administrators').waitFor(),
  },
]
