import {
  type AccessMatrix,
  type Agent,
  type AgentSummary,
  type AgentCleanUp,
  type AuditEntry,
  type Backups,
  type Because,
  because,
  type ConsoleCertificate,
  type Diagnosis,
  type Domain,
  type FairShare,
  type Group,
  type IdleOwner,
  type ImageRequest,
  type Invitation,
  type Keypair,
  type LimitUser,
  type Login,
  type Manager,
  type Overview,
  type Session,
  type ManagerWarning,
  type Recalculation,
  type Registry,
  type Reservation,
  type ResourceGroupAccess,
  type ResourcePolicy,
  type RouteReply,
  type SignInIdentity,
  type ScimToken,
  type SignInProvider,
  type SetUp,
  type SignUpRequest,
  SYSTEM_SETTINGS_DEFAULTS,
  type SystemSettings,
  type Task,
  USAGE_DIMENSIONS,
  type UsageReport,
  type User,
  type UserImportOutcome,
  type UserImportSpec,
  type Versions,
  type Webhook,
  type WebhookDelivery,
} from '#manager/contract'
import { hostLine } from '../../manager/agents/host-line.ts'
import { type World } from './console-double-world.ts'

/** Data that only administrators see. The double returns it unfiltered, unless a test checks a filter. */
export interface AdminWorld {
  agents?: Agent[]
  /** Address that join strings name; https://berth.example.org if left out. */
  joinUrl?: string
  users?: User[]
  logins?: Login[]
  identities?: SignInIdentity[]
  invitations?: Invitation[]
  signUpRequests?: SignUpRequest[]
  keypairs?: Keypair[]
  domains?: Domain[]
  groups?: Group[]
  policies?: ResourcePolicy[]
  access?: ResourceGroupAccess[]
  grants?: AccessMatrix['grants']
  imageRequests?: ImageRequest[]
  registries?: Registry[]
  signInProviders?: SignInProvider[]
  scimTokens?: ScimToken[]
  webhooks?: Webhook[]
  deliveries?: WebhookDelivery[]
  tasks?: Task[]
  cleanUp?: AgentCleanUp[]
  settings?: Partial<SystemSettings>
  audit?: AuditEntry[]
  managers?: Manager[]
  warnings?: readonly ManagerWarning[]
  recalculation?: Recalculation
  report?: UsageReport['items']
  idle?: readonly IdleOwner[]
  backups?: Backups
  certificates?: readonly ConsoleCertificate[]
  shares?: FairShare
  reservations?: readonly Reservation[]
}

const NO_BACKUPS: Backups = {
  directory: '/var/lib/berth/backups',
  manager: 'https://berth.example.org',
  freeBytes: 4.1e11,
  problem: null,
  items: [],
  nextAt: null,
  running: null,
  last: null,
  lastDone: null,
}

const settingsOf = (admin: AdminWorld): SystemSettings => ({
  ...SYSTEM_SETTINGS_DEFAULTS,
  changes: { smtpHost: { by: 'admin@localhost', at: '2026-11-20T09:00:00.000Z' } },
  smtpPasswordSet: false,
  mailReady: false,
  ...admin.settings,
})

export type AdminAnswer = { status: number; value?: unknown } | undefined

function diagnosisOf(isAgent: boolean): Diagnosis {
  const text = ({ why, ...by }: Because) => ({ why, by })
  const node = text(because('version_is', { version: 'v24.21.0' }))
  const disk = text(because('disk_free', { size: '212.0 GiB', path: '/var/lib/berth' }))
  const checks: Diagnosis['checks'] = [
    { name: 'Node', nameBy: 'check_node', level: 'ok', says: node.why, saysBy: node.by },
    { name: 'disk of the data directory', nameBy: 'check_data_disk', level: 'ok', says: disk.why, saysBy: disk.by },
  ]
  if (!isAgent) return { level: 'ok', checks }
  const says = text(because('storage_driver_slow', { driver: 'vfs' }))
  const mend = text(because('storage_driver_mend'))
  const slow = { says: says.why, saysBy: says.by, mend: mend.why, mendBy: mend.by }
  return {
    level: 'warning',
    checks: [...checks, { name: 'storage driver', nameBy: 'check_storage_driver', level: 'warning', ...slow }],
  }
}

