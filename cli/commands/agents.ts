import { type Command } from 'commander'
import {
  type Agent,
  type AgentDevice,
  AgentId,
  type AgentUpdate,
  type ApiClient,
  AppError,
  DeviceMode,
  KernelId,
} from '#manager/contract'
import { connect } from '../config/connect.ts'
import { createOutput, table } from '../output.ts'
import { adminOf } from './admin.ts'
import { addRemovalCommand } from './agent-removal.ts'
import { age, amounts, bytes } from './text.ts'

interface JsonFlag {
  json?: boolean
}

interface JoinTokenFlags extends JsonFlag {
  resourceGroup: string
  replace?: string
  command?: boolean
}

/** `berth admin agent …`, for superadmins. */
export function addAgentCommands(program: Command): void {
  const agent = adminOf(program).command('agent').description('Docker hosts.')

  agent
    .command('ls')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: JsonFlag) => {
      const { api } = await connect()
      const { items } = await api.listAgents()
      const output = createOutput(json)
      for (const { name, problem, networkIsolationReason, update } of items) {
        if (problem) output.note(`agent ${name}: ${problem}`)
        if (networkIsolationReason)
          output.note(`agent ${name} isolates sessions only partly: ${networkIsolationReason}`)
        for (const text of notesOf(update)) output.note(`agent ${name}: ${text}`)
      }
      output.data(items, () => agentTable(items))
    })

  agent
    .command('join-token')
    .description(
      'Make a one-time join string for a new agent, or with --command the line that makes a computer a host. Both are valid for 15 minutes.',
    )
    .option(
      '--command',
      'print the line to run on the host, a Debian or Ubuntu: it installs an agent, and Docker if it is missing, and joins',
    )
    .option('--resource-group <name>', 'resource group that the agent joins', 'default')
    .option(
      '--replace <agent>',
      'make the join string for `berth agent --replace`, for an agent whose data directory is lost',
    )
    .option('--json', 'print JSON')
    .action(async ({ json = false, resourceGroup, replace, command = false }: JoinTokenFlags) => {
      const { api } = await connect()
      const replaces = replace === undefined ? {} : { replaces: await idOfAgent(api, replace) }
      const token = await api.createJoinToken({ body: { resourceGroup, prepare: command, ...replaces } })
      createOutput(json).data(token, () => (command ? token.command : token.join))
    })

  agent
    .command('join-tokens')
    .description('Join strings and lines with which hosts may still join, with who made them.')
    .option('--json', 'print JSON')
    .action(async ({ json = false }: JsonFlag) => {
      const { items } = await (await connect()).api.listJoinTokens()
      createOutput(json).data(items, () =>
        table(
          ['ID', 'GROUP', 'REPLACES', 'MAKER', 'STATUS', 'VALID'],
          items.map(one => [
            one.id.slice(0, 12),
            one.resourceGroup,
            one.replaces ?? '-',
            one.maker ?? '-',
            one.status,
            `until ${one.expiresAt}`,
          ]),
        ),
      )
    })

  agent
    .command('revoke-join-token <id>')
    .description('Withdraw a join string that no host has used. Name it by its id, or the beginning of it.')
    .action(async (wanted: string) => {
      const { api } = await connect()
      const [one, ...more] = (await api.listJoinTokens()).items.filter(({ id }) => id.startsWith(wanted.toLowerCase()))
      if (!one || more.length > 0) {
        const why = one ? `Several join strings begin with "${wanted}".` : `No open join string has the id "${wanted}".`
        throw new AppError('not_found', { why })
      }
      await api.withdrawJoinToken({ params: { id: one.id } })
    })

  for (const [name, schedulable, description] of SWITCH) {
    const command = agent.command(`${name} <agent>`).description(description).option('--json', 'print JSON')
    if (!schedulable) command.option('--message <text>', 'also tell the owners of the sessions on it')
    command.action(async (wanted: string, { json = false, message }: JsonFlag & { message?: string }) => {
      const { api } = await connect()
      const id = await idOfAgent(api, wanted)
      const changed = await api.updateAgent({ params: { id }, body: { schedulable } })
      if (message !== undefined) await api.sendMessage({ body: { text: message, agentId: id } })
      createOutput(json).data(changed, () => agentTable([changed]))
    })
  }

  agent
    .command('move <agent> <resource-group>')
    .description(
      'Move an agent to another resource group. No session may be on it: pause it first, and wait for them to end.',
    )
    .option('--json', 'print JSON')
    .action(async (wanted: string, resourceGroup: string, { json = false }: JsonFlag) => {
      const { api } = await connect()
      const id = await idOfAgent(api, wanted)
      const moved = await api.updateAgent({ params: { id }, body: { resourceGroup } })
      createOutput(json).data(moved, () => agentTable([moved]))
    })

  agent
    .command('update <agent>')
    .description(
      'Give an agent that the line has installed the program of Berth, next of all, also while people are connected to its sessions. Sessions keep running.',
    )
    .option('--json', 'print JSON')
    .action(async (wanted: string, { json = false }: JsonFlag) => {
      const { api } = await connect()
      const changed = await api.updateAgentProgram({ params: { id: await idOfAgent(api, wanted) } })
      createOutput(json).data(changed, () => agentTable([changed]))
    })

  addRemovalCommand(agent, idOfAgent)
  addDeviceCommands(agent)
  addUnknownCommands(agent)

  agent
    .command('forget <agent>')
    .description('Remove an agent that will not come back. Its sessions end with the reason agent_forgotten.')
    .action(async (wanted: string) => {
      const { api } = await connect()
      // An agent that was forgotten before is in no list; by its id it may be forgotten again.
      const id = AgentId.safeParse(wanted).data ?? (await idOfAgent(api, wanted))
      await api.forgetAgent({ params: { id } })
    })
}

