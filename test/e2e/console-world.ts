import {
  type AgentId,
  type GroupRef,
  type Image,
  type Preset,
  type ReceivedFolderInvitation,
  type ResourceGroup,
  type Resources,
  type ScopeUsage,
  type Session,
  type SessionDetails,
} from '#manager/contract'
import { aSession as anySession, OWNER } from '../../renderer/testing/a-session.ts'
import { type World } from './console-double-world.ts'

export { OWNER }

const GIB = 2 ** 30
/** A colleague, whose sessions admins see. */
export const OTHER: Pick<Session, 'ownerId' | 'ownerEmail'> = {
  ownerId: '01990000-0000-7000-8000-000000000002' as Session['ownerId'],
  ownerEmail: 'jonas.lindqvist@physics.example.com',
}
const AGENT = '01990000-0000-7000-8000-00000000000a' as AgentId

export const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()

/** The one container of a session that has ended. */
export const ENDED_KERNEL: Session['kernels'][number] = {
  id: '01990000-0000-7000-8000-00000000000b' as Session['kernels'][number]['id'],
  role: 'main1',
  status: 'TERMINATED',
  agentId: AGENT,
  agentName: 'gpu-host-1',
  containerId: null,
  exitCode: 0,
  devices: [],
}

export function aSession(index: number, change: Partial<SessionDetails> = {}): SessionDetails {
  const startedAt = change.status === 'PENDING' ? null : ago(index * 3 + 1)
  return anySession(index, {
    imageDigest: 'sha256:4f1c',
    requested: { cpu: '2', mem: String(4 * GIB) },
    shmem: String(GIB / 4),
    apps: [
      { name: 'jupyterlab', title: 'JupyterLab', protocol: 'http', path: '/lab' },
      { name: 'sshd', title: 'SSH / SFTP', protocol: 'tcp', path: '/' },
    ],
    createdAt: ago(index * 3 + 2),
    startedAt,
    ...change,
  })
}

export function statsOf(cpuMilli: number, memBytes: number, gpus: number[] = []): NonNullable<Session['stats']> {
  return {
    at: new Date().toISOString(),
    cpuMilli,
    memBytes,
    memPeakBytes: memBytes * 1.2,
    netRxBytes: 1_200_000,
    netTxBytes: 300_000,
    diskReadBytes: 90_000_000,
    diskWriteBytes: 4_000_000,
    scratchBytes: 310_000_000,
    gpus: gpus.map((utilization, index) => ({ uuid: `GPU-${index}`, utilization, memBytes: 9 * GIB })),
  }
}

/** Statistics of a busy session for the requested range and step, with a gap in the middle. */
export function figuresOf(url: URL): { step: number; items: NonNullable<Session['stats']>[] } {
  const [from = 0, to = 0] = ['from', 'to'].map(name => Date.parse(url.searchParams.get(name) ?? '') / 1000)
  const step = Number(url.searchParams.get('step') ?? 60)
  const count = Math.floor((to - from) / step)
  const items = Array.from({ length: count }, (_, index) => {
    const wave = (period: number) => (1 + Math.sin((index / count) * period)) / 2
    return {
      ...statsOf(400 + 1500 * wave(14), GIB * (1 + 2.5 * wave(3)), [30 + 60 * wave(20), 20 + 70 * wave(11)]),
      at: new Date((from + index * step) * 1000).toISOString(),
      diskReadBytes: index * step * 40_000 * (1 + wave(9)),
      diskWriteBytes: index * step * 9_000,
      netRxBytes: index * step * 3_000 * (1 + wave(5)),
      netTxBytes: index * step * 800,
    }
  })
  return { step, items: items.filter((_, index) => index < count * 0.45 || index > count * 0.55) }
}

/** Figures of a session with a quarter of a GPU that two others use, too. */
export function sharedFiguresOf(url: URL): ReturnType<typeof figuresOf> {
  const { step, items } = figuresOf(url)
  const shared = items.map((item, index) => {
    const [utilization, memBytes] = [8 + (index % 12), (14 + 3 * Math.sin(index / 40)) * GIB]
    const device = { utilization: 60 + (index % 25), memBytes: memBytes + 40 * GIB, totalBytes: 80 * GIB }
    return { ...item, gpus: [{ uuid: 'GPU-0', utilization, memBytes, device }] }
  })
  return { step, items: shared }
}