function summaryOf({ devices, managers: _, ...agent }: Agent): AgentSummary {
  return { ...agent, gpus: devices.length, deviceProblems: devices.filter(({ problem }) => problem !== null) }
}

function accessOf(
  { resourceGroups = [] }: World,
  { domains = [], groups = [], grants = [] }: AdminWorld,
): AccessMatrix {
  return {
    resourceGroups: resourceGroups.map(({ name, active }) => ({ name, active })),
    domains: domains.map(({ name, active }) => ({
      name,
      active,
      projects: groups
        .filter(({ domain }) => domain === name)
        .map(group => ({
          id: group.id,
          name: group.name,
          active: group.active,
        })),
    })),
    grants,
  }
}

function idleOf({ idle = [] }: AdminWorld) {
  const sum = (pick: (owner: IdleOwner) => number) => idle.reduce((total, owner) => total + pick(owner), 0)
  const [sessions, gpus, gpuHours] = [sum(one => one.sessions.length), sum(one => one.gpus), sum(one => one.gpuHours)]
  return { total: idle.length, sessions, gpus, gpuHours }
}

function reasonsOf(sessions: readonly Session[], status: Session['status']): Overview['waiting'] {
  const found = sessions.filter(session => session.status === status)
  const reasons = [...Map.groupBy(found, ({ reason }) => reason.code).values()].flatMap(same => {
    const [newest] = same
    return newest ? [{ count: same.length, newest: { id: newest.id, name: newest.name, reason: newest.reason } }] : []
  })
  return { total: found.length, reasons: reasons.toSorted((a, b) => b.count - a.count) }
}

/** Two users of the limits, unless these are of a resource policy. */
function limitUseOf({ searchParams }: URL): RouteReply<'getLimitUse'> {
  const user = (n: number, cpu: string, sessions: number): LimitUser => ({
    ...{ kind: 'user', id: `01990000-0000-7000-8000-00000000000${n}`, name: `researcher-${n}@lab.example.org` },
    ...{ held: { cpu, mem: String(2 ** 34) }, sessions },
  })
  const shared = searchParams.has('policy') ? null : { held: { cpu: '24', mem: String(2 ** 35) }, sessions: 3 }
  const items = [user(1, '16', 2), user(2, '8', 1)]
  return { limits: { cpu: '32' }, maxSessions: null, shared, items, total: 2, nextCursor: null }
}

const JOIN_TOKEN_ID = '0'.repeat(64)
const JOIN_TOKEN = 'vJ3kq0Zr8yT1mB5cW9xLhA2nE7uGdF4sC6pXoQiVbNe'
const joinTokenFor = (url: string) => ({
  id: JOIN_TOKEN_ID,
  token: JOIN_TOKEN,
  join: `berth-join:${Buffer.from(JSON.stringify({ url })).toString('base64url')}`,
  url,
  command: hostLine({ url, token: JOIN_TOKEN, fingerprint: '5e'.repeat(32) }),
  expiresAt: new Date(Date.now() + 900_000).toISOString(),
})

/** Names of the rows of a report, except the one by user. */
const REPORTED: Partial<Record<(typeof USAGE_DIMENSIONS)[number], readonly string[]>> = {
  project: ['vision', 'speech', 'default', 'proteins', 'climate', 'robotics', 'compilers', 'teaching'],
  domain: ['default', 'chemistry', 'physics', 'biology', 'medicine', 'linguistics', 'geology', 'guests'],
  image: ['pytorch:2.6', 'python:3.13', 'cuda:12.8', 'vscode:4.96', 'r:4.4', 'octave:9.2', 'jax:0.5', 'vllm:0.8'],
  agent: Array.from({ length: 8 }, (_, index) => `gpu-host-${index}.cluster.example.org`),
}

function reportOf({ report = [] }: AdminWorld, by: (typeof USAGE_DIMENSIONS)[number] = 'user'): UsageReport {
  const items = report.map((row, index) => ({ ...row, name: REPORTED[by]?.[index] ?? row.name }))
  const sum = (read: (row: UsageReport['items'][number]) => number | null) =>
    items.reduce((total, row) => total + (read(row) ?? 0), 0)
  return {
    ...{ from: '', to: '', items, nextCursor: null, total: items.length },
    sums: {
      cpuHours: sum(row => row.cpuHours),
      memGibHours: sum(row => row.memGibHours),
      gpuHours: sum(row => row.gpuHours),
      gpuMeasuredHours: sum(row => (row.gpuIdle === null ? 0 : row.gpuHours)),
      gpuWastedHours: sum(row => row.gpuWastedHours),
    },
  }
}