/** `berth admin agent device …` */
function addDeviceCommands(agent: Command): void {
  const device = agent.command('device').description('GPUs of an agent, and whether sessions get them whole or shared.')

  device
    .command('ls <agent>')
    .option('--json', 'print JSON')
    .action(async (wanted: string, { json = false }: JsonFlag) => {
      const { api } = await connect()
      const id = await idOfAgent(api, wanted)
      const { items } = await api.listAgents()
      showDevices(items.find(one => one.id === id)?.devices ?? [], json)
    })

  device
    .command('mode <agent> <uuid> <mode>')
    .description(
      'Set whether sessions get a GPU as a whole (whole) or in shares (shared). No session may use the GPU meanwhile.',
    )
    .option('--json', 'print JSON')
    .action(async (wanted: string, uuid: string, mode: string, { json = false }: JsonFlag) => {
      const body = { mode: DeviceMode.safeParse(mode).data }
      if (body.mode === undefined) throw new AppError('bad_request', { why: 'The mode must be whole or shared.' })
      const { api } = await connect()
      const params = { id: await idOfAgent(api, wanted), uuid }
      const changed = await api.setDeviceMode({ params, body: { mode: body.mode } })
      showDevices(
        changed.devices.filter(one => one.uuid === uuid),
        json,
      )
    })
}

/** `berth admin agent unknown …` */
function addUnknownCommands(agent: Command): void {
  const unknown = agent
    .command('unknown')
    .description('Containers on an agent with labels of this Berth, but without its signature and without a record.')

  unknown
    .command('ls <agent>')
    .option('--json', 'print JSON')
    .action(async (wanted: string, { json = false }: JsonFlag) => {
      const { api } = await connect()
      const { items } = await api.listUnknownContainers({ params: { id: await idOfAgent(api, wanted) } })
      createOutput(json).data(items, () =>
        table(
          ['KERNEL', 'SESSION', 'OWNER', 'IMAGE', 'HOLDS', 'STARTED'],
          items.map(one => [
            one.kernelId,
            one.sessionName,
            one.ownerEmail,
            one.image,
            amounts(one.slots),
            `${age(one.startedAt)} ago`,
          ]),
        ),
      )
    })

  for (const [action, description] of DECISIONS) {
    unknown
      .command(`${action} <agent> <kernel>`)
      .description(description)
      .action(async (wanted: string, kernel: string) => {
        const kernelId = KernelId.safeParse(kernel).data
        if (!kernelId)
          throw new AppError('bad_request', { why: 'Give the id in the first column to choose the container.' })
        const { api } = await connect()
        const params = { id: await idOfAgent(api, wanted), kernelId }
        await api.decideUnknownContainer({ params, body: { action } })
      })
  }
}