/** Two weeks of statistics. */
export const HISTORY = Array.from({ length: 14 }, (_, index) => ({
  at: ago((13 - index) * 24 * 60),
  sessions: 2 + (index % 5),
  cpuHours: 20 + 13 * (index % 4),
  memGibHours: 90 + 40 * (index % 3),
  gpuHours: 4 + 5 * (index % 6),
  cpuIdle: index % 7 === 6 ? null : 0.2 + 0.1 * (index % 5),
  gpuIdle: index % 7 === 6 ? null : 0.15 + 0.1 * (index % 4),
  memIdle: index % 7 === 6 ? null : 0.4,
  ...{ readBytes: (4 + (index % 5)) * 12e9, writtenBytes: (1 + (index % 3)) * 7e9 },
  ...{ receivedBytes: (2 + (index % 4)) * 9e9, sentBytes: (1 + (index % 4)) * 2e9 },
}))

export const IMAGES: Image[] = [
  {
    reference: 'berth/python:3.13',
    digest: 'sha256-4f1c',
    title: 'Python 3.13',
    description: 'Python with JupyterLab, NumPy, pandas and a compiler. For notebooks and scripts.',
    sizeBytes: 1.4 * GIB,
    minimum: { cpu: '0.5', mem: String(GIB / 2) },
    shmem: '64m',
    apps: [
      { name: 'jupyterlab', title: 'JupyterLab', protocol: 'http', path: '/lab' },
      { name: 'jupyter', title: 'Jupyter Notebook', protocol: 'http', path: '/tree' },
    ],
    holders: 1,
    labelMinimum: {},
    registry: null,
    pullable: false,
    outdated: false,
    aliases: ['python'],
    labelled: true,
  },
  {
    reference: 'berth/pytorch:2.9-cuda13',
    digest: 'sha256-99aa',
    title: 'PyTorch 2.9 (CUDA 13)',
    description: 'PyTorch with CUDA, TensorBoard and JupyterLab.',
    sizeBytes: 9.7 * GIB,
    minimum: { cpu: '1', mem: String(2 * GIB) },
    shmem: '1g',
    apps: [
      { name: 'jupyterlab', title: 'JupyterLab', protocol: 'http', path: '/lab' },
      { name: 'tensorboard', title: 'TensorBoard', protocol: 'http', path: '/' },
    ],
    holders: 1,
    labelMinimum: {},
    registry: null,
    pullable: false,
    outdated: false,
    aliases: [],
    labelled: true,
  },
  {
    reference: 'debian:trixie-slim',
    digest: 'sha256-01bb',
    title: '',
    description: '',
    sizeBytes: 78_000_000,
    minimum: {},
    shmem: '64m',
    apps: [],
    holders: 1,
    labelMinimum: {},
    registry: null,
    pullable: false,
    outdated: false,
    aliases: [],
    labelled: false,
  },
]

export const RESOURCES: Resources = {
  largest: { cpu: '32', mem: String(256 * GIB), 'cuda.device': '4' },
  free: { cpu: '14', mem: String(96 * GIB), 'cuda.device': '1' },
  left: {},
  sessionsLeft: null,
  partsHold: null,
  sharedGpus: [],
  gpus: [],
  capacity: { cpu: '64', mem: String(512 * GIB), 'cuda.device': '8' },
  occupied: { cpu: '27.5', mem: String(201 * GIB), 'cuda.device': '7' },
  agents: { connected: 2, lost: 0 },
  sessions: { running: 9, pending: 1 },
}

/** Hosts with several models of GPUs. */
export const SEVERAL_GPUS: Resources = {
  ...RESOURCES,
  gpus: [
    { model: 'NVIDIA H100 80GB HBM3', memBytes: 79.6 * GIB, mode: 'whole', total: 4, free: '1' },
    { model: 'NVIDIA H100 80GB HBM3 3g.40gb', memBytes: 39.5 * GIB, mode: 'mig', total: 2, free: '0' },
    { model: 'Tesla T4', memBytes: 15 * GIB, mode: 'whole', total: 2, free: '2' },
  ],
}

