import { once } from 'node:events'
import { createGzip } from 'node:zlib'
import { type Readable } from 'node:stream'
import { type Pack, pack } from 'tar-stream'
import {
  type Agent,
  type AgentId,
  AppError,
  cleanDiagnosis,
  type Diagnosis,
  DIAGNOSIS_SECONDS,
  SystemSettings,
  toWireError,
} from '#manager/contract'
import { type RequestReply } from '#agent/contract'
import { shareRuns } from '#base/share-runs'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type Log } from '../log.ts'
import { onBehalfOfAll } from '../store/on-behalf.ts'
import { createRedactor, type Redactor } from './redact-secrets.ts'
import { type OtherManagers } from './other-managers.ts'
import { plainNamesOf } from './plain-names.ts'

export interface Diagnostics {
  /** `berth doctor` of this manager. It takes seconds of CPU, so calls at once share one run. */
  readonly own: () => Promise<Diagnosis>
  /**
   * @param id process of a manager on this database
   * @throws AppError `not_found`, `unavailable`, `internal`
   */
  manager(id: string, signal?: AbortSignal): Promise<Diagnosis>
  /** @throws AppError `agent_not_found`, `agent_unreachable`, or the agent's error */
  agent(id: AgentId): Promise<Diagnosis>
  /** A .tar.gz of everything that a helper needs, created while it is read; secrets are blanked. */
  bundle(options: { readonly addresses: 'keep' | 'blank' }, signal: AbortSignal): Promise<Readable>
}

export interface DiagnosticsDeps {
  readonly agents: AgentRequests
  readonly listAgents: () => Promise<Agent[]>
  /** @throws `agent_not_found` */
  readonly getAgent: (id: AgentId) => Promise<Pick<Agent, 'status'>>
  /** Process of this manager. */
  readonly processId: string
  /** All managers on this database. */
  readonly listManagers: () => Promise<readonly { readonly id: string }[]>
  /** Runs `berth doctor` of this manager. */
  readonly doctor: () => Promise<Diagnosis>
  readonly others: OtherManagers
  /** Files of the bundle for which the manager needs no other process, by path; each is read when its turn comes. */
  readonly facts: Readonly<Record<string, () => unknown>>
  /** The last lines of the manager's log. */
  readonly logLines: () => readonly string[]
  /** Secrets that the manager knows in the clear. */
  readonly secrets: () => Promise<readonly string[]>
  readonly log: Log
  /** Time limit for an agent; only tests change it. */
  readonly agentMs?: number
}

/** Longer than the limit of the doctor on the agent, so that its own report of a failure arrives. */
const AGENT_MS = DIAGNOSIS_SECONDS * 1000
/** Settings such as `tokenDays`, whose names look like those of secrets. */
const PLAIN = plainNamesOf(SystemSettings)
/** Number of hosts asked at once for the bundle. */
const AT_ONCE = 16

/** Runs `berth doctor` of managers and agents. Each is asked separately, so that one that hangs does not delay the others. */
export function createDiagnostics(deps: DiagnosticsDeps): Diagnostics {
  const { agents, listAgents, facts, log } = deps
  const own = shareRuns(() => onBehalfOfAll(() => deps.doctor()))

  const ask = (id: AgentId, signal?: AbortSignal): Promise<RequestReply<'diagnose'>> =>
    agents.request(id, 'diagnose', {}, { timeoutMs: deps.agentMs ?? AGENT_MS, ...(signal ? { signal } : {}) })

  return {
    own,

    manager: async (id, signal) =>
      id === deps.processId
        ? own()
        : (await deps.others.ask(id, { withLog: false, ...(signal ? { signal } : {}) })).diagnosis,

    async agent(id) {
      if ((await deps.getAgent(id)).status === 'REVOKED') throw new AppError('agent_not_found', { agentId: id })
      return cleanDiagnosis((await ask(id)).diagnosis)
    },

    async bundle({ addresses }, signal) {
      const redactor = createRedactor({
        known: await deps.secrets(),
        plainNames: PLAIN,
        addresses: addresses === 'blank',
      })
      const archive = pack()
      let turn: Promise<unknown> = Promise.resolve()
      // Adds a file when the reader has taken the previous one, so that a slow reader does not fill the memory.
      const add = (name: string, content: string) => (turn = turn.then(() => addFile(archive, name, content)))
      const addJson = async (name: string, read: () => unknown) => {
        const value = await (async () => await read())().catch((error: unknown) => ({ error: toWireError(error) }))
        await add(name, `${JSON.stringify(redactor.value(value), null, 2)}\n`)
      }
      const addHost = async (folder: string, asked: Promise<HostReply>) => {
        const reply = await asked.catch((error: unknown) => ({ error: toWireError(error) }))
        await addJson(`${folder}/doctor.json`, () => ('error' in reply ? reply : reply.diagnosis))
        if ('error' in reply) return
        await add(`${folder}/log.jsonl`, redactLines(reply.log, redactor))
      }
      const addOwn = async () => {
        await addJson(`managers/${deps.processId}/doctor.json`, own)
        await add(`managers/${deps.processId}/log.jsonl`, redactLines(deps.logLines(), redactor))
      }
      const fill = async () => {
        await Promise.all(Object.entries(facts).map(([name, read]) => addJson(name, read)))
        await addOwn()
        const others = (await deps.listManagers()).map(({ id }) => id).filter(id => id !== deps.processId)
        const connected = (await listAgents()).filter(({ status }) => status === 'CONNECTED')
        const waiting = [
          ...connected.map(
            ({ id }) =>
              () =>
                addHost(`agents/${id}`, ask(id, signal)),
          ),
          ...others.map(id => () => addHost(`managers/${id}`, deps.others.ask(id, { withLog: true, signal }))),
        ]
        const work = async () => {
          for (let next = waiting.pop(); next && !signal.aborted; next = waiting.pop()) await next()
        }
        await Promise.all(Array.from({ length: AT_ONCE }, work))
        archive.finalize()
      }
      const out = createGzip()
      archive.on('error', error => out.destroy(error))
      archive.pipe(out)
      signal.addEventListener('abort', () => out.destroy())
      out.once('close', () => archive.destroy())
      fill().catch((error: unknown) => {
        if (!signal.aborted) log.error({ err: error }, 'the bundle of the diagnostics could not be made')
        out.destroy(error instanceof Error ? error : undefined)
      })
      return out
    },
  }
}

type HostReply = Pick<RequestReply<'diagnose'>, 'diagnosis'> & { readonly log: readonly string[] }

/**
 * Resolves once the reader has taken the file, or has disconnected.
 * @returns once the reader has taken the file, or is gone
 */
async function addFile(archive: Pack, name: string, content: string): Promise<void> {
  const bytes = Buffer.from(content)
  const entry = archive.entry({ name: `berth-diagnostics/${name}`, size: bytes.length })
  const closed = once(entry, 'close')
  entry.end(bytes)
  await closed
}

const redactLines = (lines: readonly string[], redactor: Redactor): string =>
  lines.map(line => `${redactor.line(line)}\n`).join('')
