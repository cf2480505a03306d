import { type AgentId } from '#manager/contract'
import { type Log } from '../log.ts'
import { changeAgentLinks, listLinkedElsewhere, listUnlinked, replaceAgentLinks } from '../store/operation/managers.ts'
import { type Db } from '../store/schema.ts'
import { together } from '../store/together.ts'
import { type Peers } from './peers.ts'

/** Tracks which manager has a control connection to which agent. An agent is lost only when no manager has one. */
export interface AgentLinks {
  /** Records that this manager now has a connection to the agent; `via` names another manager process if the agent cannot dial this one. */
  add(agentId: AgentId, via: string | null): void
  /** Records that this manager has lost its connection to the agent. */
  remove(agentId: AgentId): void
  /** Whether another manager has a connection to the agent, read from the database. */
  isElsewhere(agentId: AgentId): Promise<boolean>
  /** Whether another manager had a connection to the agent at the last check, at most some seconds ago. */
  wasElsewhere(agentId: AgentId): boolean
  /** Called for agents that no manager has had a connection to for too long, although the database says CONNECTED. */
  onUnlinked(listener: (agentId: AgentId) => void): void
}

export interface SyncedLinks extends AgentLinks, AsyncDisposable {
  /** Writes this manager's changes, and reads those of other managers. */
  sync(): Promise<void>
  /** Call when the database has deleted this manager's row and its links: all links must be written again. */
  forgotten(): void
  /** Compares with the number of this manager's links in the database: after a failover, some may be missing. */
  counted(inDatabase: number): void
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
  /** Agents whose links differ from those in the database. With a thousand agents, writing all links for each change would be quadratic. */
  const different = new Set<AgentId>()
  /** Whether the database has none of the links, or nobody knows which. */
  let isForgotten = false
  const listeners: ((agentId: AgentId) => void)[] = []
  const changed = peers.topic<null>('links')
  let elsewhere: ReadonlySet<AgentId> = new Set()
  let unlinkedSince = new Map<AgentId, number>()
  let work: Promise<void> = Promise.resolve()
  let isWriteDue = false
  let isCheckDue = false

  async function write(): Promise<void> {
    if (!isForgotten && different.size === 0) return
    const ids = [...different]
    different.clear()
    const isWhole = isForgotten
    isForgotten = false
    try {
      if (isWhole) await replaceAgentLinks(db, processId, own)
      else await changeAgentLinks(db, processId, new Map(ids.map(id => [id, own.get(id)])))
    } catch (error) {
      isForgotten ||= isWhole
      for (const id of ids) different.add(id)
      throw error
    }
    changed.tell(null)
  }

  async function check(): Promise<void> {
    isCheckDue = false
    elsewhere = new Set(await listLinkedElsewhere(db, processId))
    const now = performance.now()
    const unlinked = (await listUnlinked(db)).filter(id => !own.has(id))
    unlinkedSince = new Map(unlinked.map(id => [id, unlinkedSince.get(id) ?? now]))
    for (const [id, since] of unlinkedSince) if (now - since >= lostMs) for (const listener of listeners) listener(id)
  }

  /** Runs one task at a time, so that an earlier state never overwrites a later one. */
  function run(what: () => Promise<void>): Promise<void> {
    work = work.then(what).catch((error: unknown) => log.warn({ err: error }, 'links to agents could not be written'))
    return work
  }
  function isDifferent(agentId: AgentId): void {
    different.add(agentId)
    if (isWriteDue) return
    isWriteDue = true
    void run(() => {
      isWriteDue = false
      return write()
    })
  }
  changed.on(() => {
    // A check that has not begun sees this change too.
    if (isCheckDue) return
    isCheckDue = true
    void run(check)
  })
  /** All agents of a manager whose network fails are asked about at once. */
  const findElsewhere = together(async (ids: readonly AgentId[]) => {
    await run(write)
    const found = new Set(await listLinkedElsewhere(db, processId, ids))
    const asked = new Set(ids)
    elsewhere = new Set([...[...elsewhere].filter(id => !asked.has(id)), ...found])
    return ids.map(id => found.has(id))
  })

  return {
    add(agentId, via) {
      own.set(agentId, via)
      isDifferent(agentId)
    },
    remove(agentId) {
      if (own.delete(agentId)) isDifferent(agentId)
    },
    isElsewhere: findElsewhere,
    wasElsewhere: agentId => elsewhere.has(agentId),
    onUnlinked: listener => void listeners.push(listener),
    sync: () =>
      run(async () => {
        await write()
        await check()
      }),
    forgotten() {
      isForgotten = true
    },
    counted(inDatabase) {
      if (inDatabase !== own.size) isForgotten = true
    },
    async [Symbol.asyncDispose]() {
      await work
    },
  }
}

/** Links of a manager that is alone on its database. */
export const NO_LINKS: AgentLinks = {
  add: () => undefined,
  remove: () => undefined,
  isElsewhere: () => Promise.resolve(false),
  wasElsewhere: () => false,
  onUnlinked: () => undefined,
}
