import { type Command } from 'commander'
import { type Agent, type AgentId, type ApiClient } from '#manager/contract'
import { connect } from '../config/connect.ts'
import { listenForInterrupt } from '../interrupt.ts'
import { createOutput, type Output } from '../output.ts'
import { pollUntil } from '../poll.ts'

interface RemoveFlags {
  endSessions?: boolean
  images?: boolean
  away?: boolean
  cancel?: boolean
  wait?: boolean
  json?: boolean
}

/** `berth admin agent remove …` @param idOf finds an agent by name or id */
export function addRemovalCommand(agent: Command, idOf: (api: ApiClient, wanted: string) => Promise<AgentId>): void {
  agent
    .command('remove <agent>')
    .description(
      'Let a host leave: no new sessions, and once those on it have ended, Berth is removed from the host and from the records.',
    )
    .option('--end-sessions', 'end the sessions on it instead of waiting for them')
    .option('--images', 'also remove the images of Berth from the host')
    .option('--away', 'for a host that is not connected: its sessions end, and all of Berth stays on it')
    .option('--cancel', 'call it off, while sessions are on the host or after it has refused')
    .option('--wait', 'wait until the host has left; Ctrl-C ends the waiting only')
    .option('--json', 'print JSON')
    .action(async (wanted: string, { endSessions, images, away, cancel, wait, json = false }: RemoveFlags) => {
      const { api } = await connect()
      const output = createOutput(json)
      const params = { id: await idOf(api, wanted) }
      if (cancel) {
        output.data(await api.cancelAgentRemoval({ params }), () => `${wanted} stays, in maintenance.`)
        return
      }
      const sessions = endSessions ? ('end' as const) : ('wait' as const)
      const begun = await api.removeAgent({ params, body: { sessions, images: images ?? false, away: away ?? false } })
      const now = wait ? await follow(api, begun, output) : begun
      output.data(now, () => linesOf(now).join('\n'))
    })
}

/** Follows the removal until it is over, or the user does not want to wait any more. */
async function follow(api: ApiClient, begun: Agent, output: Pick<Output, 'note'>): Promise<Agent> {
  using interrupt = listenForInterrupt()
  const { signal } = interrupt
  let said = ''
  return await pollUntil({
    first: begun,
    async ask({ id }) {
      const now = await api.getAgent({ params: { id }, signal })
      const [line = ''] = linesOf(now)
      if (line !== said) output.note(line)
      said = line
      return now
    },
    done: ({ removal }) => removal === null || removal.step === 'removed',
    signal,
    note: text => output.note(text),
  })
}

function linesOf({ name, removal }: Pick<Agent, 'name' | 'removal'>): string[] {
  if (!removal) return [`${name} stays.`]
  const { step, sessions, problem, stays } = removal
  const words = {
    draining: sessions === 'end' ? 'its sessions are being ended' : 'it leaves once its sessions have ended',
    leaving: 'Berth is being removed from it',
    removed: 'it has left',
  }
  return [
    `${name}: ${words[step]}.${problem === null ? '' : ` ${problem}`}`,
    ...(stays.length === 0 ? [] : ['On the host stay:', ...stays.map(({ text }) => `- ${text}`)]),
  ]
}