function versionsOf({ agents = [] }: AdminWorld): Versions {
  const known = Map.groupBy(agents, ({ version, engineVersion }) => JSON.stringify({ version, engineVersion }))
  return {
    ...{ manager: '0.1.0', node: 'v24.21.0', postgresql: '18.4', platform: 'linux x64' },
    agents: [...known.values()].map(same => ({
      version: same[0]?.version ?? '',
      engineVersion: same[0]?.engineVersion ?? '',
      names: same.map(({ name }) => name),
    })),
  }
}

const setUpOf = (admin: AdminWorld): SetUp => ({
  settings: settingsOf(admin),
  backups: admin.backups ?? NO_BACKUPS,
  certificates: [...(admin.certificates ?? [])],
  appsAddress: true,
})

function overviewOf({ sessions, role, resources }: World, admin: AdminWorld, url: URL): Overview {
  const agents = (admin.agents ?? []).filter(({ status }) => status !== 'REVOKED')
  const needy = agents
    .map(summaryOf)
    .filter(one => one.status === 'LOST' || one.problem !== null || one.deviceProblems.length > 0)
  const connected = agents.filter(({ status }) => status === 'CONNECTED')
  const gpus = connected.reduce((sum, { devices }) => sum + devices.length, 0)
  return {
    waiting: reasonsOf(sessions, 'PENDING'),
    failed: reasonsOf(sessions, 'ERROR'),
    idle: { ...idleOf(admin), owners: [...(admin.idle ?? [])] },
    signUpRequests: admin.signUpRequests?.length ?? 0,
    now: resources,
    paused: null,
    ...(role === 'superadmin'
      ? {
          agents: { needy: needy.length, first: needy, gpus },
          superadmins: admin.users?.filter(user => user.role === 'superadmin').length ?? 0,
          setUp: url.searchParams.get('setUp') === 'true' ? setUpOf(admin) : null,
        }
      : { agents: null, superadmins: null, setUp: null }),
  }
}

/** Sorted by position, in pages; a cursor is the number of sessions before the page. */
function queueOf({ sessions }: World, { searchParams }: URL) {
  const group = searchParams.get('resourceGroup')
  const waiting = sessions
    .filter(one => one.status === 'PENDING' && (group === null || one.resourceGroup === group))
    .toSorted((a, b) => (a.queuePosition ?? Infinity) - (b.queuePosition ?? Infinity))
  const start = Number(searchParams.get('cursor') ?? 0)
  const end = start + Number(searchParams.get('limit') ?? 100)
  return {
    items: waiting.slice(start, end),
    nextCursor: end < waiting.length ? String(end) : null,
    total: waiting.length,
  }
}

