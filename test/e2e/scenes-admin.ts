import {
  type Agent,
  type AgentDevice,
  type Domain,
  type Group,
  type Invitation,
  type ResourceGroupAccess,
  type ResourcePolicy,
  type User,
} from '#manager/contract'
import { OTHER_LOGIN } from './console-double-account.ts'
import { type World } from './console-double.ts'
import { ago, aSession, HISTORY, IMAGES, LIMITED, variedSessions } from './console-world.ts'
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
/** What sessions held in the hours of a day; the last hour is not over. */
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
    name: 'admin-user-edit',
    path: '/admin/users',
    world: ADMIN_WORLD,
    async act(page) {
      await button(page, 'Edit researcher-1@lab.example.org').click()
      await page.getByRole('dialog').getByLabel('New password').waitFor()
    },
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
    name: 'admin-project-delete',
    path: '/admin/projects',
    world: ADMIN_WORLD,
    async act(page) {
      await button(page, 'Delete vision').click()
      await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
      await page.getByText('Type vision').waitFor()
    },
  },
  {
    name: 'admin-refused',
    path: '/admin/agents',
    world: { role: 'domain_admin' },
    act: page => page.getByText('This page is for administrators').waitFor(),
  },
]