/** Hosts that give out their GPUs in shares. */
export const SHARED_GPUS: Resources = {
  ...RESOURCES,
  largest: { ...RESOURCES.largest, 'cuda.device': '0', 'cuda.shares': '2' },
  free: { ...RESOURCES.free, 'cuda.device': '0', 'cuda.shares': '1.5' },
  partsHold: 'accounted',
  sharedGpus: [
    { model: 'NVIDIA H100 80GB HBM3', memBytes: 79.6 * GIB },
    { model: 'Tesla T4', memBytes: 15 * GIB },
  ],
}

const scope = (kind: ScopeUsage['kind'], name: string, change: Partial<ScopeUsage> = {}): ScopeUsage => ({
  kind,
  id: name,
  name,
  policy: null,
  limits: {},
  held: {},
  left: {},
  maxSessions: null,
  sessions: 0,
  ...change,
})
export const USAGE: ScopeUsage[] = [
  scope('user', 'mira@example.com', {
    policy: 'students',
    limits: { cpu: '16', mem: String(128 * GIB), 'cuda.device': '4' },
    held: { cpu: '12', mem: String(72 * GIB), 'cuda.device': '2' },
    left: { cpu: '4', mem: String(56 * GIB), 'cuda.device': '2' },
    maxSessions: 8,
    sessions: 5,
  }),
  scope('group', 'vision', { limits: { 'cuda.device': '6' }, held: { cpu: '20', 'cuda.device': '6' }, sessions: 9 }),
  scope('domain', 'default', { held: { cpu: '27.5', mem: String(201 * GIB), 'cuda.device': '7' }, sessions: 9 }),
]

const GROUP_IDS = ['01990000-0000-7000-8000-0000000000b1', '01990000-0000-7000-8000-0000000000b2'] as const
const preset = (name: string, slots: Preset['slots'], fits = true): Preset => ({
  name,
  slots,
  gpu: null,
  shmem: null,
  fits,
  createdAt: ago(10_000),
  version: 1,
})
export const resourceGroup = (name: string, description: string, active = true): ResourceGroup => ({
  name,
  description,
  engine: 'berth',
  sequencer: 'fifo',
  selector: 'concentrated',
  options: {},
  active,
  notice: '',
  createdAt: ago(10_000),
  version: 1,
})

/** Someone in two projects with limits, who may use two resource groups. */
export const LIMITED: Partial<World> = {
  usage: [
    ...USAGE.filter(({ kind }) => kind !== 'group'),
    scope('group', 'default', { id: GROUP_IDS[0], held: { cpu: '7.5' }, sessions: 3 }),
    scope('group', 'vision', {
      id: GROUP_IDS[1],
      limits: { cpu: '24', 'cuda.device': '6' },
      held: { cpu: '20', 'cuda.device': '6' },
      left: { cpu: '4', 'cuda.device': '0' },
      sessions: 9,
    }),
  ],
  resources: {
    ...RESOURCES,
    left: { cpu: '6', mem: String(64 * GIB), 'cuda.device': '2' },
    sessionsLeft: 2,
  },
  projects: [
    { id: GROUP_IDS[0] as GroupRef['id'], name: 'default' },
    { id: GROUP_IDS[1] as GroupRef['id'], name: 'vision' },
  ],
  resourceGroups: [resourceGroup('default', ''), resourceGroup('gpu-large', 'Eight GPUs each')],
  presets: [
    preset('Small', { cpu: '1', mem: '2g' }),
    preset('Medium', { cpu: '4', mem: '16g' }),
    preset('One GPU', { cpu: '4', mem: '32g', 'cuda.device': '1' }),
    preset('Two GPUs', { cpu: '6', mem: '64g', 'cuda.device': '2' }, false),
    preset('Everything', { cpu: '32', mem: '256g', 'cuda.device': '4' }, false),
  ],
}

