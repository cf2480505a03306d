import { readFile } from 'node:fs/promises'
import { every } from '#base/every'
import { type Because, because, becauseOf, together } from '#manager/contract'
import { type Log } from '../log.ts'
import { type FirewallSpec, nameServersOf } from './firewall-rules.ts'
import { type Failures, type Installed, keepInstalled } from './install-rules.ts'
import { hostIptables, type Iptables } from './iptables.ts'

export interface Isolation {
  readonly isolation: 'full' | 'partial'
  /** Reason why the isolation is not full, for people; null for a full one. */
  readonly reason: Because | null
}

export interface Firewall extends AsyncDisposable {
  readonly state: Isolation
  /** Checks the rules, and installs them unless all are in place. Never throws: a failure is in `state`. */
  apply(): Promise<void>
}

export type FirewallOptions = Omit<FirewallSpec, 'nameServers' | 'agentUid' | 'clusterPeers'> & {
  /** Hosts with which this one shares networks of sessions; left out if it takes no part in such sessions. */
  readonly clusterPeers?: (() => Promise<readonly string[] | undefined>) | undefined
  /** Checks the range first: rules for somebody else's range would cut off its addresses. @throws with the reason */
  readonly checkRange: () => Promise<void>
  /** Default: the programs of this machine, in this process's network. */
  readonly iptables?: Iptables | undefined
  readonly log: Log
  readonly onChange: () => void
}

const CHECK_EVERY_MS = 30_000

/**
 * Keeps the rules of `firewall-rules.ts` in place. Other programs rewrite tables (Docker when it starts, admins, firewalld), so
 * it checks again every 30 seconds. The rules stay when the agent stops, because the sessions stay too.
 */
export function startFirewall(options: FirewallOptions): Firewall {
  const { log, onChange, iptables = hostIptables() } = options
  let state: Isolation = { isolation: 'partial', reason: because('firewall_not_set_up') }
  let working: Promise<void> = Promise.resolve()
  let installed: Installed | undefined

  async function check(): Promise<Isolation> {
    try {
      iptables.check()
      await options.checkRange()
      const nameServers = nameServersOf(await readFile('/etc/resolv.conf', 'utf8').catch(() => ''))
      const clusterPeers = await options.clusterPeers?.()
      const spec = { ...options, nameServers, agentUid: process.geteuid?.() ?? 0, clusterPeers }
      const found = await keepInstalled(iptables, spec, installed)
      installed = found.installed
      return isolationOf(found.failures)
    } catch (error) {
      installed = undefined
      return { isolation: 'partial', reason: reasonOf(error) }
    }
  }

  async function applyOnce(): Promise<void> {
    const next = await check()
    if (next.isolation === state.isolation && next.reason?.why === state.reason?.why) return
    state = next
    if (next.isolation === 'full') log.info({}, 'sessions are isolated by the firewall')
    else log.warn({ reason: next.reason?.why }, 'sessions are not fully isolated')
    onChange()
  }

  const apply = () => (working = working.then(applyOnce))
  const checking = every(iptables.checkEveryMs ?? CHECK_EVERY_MS, apply)
  return {
    get state() {
      return state
    },
    apply,
    async [Symbol.asyncDispose]() {
      checking[Symbol.dispose]()
      await working
    },
  }
}

/** The firewall counts only as a whole; the reason names the chains that are missing. */
function isolationOf(failures: Failures): Isolation {
  const [first] = failures.values()
  if (first === undefined) return { isolation: 'full', reason: null }
  const chains = [...failures.keys()].join(', ')
  return { isolation: 'partial', reason: together(because('firewall_chains_missing', { chains }), reasonOf(first)) }
}

function reasonOf(error: unknown): Because {
  const text = error instanceof Error ? error.message : String(error)
  return becauseOf(error) ?? because('iptables_says', { text })
}