/** Answers routes of administration. @returns undefined for other routes, or if this role may not use the route */
export function answerAdmin(world: World, route: string, url: URL, body: unknown): AdminAnswer {
  const { admin } = world
  if (world.role === 'user') return undefined
  const list = (items: readonly unknown[] | undefined) => ({
    status: 200,
    value: { items: items ?? [], nextCursor: null, total: items?.length ?? 0 },
  })
  // Pages that are not about administration ask for projects too.
  if (route === 'GET /api/v1/groups') {
    return list(admin?.groups ?? world.projects?.map(project => ({ ...project, domain: 'default' })))
  }
  if (!admin) return undefined
  const agentId = /^PATCH \/api\/v1\/agents\/([0-9a-f-]{36})$/.exec(route)?.[1]
  if (agentId) {
    const agent = admin.agents?.find(({ id }) => id === agentId)
    if (!agent) return undefined
    return { status: 200, value: { ...agent, ...(body as Partial<Agent>) } }
  }
  const asked = /^GET \/api\/v1\/agents\/([0-9a-f-]{36})$/.exec(route)?.[1]
  if (asked) {
    const agent = admin.agents?.find(({ id }) => id === asked)
    return agent && { status: 200, value: agent }
  }
  const shared = /^GET \/api\/v1\/resource-groups\/[^/]+\/fair-share$/.test(route)
  if (shared) return { status: 200, value: admin.shares ?? { capacity: {}, items: [], reserved: null } }
  const userId = /^PATCH \/api\/v1\/users\/([0-9a-f-]{36})$/.exec(route)?.[1]
  if (userId) {
    const user = admin.users?.find(({ id }) => id === userId)
    return user && { status: 200, value: { ...user, ...(body as Partial<User>) } }
  }
  const decided = /^POST \/api\/v1\/sign-up-requests\/([0-9a-f-]{36})\/(accept|decline)$/.exec(route)
  if (decided) {
    const request = admin.signUpRequests?.find(({ id }) => id === decided[1])
    if (!request || !admin.users?.[0]) return undefined
    admin.signUpRequests = (admin.signUpRequests ?? []).filter(one => one !== request)
    if (decided[2] === 'decline') return { status: 200, value: { mailed: true } }
    const { email, name } = request
    return { status: 201, value: { user: { ...admin.users[0], email, name }, link: null } }
  }
  if (/^GET \/api\/v1\/agents\/[0-9a-f-]{36}\/unknown-containers$/.test(route)) return list([])
  const diagnosed = /^GET \/api\/v1\/diagnostics\/(?:managers|(agents))\/[0-9a-f-]{36}$/.exec(route)
  if (diagnosed) return { status: 200, value: diagnosisOf(diagnosed[1] !== undefined) }
  if (/^GET \/api\/v1\/users\/[0-9a-f-]{36}$/.test(route)) {
    const user = admin.users?.find(({ id }) => url.pathname.endsWith(id))
    return user && { status: 200, value: user }
  }
  if (/^GET \/api\/v1\/users\/[0-9a-f-]{36}\/logins$/.test(route)) return list(admin.logins)
  if (/^GET \/api\/v1\/users\/[0-9a-f-]{36}\/identities$/.test(route)) return list(admin.identities)
  if (/^DELETE \/api\/v1\/users\/[0-9a-f-]{36}\/identities$/.test(route)) {
    const removed = admin.identities?.length ?? 0
    admin.identities = []
    return { status: 200, value: { removed } }
  }
  if (/^GET \/api\/v1\/resource-groups\/[^/]+\/access$/.test(route)) return list(admin.access)
  switch (route) {
    case 'GET /api/v1/queue':
      return { status: 200, value: queueOf(world, url) }
    case 'GET /api/v1/reservations':
      return { status: 200, value: { items: admin.reservations ?? [] } }
    case 'GET /api/v1/overview':
      return { status: 200, value: overviewOf(world, admin, url) }
    case 'GET /api/v1/usage/idle':
      return { status: 200, value: { items: admin.idle ?? [], nextCursor: null, ...idleOf(admin) } }
    case 'GET /api/v1/agent-summaries':
      return list(admin.agents?.map(summaryOf))
    case 'GET /api/v1/agents':
      return list(admin.agents)
    case 'POST /api/v1/agents/join-tokens':
      return { status: 201, value: joinTokenFor(admin.joinUrl ?? 'https://berth.example.org') }
    case 'GET /api/v1/join-tokens':
      return { status: 200, value: { items: [] } }
    case `GET /api/v1/join-tokens/${JOIN_TOKEN_ID}`:
      return { status: 200, value: { expiresAt: new Date(Date.now() + 900_000).toISOString(), agent: null } }
    case 'GET /api/v1/users': {
      if (!admin.users) return undefined
      const search = (url.searchParams.get('search') ?? '').toLowerCase()
      const role = url.searchParams.get('role')
      return list(
        admin.users.filter(
          user => `${user.email} ${user.name}`.toLowerCase().includes(search) && (role === null || user.role === role),
        ),
      )
    }
    case 'POST /api/v1/users/import': {
      const { rows, dryRun, mail } = body as Required<UserImportSpec>
      return { status: 200, value: { dryRun, items: rows.map(row => imported(row.email, { dryRun, mail, admin })) } }
    }
    case 'POST /api/v1/messages':
      return { status: 200, value: { recipients: 2, mailed: false } }
    case 'GET /api/v1/backups':
      return { status: 200, value: admin.backups ?? NO_BACKUPS }
    case 'GET /api/v1/certificates':
      return { status: 200, value: { items: admin.certificates ?? [] } }
    case 'GET /api/v1/versions':
      return { status: 200, value: versionsOf(admin) }
    case 'GET /api/v1/scheduling':
      return { status: 200, value: { paused: null } }
    case 'GET /api/v1/settings':
      return {
        status: 200,
        value: settingsOf(admin),
      }
    case 'GET /api/v1/usage/limits':
      return { status: 200, value: limitUseOf(url) }
    case 'GET /api/v1/usage/report':
      return {
        status: 200,
        value: reportOf(
          admin,
          USAGE_DIMENSIONS.find(by => by === url.searchParams.get('by')),
        ),
      }
    case 'GET /api/v1/usage/reports': {
      const items = USAGE_DIMENSIONS.map(by => ({ by, ...reportOf(admin, by) }))
      return { status: 200, value: { from: '', to: '', items } }
    }
    case 'GET /api/v1/sign-in-providers': {
      const callbackUrl = 'https://berth.example.org/api/v1/auth/sso/callback'
      return { status: 200, value: { items: admin.signInProviders ?? [], callbackUrl } }
    }
    case 'GET /api/v1/scim-tokens': {
      const baseUrl = 'https://berth.example.org/scim/v2'
      return { status: 200, value: { items: admin.scimTokens ?? [], baseUrl } }
    }
    case 'GET /api/v1/webhooks':
      return list(admin.webhooks)
    case `GET /api/v1/webhooks/${admin.webhooks?.[0]?.id}/deliveries`:
      return { status: 200, value: { items: admin.deliveries ?? [], nextCursor: null } }
    case 'GET /api/v1/image-requests':
      return list(admin.imageRequests)
    case 'GET /api/v1/registries':
      return list(admin.registries)
    case 'GET /api/v1/tasks':
      return list(admin.tasks)
    case 'POST /api/v1/images/clean-up':
      return list(admin.cleanUp)
    case 'GET /api/v1/audit-log':
      return list(admin.audit)
    case 'GET /api/v1/managers':
      return { status: 200, value: { items: admin.managers ?? [], warnings: admin.warnings ?? [] } }
    case 'POST /api/v1/usage/recalculate':
      return {
        status: 200,
        value: admin.recalculation ?? {
          findings: [],
          agents: [{ agentId: admin.agents?.[0]?.id, name: 'gpu-host-1', compared: true, why: null, containers: 9 }],
          correctedDays: 0,
        },
      }
    case 'PATCH /api/v1/settings':
      admin.settings = { ...admin.settings, ...(body as Partial<SystemSettings>) }
      return {
        status: 200,
        value: settingsOf(admin),
      }
    case 'GET /api/v1/sign-up-requests':
      return list(admin.signUpRequests)
    case 'GET /api/v1/invitations':
      return list(admin.invitations)
    case 'POST /api/v1/invitations':
      return {
        status: 201,
        value: {
          ...admin.invitations?.[0],
          token: 'a-token',
          url: `${url.origin}/#/sign-up?invitation=a-token`,
          notices: [],
        },
      }
    case 'GET /api/v1/resource-group-access':
      return { status: 200, value: accessOf(world, admin) }
    case 'GET /api/v1/domains':
      return list(admin.domains)
    case 'GET /api/v1/resource-policies':
      return list(admin.policies)
    default:
      return undefined
  }
}

function imported(
  email: string,
  { dryRun, mail, admin }: { readonly dryRun: boolean; readonly mail: boolean; readonly admin: AdminWorld },
): UserImportOutcome {
  const nothing = { email, id: null, link: null, error: null }
  if (admin.users?.some(user => user.email === email)) return { ...nothing, outcome: 'exists' }
  if (!email.includes('@')) {
    const why = 'email: must be an e-mail address, such as ada@example.org.'
    const error = { code: 'bad_request', message: `The request is not valid: ${why}`, detail: { why } }
    return { ...nothing, outcome: 'refused', error }
  }
  const link = { url: `https://berth.example.org/#/reset-password?token=${email}`, expiresAt: '2026-12-01T00:00:00Z' }
  return { ...nothing, outcome: 'created', link: dryRun || mail ? null : link }
}