/** An invitation to a folder of a colleague. */
export const INVITATION: ReceivedFolderInvitation = {
  id: '01990000-0000-7000-8000-0000000000c1' as ReceivedFolderInvitation['id'],
  folder: {
    id: '01990000-0000-7000-8000-0000000000c2' as ReceivedFolderInvitation['folder']['id'],
    name: 'datasets',
  },
  group: null,
  from: { email: OTHER.ownerEmail, name: 'Jonas Lindqvist' },
  permission: 'rw',
  createdAt: ago(60),
  expiresAt: ago(-7 * 24 * 60),
}

/** Requests for more than one GPU have to wait. */
export const oneGpuNow: NonNullable<World['whatIf']> = ({ resources }) => {
  const startsNow = Number(resources['cuda.device'] ?? 0) <= 1
  const message = 'Needs 2 GPU (at most 1 free). Starts when other sessions end.'
  return {
    startsNow,
    reason: startsNow ? null : { code: 'capacity', message },
    smaller: startsNow ? [] : [{ slot: 'cuda.device', amount: '1' }],
    notices: [],
  }
}

/** A session of every kind that a list can show. */
export function variedSessions(): Session[] {
  const gpu = { cpu: '8', mem: String(64 * GIB), 'cuda.device': '2' }
  const pytorch = 'berth/pytorch:2.9-cuda13'
  const layer = (id: string, total: number, done: number) => ({
    id,
    status: done === total ? 'Pull complete' : 'Downloading',
    bytesTotal: total,
    bytesDone: done,
  })
  return [
    aSession(90, {
      name: 'llama-eval-3',
      status: 'PENDING',
      image: pytorch,
      requested: gpu,
      queuePosition: 3,
      reason: { code: 'capacity', message: 'Waits for 2 GPUs' },
    }),
    aSession(80, {
      name: 'fresh-start',
      status: 'PULLING',
      image: pytorch,
      requested: gpu,
      startedAt: null,
      reason: { code: 'image_missing', message: 'The agent does not hold the image yet' },
      pull: {
        layersDone: 3,
        layersTotal: 6,
        bytesDone: 4.1e9,
        bytesTotal: 9.8e9,
        layers: [
          layer('a1', 3e7, 3e7),
          layer('b2', 8e8, 8e8),
          layer('c3', 2e9, 2e9),
          layer('d4', 4e9, 1.1e9),
          layer('e5', 2.5e9, 1.7e8),
          layer('f6', 5e8, 0),
        ],
      },
    }),
    aSession(70, { name: 'train-resnet-50', image: pytorch, requested: gpu, stats: statsOf(6900, 41 * GIB, [97, 93]) }),
    aSession(60, { name: 'notebook', stats: statsOf(260, 1.3 * GIB) }),
    aSession(50, { name: 'data-clean_up.v2', stats: statsOf(1980, 3.9 * GIB) }),
    aSession(45, { name: 'on-lost-agent', reachable: false, stats: statsOf(0, 0.2 * GIB) }),
    aSession(40, {
      name: 'preparing-one',
      status: 'PREPARING',
      startedAt: null,
      reason: { code: 'create_sent', message: 'The container is being created on gpu-host-2' },
    }),
    aSession(30, {
      name: 'ending-now',
      status: 'TERMINATING',
      reason: { code: 'user_terminated', message: 'Terminated by its owner' },
    }),
    aSession(20, {
      name: 'yesterday',
      status: 'TERMINATED',
      endedAt: ago(900),
      startedAt: ago(1500),
      reason: { code: 'exited', message: 'The main process ended with exit code 0' },
    }),
    aSession(15, {
      name: 'too-little-memory',
      status: 'ERROR',
      endedAt: ago(1000),
      startedAt: ago(1020),
      reason: { code: 'oom_killed', message: 'Ran out of memory: used all of its 4 GiB RAM' },
    }),
    aSession(10, {
      name: 'changed-my-mind',
      status: 'CANCELLED',
      endedAt: ago(1100),
      startedAt: null,
      reason: { code: 'user_terminated', message: 'Cancelled before it started' },
    }),
  ]
}

export function aWorld(change: Partial<World> = {}): World {
  return {
    signedIn: true,
    role: 'user',
    sessions: variedSessions(),
    images: IMAGES,
    resources: RESOURCES,
    usage: USAGE,
    failures: new Map(),
    changes: [],
    ...change,
  }
}
