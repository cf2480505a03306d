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
  parseJson,
  toWireError,
} from '#manager/contract'
import { type RequestReply } from '#agent/contract'
import { type AgentRequests } from '../agent-link/connection.ts'
import { type Log } from '../log.ts'
import { createBlanker, type Blanker } from './blank-secrets.ts'

export interface Diagnostics {
  manager(): Promise<Diagnosis>
  /** @throws AppError `agent_not_found`, `agent_unreachable`, or the agent's error */
  agent(id: AgentId): Promise<Diagnosis>
  /** A .tar.gz of everything that somebody who helps needs, made while it is read; secrets are blanked. */
  bundle(options: { readonly addresses: 'keep' | 'blank' }, signal: AbortSignal): Promise<Readable>
}

export interface DiagnosticsDeps {
  readonly agents: AgentRequests
  readonly listAgents: () => Promise<Agent[]>
  /** `berth doctor` of this manager. */
  readonly doctor: () => Promise<Diagnosis>
  /** Files of the bundle that the manager knows by itself, by their path, each read when its turn comes. */
  readonly facts: Readonly<Record<string, () => unknown>>
  /** The last lines of the manager's log. */
  readonly logLines: () => readonly string[]
  /** Secrets that the manager knows in the clear. */
  readonly secrets: () => Promise<readonly string[]>
  readonly log: Log
  /** How long an agent has; only tests have a reason to change it. */
  readonly agentMs?: number
}

/** Longer than the doctor on the agent has, so that its own report of a failure arrives. */
const AGENT_MS = 40_000
/** Agents that are asked at once for the bundle. */
const AT_ONCE = 16

/** `berth doctor` of this manager and of agents. Each is asked for itself: one that hangs keeps nobody waiting. */
export function createDiagnostics(deps: DiagnosticsDeps): Diagnostics {
  const { agents, listAgents, facts, log } = deps
  let running: Promise<Diagnosis> | undefined

  const manager = () => (running ??= deps.doctor().finally(() => (running = undefined)))
  const ask = (id: AgentId, signal?: AbortSignal): Promise<RequestReply<'diagnose'>> =>
    agents.request(id, 'diagnose', {}, { timeoutMs: deps.agentMs ?? AGENT_MS, ...(signal ? { signal } : {}) })

  return {
    manager,

    async agent(id) {
      const found = (await listAgents()).find(agent => agent.id === id)
      if (!found) throw new AppError('agent_not_found', { agentId: id })
      return cleanDiagnosis((await ask(id)).diagnosis)
    },

    async bundle({ addresses }, signal) {
      const blanker = createBlanker({ known: await deps.secrets(), addresses: addresses === 'blank' })
      const archive = pack()
      let turn: Promise<unknown> = Promise.resolve()
      // A file is added when the reader has taken the one before it, so a slow reader makes nothing pile up here.
      const add = (name: string, content: string) => (turn = turn.then(() => addFile(archive, name, content)))
      const addJson = async (name: string, read: () => unknown) => {
        const value = await (async () => await read())().catch((error: unknown) => ({ error: toWireError(error) }))
        await add(name, `${JSON.stringify(blanker.value(value), null, 2)}\n`)
      }
      const addAgent = async ({ id }: Agent) => {
        const reply = await ask(id, signal).catch((error: unknown) => ({ error: toWireError(error) }))
        await addJson(`agents/${id}/doctor.json`, () => ('error' in reply ? reply : reply.diagnosis))
        if ('error' in reply) return
        await add(`agents/${id}/log.jsonl`, blankLines(reply.log, blanker))
      }
      const fill = async () => {
        await Promise.all(Object.entries(facts).map(([name, read]) => addJson(name, read)))
        await addJson('manager/doctor.json', manager)
        await add('manager/log.jsonl', blankLines(deps.logLines(), blanker))
        const waiting = (await listAgents()).filter(({ status }) => status === 'CONNECTED')
        const work = async () => {
          for (let next = waiting.pop(); next && !signal.aborted; next = waiting.pop()) await addAgent(next)
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

/** @returns when the reader has taken the file, or is gone */
async function addFile(archive: Pack, name: string, content: string): Promise<void> {
  const bytes = Buffer.from(content)
  const entry = archive.entry({ name: `berth-diagnostics/${name}`, size: bytes.length })
  const closed = once(entry, 'close')
  entry.end(bytes)
  await closed
}

/** Log lines are JSON, in which the names say what is a secret; a line that is none is cleaned as text. */
function blankLines(lines: readonly string[], blanker: Blanker): string {
  const clean = lines.map(line => {
    const value = parseJson(line)
    return typeof value === 'object' && value !== null ? JSON.stringify(blanker.value(value)) : blanker.text(line)
  })
  return clean.map(line => `${line}\n`).join('')
}
