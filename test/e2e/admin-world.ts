import {
  DirectorySettings,
  UNLIMITED_PROJECT,
  type AccessMatrix,
  type AgentCleanUp,
  type AuditEntry,
  type Domain,
  type Group,
  type IdleOwner,
  type Invitation,
  type SignUpRequest,
  type Manager,
  type Registry,
  type ResourceGroupAccess,
  type ResourcePolicy,
  type ScimToken,
  type SignInProvider,
  type User,
  type Webhook,
  type WebhookDelivery,
} from '#manager/contract'
import { agentId, AGENTS, GIB } from './admin-world-agents.ts'
import { aKeypair, OTHER_LOGIN } from './console-double-account.ts'
import { type World } from './console-double-world.ts'
import { ago, aSession, IMAGES, LIMITED } from './console-world.ts'

export const aUser = (index: number, change: Partial<User> = {}): User => ({
  id: `01990000-0000-7000-8000-00000000ad${String(index).padStart(2, '0')}` as User['id'],
  email: `researcher-${index}@lab.example.org`,
  name: ['Mira Holm', 'Jonas Lindqvist', 'Aiko Tanaka', 'Sofia Marques'][index % 4] ?? '',
  description: '',
  mustChangePassword: false,
  passwordFrom: 'person',
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
const INVITATIONS: Invitation[] = (['open', 'used', 'expired', 'ended'] as const).map((status, index) => ({
  id: `01990000-0000-7000-8000-0000000000d${index}`,
  domain: 'default',
  note: ['Ada from the vision group', '', 'A guest'][index] ?? '',
  createdAt: ago(3_000),
  expiresAt: ago(-3_000),
  createdBy: 'lead@example.org',
  status,
  usedBy: null,
}))
const SIGN_UP_REQUESTS: SignUpRequest[] = ['Noor Haddad', 'Jonas Lind'].map((name, index) => ({
  id: `01990000-0000-7000-8000-0000000000e${index}`,
  email: `${name.toLowerCase().replace(' ', '.')}@example.org`,
  name,
  note: ['I write my thesis on speech recognition with Dr Holm, and need one GPU until March.', ''][index] ?? '',
  domain: 'default',
  confirmed: index === 0,
  createdAt: ago(600 * (2 - index)),
  expiresAt: ago(-40_000),
}))
const at = { createdAt: ago(50_000), version: 1 }
const DOMAINS: Domain[] = [
  {
    name: 'default',
    description: '',
    limits: {},
    gpuLimits: [],
    active: true,
    allowedRegistries: null,
    allowedNames: null,
    defaultNames: null,
    ...at,
  },
  {
    name: 'chemistry',
    description: 'Department of chemistry',
    limits: { cpu: '256', mem: String(2048 * GIB), 'cuda.device': '16' },
    gpuLimits: [{ model: 'H100', gpus: '8' }],
    active: false,
    allowedRegistries: ['cr.example.org'],
    allowedNames: null,
    defaultNames: null,
    ...at,
  },
]
const GROUPS: Group[] = ['default', 'vision', 'speech'].map((name, index) => ({
  id: `01990000-0000-7000-8000-0000000000b${index}` as Group['id'],
  domain: 'default',
  name,
  description: index === 1 ? 'Object detection and tracking' : '',
  limits: index === 1 ? { cpu: '24', 'cuda.device': '6' } : {},
  gpuLimits: index === 1 ? [{ model: 'A100', gpus: '4' }] : [],
  ...UNLIMITED_PROJECT,
  ...(index === 1 ? { maxFolderBytes: 1.5 * 2 ** 30, maxFolderFiles: 250_000 } : {}),
  active: index !== 2,
  members: 3 + index * 14,
  ...at,
}))
const POLICIES: ResourcePolicy[] = ['default', 'students'].map((name, index) => ({
  name,
  limits: index === 0 ? {} : { cpu: '16', mem: String(128 * GIB), 'cuda.device': '4' },
  gpuLimits: index === 0 ? [] : [{ model: 'H100', gpus: '2' }],
  maxConcurrentSessions: index === 0 ? null : 8,
  maxContainersPerSession: null,
  idleTimeoutSeconds: index === 0 ? null : 7_200,
  maxLifetimeSeconds: null,
  allowedStorageHosts: null,
  allowedNames: null,
  defaultNames: null,
  maxFolderBytes: null,
  maxFolderFiles: null,
  maxFolders: index === 0 ? null : 20,
  users: index * 41,
  keypairs: index * 7,
  ...at,
}))
const ACCESS: ResourceGroupAccess[] = [
  { kind: 'domain', id: 'default', name: 'default' },
  { kind: 'user', id: '01990000-0000-7000-8000-00000000ad01', name: 'researcher-1@lab.example.org' },
]
const GRANTS: AccessMatrix['grants'] = [
  ...['chemistry', 'default'].map(name => ({ resourceGroup: 'default', kind: 'domain' as const, id: name, name })),
  { resourceGroup: 'gpu-large', kind: 'group', id: GROUPS[1]?.id ?? '', name: 'default/vision' },
  {
    resourceGroup: 'gpu-large',
    kind: 'user',
    id: '01990000-0000-7000-8000-00000000ad01',
    name: 'researcher-1@lab.example.org',
  },
]
function idleOwner(
  index: number,
  sessions: readonly { readonly name: string; readonly gpus: number; readonly hours: number }[],
): IdleOwner {
  const user = USERS[index]
  if (!user) throw new Error('no such user')
  const idle = sessions.map(({ name, gpus, hours }, at) => ({
    id: aSession(40 + 10 * index + at).id,
    name,
    image: 'berth/pytorch:2.6',
    clusterSize: 1,
    gpus,
    since: ago(hours * 60),
    gpuHours: gpus * hours,
  }))
  const sum = (of: 'gpus' | 'gpuHours') => idle.reduce((total, session) => total + session[of], 0)
  return { ownerId: user.id, ownerEmail: user.email, gpus: sum('gpus'), gpuHours: sum('gpuHours'), sessions: idle }
}
const [FIRST] = AGENTS
const SIGN_IN_PROVIDER: SignInProvider = {
  id: 'lab',
  name: 'Example Lab',
  kind: 'oidc',
  directory: null,
  active: true,
  issuer: 'https://id.example.org/realms/lab',
  clientId: 'berth',
  clientSecretSet: true,
  scopes: ['email', 'profile'],
  emailClaim: 'email',
  trustEmail: false,
  emailDomains: ['example.org'],
  createAccounts: true,
  domain: 'default',
  linkByEmail: true,
  trustSecondFactor: false,
  groupsClaim: 'groups',
  mapping: [
    { group: 'staff', projects: ['vision', 'speech'], role: 'domain_admin' },
    { group: 'students', projects: ['vision'], role: null },
  ],
  createdAt: ago(20_000),
  accounts: 41,
}
const DIRECTORY: SignInProvider = {
  ...SIGN_IN_PROVIDER,
  id: 'campus',
  name: 'Campus',
  kind: 'ldap',
  issuer: 'ldap:campus:0123456789abcdef',
  clientId: '',
  groupsClaim: 'memberOf',
  linkByEmail: false,
  trustEmail: true,
  mapping: [{ group: 'cn=staff,ou=groups,dc=example,dc=org', projects: ['vision'], role: null }],
  directory: DirectorySettings.parse({
    urls: ['ldaps://dc1.example.org', 'ldaps://dc2.example.org'],
    base: 'dc=example,dc=org',
    bindDn: 'cn=berth,ou=services,dc=example,dc=org',
    groups: 'memberOf',
  }),
  accounts: 12,
}
export const WEBHOOK: Webhook = {
  id: '0199f000-0000-7000-8000-00000000e001',
  name: 'ops-room',
  address: 'https://chat.example.org',
  projectId: null,
  project: null,
  domain: null,
  owner: 'admin@localhost',
  form: 'text',
  events: ['session.ended', 'host.lost', 'host.problem'],
  waitingMinutes: 30,
  active: true,
  off: null,
  failingSince: ago(90),
  oldSecretUntil: null,
  waiting: 2,
  createdAt: ago(20_000),
}
export const SCIM_TOKEN: ScimToken = {
  id: '0199f000-0000-7000-8000-00000000a001',
  name: 'Okta',
  domain: 'default',
  createdBy: 'admin@localhost',
  createdAt: ago(40_000),
  lastUsedAt: ago(3),
}
const SCIM_TOKENS: ScimToken[] = [
  SCIM_TOKEN,
  {
    ...SCIM_TOKEN,
    id: SCIM_TOKEN.id.replace('a001', 'a002'),
    name: 'Entra ID',
    domain: 'chemistry',
    createdBy: 'head-of-chemistry@lab.example.org',
    lastUsedAt: null,
  },
]
const WEBHOOKS: Webhook[] = [
  WEBHOOK,
  {
    ...WEBHOOK,
    id: WEBHOOK.id.replace('e001', 'e002'),
    name: 'ci',
    address: 'https://ci.example.org',
    projectId: GROUPS[0]?.id ?? null,
    project: GROUPS[0]?.name ?? null,
    domain: GROUPS[0]?.domain ?? null,
    form: 'json',
    active: false,
    off: 'owner',
    failingSince: null,
    waiting: 0,
  },
]
const DELIVERY: WebhookDelivery = {
  id: '0199f000-0000-7000-8000-00000000f001',
  messageId: 'msg_0199f000-0000-7000-8000-00000000f001',
  event: 'session.ended',
  status: 'waiting',
  attempts: 2,
  createdAt: ago(20),
  attemptedAt: ago(10),
  nextAt: ago(-20),
  fault: 'status',
  responseStatus: 503,
  durationMs: 212,
  answer: '<h1>Service unavailable</h1>',
}
export const FAILED_DELIVERY: WebhookDelivery = {
  ...DELIVERY,
  id: DELIVERY.id.replace('f001', 'f003'),
  messageId: DELIVERY.messageId.replace('f001', 'f003'),
  event: 'host.lost',
  status: 'failed',
  attempts: 8,
  nextAt: null,
  fault: 'timeout',
  responseStatus: null,
  answer: null,
}
const DELIVERIES: WebhookDelivery[] = [
  DELIVERY,
  {
    ...DELIVERY,
    id: DELIVERY.id.replace('f001', 'f002'),
    event: 'session.started',
    status: 'delivered',
    attempts: 1,
    nextAt: null,
    fault: null,
    responseStatus: 200,
    durationMs: 84,
    answer: 'ok',
  },
  FAILED_DELIVERY,
]
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
const BY_ADMIN = { actor: 'admin@localhost', targetName: null, target: null, result: 'ok', detail: {} }
const AUDIT: AuditEntry[] = [
  { ...BY_ADMIN, action: 'updateSettings', detail: { fields: ['smtpHost', 'smtpFrom'] } },
  {
    ...BY_ADMIN,
    action: 'deleteSession',
    target: 'session:01990000-0000-7000-8000-000000000007',
    targetName: 'train-resnet-50',
  },
  { ...BY_ADMIN, action: 'createUser', result: 'user_exists', detail: { fields: ['email', 'name'] } },
  {
    ...BY_ADMIN,
    actor: null,
    action: 'login',
    target: `user:${aUser(2).id}`,
    targetName: aUser(2).email,
    result: 'login_failed',
  },
  { ...BY_ADMIN, actor: null, action: 'startSso' },
].map((entry, index) => ({
  id: 900 - index,
  at: ago(20 + index * 300),
  actorId: null,
  token: index === 1 ? 'nightly tests' : null,
  tokenId: index === 1 ? '01990000-0000-7000-8000-0000000000c1' : null,
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
  keypairs: [aKeypair(1)],
  presets: LIMITED.presets ?? [],
  resourceGroups: (LIMITED.resourceGroups ?? []).map(group => ({
    ...group,
    agents: AGENTS.filter(one => one.resourceGroup === group.name && one.status !== 'REVOKED').length,
  })),
  images: IMAGES.map(image => ({ ...image, agentIds: [agentId(1)], firstAgents: [FIRST?.name ?? ''] })),
  admin: {
    agents: AGENTS,
    users: USERS,
    identities: [
      {
        issuer: 'https://login.example.org',
        subject: '7f3a9c21',
        email: 'mira@example.org',
        createdAt: '2026-10-01T08:00:00.000Z',
        lastUsedAt: '2026-11-20T07:30:00.000Z',
      },
    ],
    logins: [OTHER_LOGIN, { ...OTHER_LOGIN, id: OTHER_LOGIN.id.replace('a002', 'a003') }],
    invitations: INVITATIONS,
    signUpRequests: SIGN_UP_REQUESTS,
    domains: DOMAINS,
    groups: GROUPS,
    policies: POLICIES,
    access: ACCESS,
    grants: GRANTS,
    registries: REGISTRIES,
    signInProviders: [SIGN_IN_PROVIDER, DIRECTORY],
    scimTokens: SCIM_TOKENS,
    webhooks: WEBHOOKS,
    deliveries: DELIVERIES,
    audit: AUDIT,
    managers: MANAGERS,
    cleanUp: CLEAN_UP,
    idle: [
      idleOwner(2, [
        { name: 'left-open', gpus: 4, hours: 38 },
        { name: 'notebook', gpus: 1, hours: 3.5 },
      ]),
      idleOwner(5, [{ name: 'llama-eval', gpus: 2, hours: 1.2 }]),
    ],
    report: USERS.slice(1, 9).map((user, index) => ({
      key: user.id,
      name: user.email,
      sessions: 40 - 4 * index,
      cpuHours: 2_310.4 / (index + 1),
      memGibHours: 18_200 / (index + 1),
      gpuHours: 512.5 / (index + 1),
      cpuIdle: index % 4 === 3 ? null : 0.2 + index / 12,
      gpuIdle: index % 4 === 3 ? null : 0.1 + index / 10,
      memIdle: index % 4 === 3 ? null : 0.4 + index / 20,
      gpuWastedHours: index % 4 === 3 ? null : (512.5 / (index + 1)) * (0.1 + index / 10),
    })),
  },
}