const DECISIONS = [
  ['import', 'Import the container as a session of the owner that its label names.'],
  ['remove', 'Stop and remove the container.'],
] as const

function showDevices(devices: readonly AgentDevice[], json: boolean): void {
  const output = createOutput(json)
  for (const { uuid, problem, warning, isolationReason } of devices) {
    for (const text of [problem, warning, isolationReason]) if (text) output.note(`${uuid}: ${text}`)
  }
  output.data(devices, () => deviceTable(devices))
}

const deviceTable = (devices: readonly AgentDevice[]) =>
  table(
    ['UUID', 'MODEL', 'MODE', 'LIMITS', 'HELD', 'USE', 'MEMORY', 'STATE'],
    devices.map(one => [
      one.uuid,
      one.model,
      one.mode,
      one.isolation,
      one.occupied,
      one.utilization === null ? '–' : `${Math.round(one.utilization)}%`,
      `${one.memUsedBytes === null ? '–' : bytes(one.memUsedBytes)} / ${bytes(one.memBytes)}`,
      one.problem === null ? (one.warning ? 'warning' : 'ok') : 'problem',
    ]),
  )

const SWITCH = [
  ['pause', false, 'Start no new sessions on an agent, for maintenance. Running sessions continue.'],
  ['resume', true, 'Start sessions on the agent again.'],
] as const

/** Finds an agent by id, or by name if the name is unique. */
export async function idOfAgent(api: ApiClient, wanted: string): Promise<AgentId> {
  const { items } = await api.listAgents()
  const found = items.filter(({ id, name, status }) => id === wanted || (name === wanted && status !== 'REVOKED'))
  const [one] = found
  if (!one)
    throw new AppError('agent_not_found', { why: `No agent has the name ${wanted}. See \`berth admin agent ls\`.` })
  if (found.length > 1)
    throw new AppError('bad_request', { why: `Several agents have the name ${wanted}. Give the id instead.` })
  return one.id
}

/** Notes of an update for an administrator. */
function notesOf({ state, why, command }: AgentUpdate): string[] {
  if (state === 'failed') return [`the update failed: ${why ?? ''}`]
  if (state !== 'by_hand') return []
  return [['older than Berth; update it by hand', why, command].filter(text => text !== null).join(': ')]
}

const UPDATE_WORDS = {
  current: 'up to date',
  waiting: 'waiting',
  updating: 'updating',
  failed: 'failed',
  by_hand: 'by hand',
} as const satisfies Record<AgentUpdate['state'], string>

const agentTable = (items: readonly Agent[]) =>
  table(
    ['ID', 'NAME', 'GROUP', 'STATUS', 'OCCUPIED', 'CAPACITY', 'ISOLATION', 'VERSION', 'UPDATE', 'SEEN', 'MANAGERS'],
    items.map(one => [
      one.id,
      one.name,
      one.resourceGroup,
      one.schedulable ? one.status : `${one.status}, paused`,
      amounts(one.occupied),
      amounts(one.capacity),
      one.networkIsolation,
      one.version,
      UPDATE_WORDS[one.update.state],
      `${age(one.lastSeenAt)} ago`,
      managersOf(one),
    ]),
  )

/** Hosts of the managers to which an agent is connected, each with the manager in between, if any. */
const managersOf = ({ managers = [] }: Agent) =>
  managers
    .map(({ url, via }) => (via === null ? new URL(url).host : `${new URL(url).host} via ${new URL(via).host}`))
    .join(', ') || '-'
