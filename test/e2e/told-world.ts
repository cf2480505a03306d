import {
  type Agent,
  type AgentDevice,
  type Because,
  because,
  keysOf,
  type ManagerWarning,
  messageOf,
  type Recalculation,
  type SessionId,
  type KernelId,
  together,
  toldBy,
} from '#manager/contract'
import { agentId, AGENTS } from './admin-world-agents.ts'
import { ADMIN_WORLD } from './admin-world.ts'
import { type AdminWorld } from './console-double-admin.ts'
import { type World } from './console-double-world.ts'

const WARNINGS: readonly ManagerWarning[] = [
  messageOf(
    'manager_versions_differ',
    because('managers_of_versions', { managers: 'https://a.example.org (0.1.0), https://b.example.org (0.2.0)' }),
  ),
  messageOf(
    'manager_clocks_differ',
    because('manager_behind_database', { manager: 'https://a.example.org', seconds: 61 }),
  ),
  messageOf(
    'manager_not_dialled',
    together(
      because('agents_not_dialling', { count: 3, all: 5, manager: 'https://b.example.org' }),
      because('agents_through_another', { count: 1 }),
      because('agents_without_connection', { count: 2 }),
      because('check_advertised_address'),
    ),
  ),
  messageOf('database_clock_set', because('database_clock_back', { time: '1 h 30 min' })),
]

const ids = (index: number) => ({
  agentId: agentId(1),
  sessionId: `01990000-0000-7000-8000-0000000f0a0${index}` as SessionId,
  kernelId: `01990000-0000-7000-8000-0000000f0b0${index}` as KernelId,
})
const NAMES = { session: 'train', agent: 'gpu-host-1' }
const DIFFERENCES = [
  because('resources_of_ended_session', { session: 'train' }),
  because('record_of_other_amounts', { session: 'train' }),
  because('recorded_container_gone', NAMES),
  because('recorded_container_ended', NAMES),
  because('container_imported', NAMES),
  because('container_orphaned', { agent: 'gpu-host-1' }),
]
const { why, ...whyBy } = because('agent_not_connected')
const RECALCULATION: Recalculation = {
  findings: DIFFERENCES.map((difference, index) => ({
    kind: 'not_told' as const,
    ...toldBy(difference),
    ...ids(index),
  })),
  agents: [{ agentId: agentId(2), name: 'gpu-host-2', compared: false, why, whyBy, containers: 0 }],
  correctedDays: 0,
}

/** Texts of the server on pages of administration: problems, findings and warnings, by key and in English. */
const [sound, , , quiet] = AGENTS
const device = sound?.devices[0]
const keyed = (name: string, text: Because) => ({ [name]: text.why, [`${name}By`]: keysOf(text) })
const DEVICE_PROBLEMS = [
  because('nvidia_smi_fails', { text: 'Unknown Error' }),
  because('gpu_reported_as', { state: 'GPU is lost' }),
  because('gpu_ecc_errors', { count: 2, gpu: 'GPU-1' }),
  because('gpu_gone_in_use'),
]
const LIMITS = [
  because('limits_need_driver'),
  because('limits_hold'),
  together(because('limits_not_tested'), because('gpu_without_free_memory')),
  because('limits_not_reported'),
]
const BROKEN = {
  ...(quiet as Agent),
  ...keyed('networkIsolationReason', because('agent_not_root')),
  ...keyed(
    'problem',
    together(
      because('agent_without_networks'),
      because('network_range_used_up', { range: '10.99.0.0/24' }),
      because('containers_unsigned', { count: 2 }),
      because('images_not_saved', { code: 'unavailable' }),
    ),
  ),
  devices: DEVICE_PROBLEMS.map((problem, index) => ({
    ...(device as AgentDevice),
    uuid: `GPU-${index}`,
    mode: 'shared' as const,
    slot: 'cuda.shares' as const,
    isolation: 'accounted' as const,
    occupied: '0',
    ...keyed('problem', problem),
    ...keyed('isolationReason', LIMITS[index] as Because),
  })),
} as Agent

const TOLD: Partial<AdminWorld> = {
  agents: [BROKEN],
  warnings: WARNINGS,
  recalculation: RECALCULATION,
}
const worldOf = (told: Partial<AdminWorld>): Partial<World> => ({
  ...ADMIN_WORLD,
  admin: { ...ADMIN_WORLD.admin, ...told },
})
export const TOLD_WORLD = worldOf(TOLD)
/** The same texts as sent by an older server, or by a newer one with texts that the page does not know. */
export const UNKEYED_WORLD = worldOf(
  JSON.parse(
    JSON.stringify(TOLD, (name, value: unknown) =>
      ['cause', 'values', 'more'].includes(name) || name.endsWith('By') ? undefined : value,
    ),
  ) as Partial<AdminWorld>,
)

/** The pages that show them, with a text of each kind in Korean, and one in English from a server without keys. */
export const TOLD_PAGES = [
  {
    path: `/admin/agents/${agentId(4)}`,
    korean: [
      'root로 실행되지 않아',
      '서명이 없거나',
      '메모리 한도를 시험하지 못했습니다',
      '아직 사용하는 세션이 있습니다',
    ],
    english: [
      'does not run as root',
      'but not its signature',
      'Memory limits could not be tested',
      'sessions still use it',
    ],
  },
  {
    path: '/admin/about',
    korean: ['모두 같은 버전으로 맞추세요', '데이터베이스의 시계보다 61초 느립니다', '2개는 연결되어 있지 않습니다'],
    english: ['Bring all to one version.', 'is 61 s behind that of the database', '2 agents are not connected to it.'],
  },
  {
    path: '/admin/maintenance',
    press: '지금 비교',
    korean: ['자원을 반환했습니다', '세션을 가져왔습니다', '컨테이너를 제거합니다'],
    english: ['The resources were released.', 'The session was imported.', 'The container is being removed.'],
  },
] as const satisfies readonly {
  path: string
  press?: string
  korean: readonly string[]
  english: readonly string[]
}[]
