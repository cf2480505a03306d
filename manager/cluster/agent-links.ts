import { type AgentId } from '#manager/contract'
import { type Log } from '../log.ts'
import { listLinkedElsewhere, listUnlinked, saveAgentLinks } from '../store/operation/managers.ts'
import { type Db } from '../store/schema.ts'
import { type Peers } from './peers.ts'

/** Which manager has a control connection to which agent: an agent is lost only when none has. */
export interface AgentLinks {
  /** This manager has a connection to the agent now; `via` another manager process where the agent cannot dial it. */
  add(agentId: AgentId, via: string | null): void
  /** It has none any more. */
  remove(agentId: AgentId): void
  /** Asks the database: another manager has one. */
  isElsewhere(agentId: AgentId): Promise<boolean>
  /** As of the last look, some seconds old at most. */
  wasElsewhere(agentId: AgentId): boolean
  /** Agents that nobody has had a connection to for too long, although the database says CONNECTED. */
  onUnlinked(listener: (agentId: AgentId) => void): void
}

export interface SyncedLinks extends AgentLinks, AsyncDisposable {
  /** Writes what changed here, and looks at what changed elsewhere. */
  sync(): Promise<void>
  /** The database has forgotten this manager, and its links with it. */
  forgotten(): void
}

export interface AgentLinksDeps {
  readonly db: Db
  readonly processId: string
  readonly peers: Peers
  readonly lostMs: number
  readonly log: Log
}

export function createAgentLinks({ db, processId, peers, lostMs, log }: AgentLinksDeps): SyncedLinks {
  const own = new Map<AgentId, string | null>()
  const listeners: ((agentId: AgentId) => void)[] = []
  const changed = peers.topic<null>('links')
  let elsewhere: ReadonlySet<AgentId> = new Set()
  let unlinkedSince = new Map<AgentId, number>()
  let dirty = false
  let work: Promise<void> = Promise.resolve()
  let scheduled = false

  async function write(): Promise<void> {
    if (!dirty) return
    dirty = false
    try {
      await saveAgentLinks(db, processId, own)
    } catch (error) {
      dirty = true
      throw error
    }
    changed.tell(null)
  }

  async function look(): Promise<void> {
    elsewhere = new Set(await listLinkedElsewhere(db, processId))
    const now = performance.now()
    const unlinked = (await listUnlinked(db)).filter(id => !own.has(id))
    unlinkedSince = new Map(unlinked.map(id => [id, unlinkedSince.get(id) ?? now]))
    for (const [id, since] of unlinkedSince) if (now - since >= lostMs) for (const listener of listeners) listener(id)
  }

  /** One at a time, so that a later state is never overwritten by an earlier one. */
  function run(what: () => Promise<void>): Promise<void> {
    work = work.then(what).catch((error: unknown) => log.warn({ err: error }, 'links to agents could not be written'))
    return work
  }
  function soon(): void {
    dirty = true
    if (scheduled) return
    scheduled = true
    void run(() => {
      scheduled = false
      return write()
    })
  }
  changed.on(() => void run(look))

  return {
    add(agentId, via) {
      own.set(agentId, via)
      soon()
    },
    remove(agentId) {
      if (own.delete(agentId)) soon()
    },
    async isElsewhere(agentId) {
      await run(write)
      elsewhere = new Set(await listLinkedElsewhere(db, processId))
      return elsewhere.has(agentId)
    },
    wasElsewhere: agentId => elsewhere.has(agentId),
    onUnlinked: listener => void listeners.push(listener),
    sync: () =>
      run(async () => {
        await write()
        await look()
      }),
    forgotten() {
      dirty = true
    },
    async [Symbol.asyncDispose]() {
      await work
    },
  }
}

/** Of a manager that is alone on its database. */
export const NO_LINKS: AgentLinks = {
  add: () => undefined,
  remove: () => undefined,
  isElsewhere: () => Promise.resolve(false),
  wasElsewhere: () => false,
  onUnlinked: () => undefined,
}
