import { type ChildProcess, execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { AppError, type Because, because, becauseOf } from '#manager/contract'
import { type Log } from '../log.ts'
import { type Chain, firewallChains, type FirewallSpec, nameServersOf, restoreInput } from './firewall-rules.ts'

export interface Isolation {
  readonly isolation: 'full' | 'partial'
  /** Reason why the isolation is not full, for people; null for a full one. */
  readonly reason: Because | null
}

export interface Firewall extends AsyncDisposable {
  readonly state: Isolation
  /** Looks at the rules, and installs them unless all of them are in place. Never throws: a failure is in `state`. */
  apply(): Promise<void>
}

export type FirewallOptions = Omit<FirewallSpec, 'nameServers' | 'agentUid'> & {
  /** Checks the range first: rules for a range that belongs to someone else would cut them off. @throws with the reason */
  readonly checkRange: () => Promise<void>
  readonly log: Log
  readonly onChange: () => void
}

const CHECK_EVERY_MS = 30_000
const TIMEOUT_MS = 10_000
/** A host with many published ports has thousands of rules. */
const MAX_RULES_BYTES = 64 * 2 ** 20

/**
 * Keeps the rules of `firewall-rules.ts` in place. Other programs rewrite tables (Docker when it starts, admins, firewalld), so
 * it checks again every 30 seconds. The rules stay when the agent stops, because the sessions stay too.
 */
export function startFirewall(options: FirewallOptions): Firewall {
  const { log, onChange } = options
  let state: Isolation = { isolation: 'partial', reason: because('firewall_not_set_up') }
  let working: Promise<void> = Promise.resolve()
  let installed: Installed | undefined

  async function applyOnce(): Promise<void> {
    const next = await keepInstalled(options, installed).then(
      (found): Isolation => {
        installed = found
        return { isolation: 'full', reason: null }
      },
      (error: unknown): Isolation => {
        installed = undefined
        return { isolation: 'partial', reason: reasonOf(error) }
      },
    )
    if (next.isolation === state.isolation && next.reason?.why === state.reason?.why) return
    state = next
    if (next.isolation === 'full') log.info({}, 'sessions are isolated by the firewall')
    else log.warn({ reason: next.reason?.why }, 'sessions are not fully isolated')
    onChange()
  }

  const apply = () => (working = working.then(applyOnce))
  const timer = setInterval(() => void apply(), CHECK_EVERY_MS)
  timer.unref()
  return {
    get state() {
      return state
    },
    apply,
    async [Symbol.asyncDispose]() {
      clearInterval(timer)
      await working
    },
  }
}

/** Rules as they were put in place: the text for iptables-restore, and what it became. */
interface Installed {
  readonly input: string
  /** Our rules and jumps as iptables-save prints them, one a line. */
  readonly rules: string
}

/**
 * Puts the rules in place unless they still are: to look costs one process, to install four.
 *
 * @returns undefined if the next call must install again: another program has removed rules since, the rules cannot be listed, or
 * this kernel has refused those for bridged frames, which a module that is loaded later makes possible
 */
async function keepInstalled(options: FirewallOptions, before: Installed | undefined): Promise<Installed | undefined> {
  if (process.platform !== 'linux') throw new AppError('unavailable', because('no_iptables_here'))
  if (process.getuid?.() !== 0) throw new AppError('unavailable', because('agent_not_root'))
  await options.checkRange()
  const nameServers = nameServersOf(await readFile('/etc/resolv.conf', 'utf8').catch(() => ''))
  const spec = { ...options, nameServers, agentUid: process.geteuid?.() ?? 0 }
  const chains = firewallChains(spec)
  const input = restoreInput(chains)
  if (before?.input === input && before.rules === (await readRules(chains))) return before
  const restore = (text: string) => call('iptables-restore', ['--noflush', '-w', '5'], text)
  const isComplete = await restore(input).then(
    () => true,
    async () => {
      // A kernel without the match for bridged frames does not show them to the rules either.
      await restore(restoreInput(firewallChains({ ...spec, bridged: false })))
      return false
    },
  )
  for (const chain of chains) await jumpTo(chain)
  const rules = isComplete ? await readRules(chains) : undefined
  return rules !== undefined && areListed(chains, rules) ? { input, rules } : undefined
}

/** Whether the listing has every jump and as many rules as were installed: iptables prints a rule in words of its own. */
function areListed(chains: readonly Chain[], listing: string): boolean {
  const lines = listing.split('\n')
  return chains.every(
    ({ name, from, rules }) =>
      lines.includes(`-A ${from} -j ${name}`) &&
      lines.filter(line => line.startsWith(`-A ${name} `)).length === rules.length,
  )
}

/** The rules in our chains and the jumps to them, one a line; undefined where they cannot be listed. */
async function readRules(chains: readonly Chain[]): Promise<string | undefined> {
  const saved = await call('iptables-save', ['-t', 'filter']).catch(() => undefined)
  const isOurs = (line: string) =>
    chains.some(({ name, from }) => line.startsWith(`-A ${name} `) || line === `-A ${from} -j ${name}`)
  return saved?.split('\n').filter(isOurs).join('\n')
}

async function jumpTo({ name, from }: Chain): Promise<void> {
  const present = await call('iptables', ['-w', '5', '-C', from, '-j', name]).then(
    () => true,
    () => false,
  )
  // Insert the jump first, so that no other rule accepts before it.
  if (!present) await call('iptables', ['-w', '5', '-I', from, '1', '-j', name])
}

/** Runs a program without a shell: the words of a rule are arguments. @returns its standard output */
function call(program: string, args: readonly string[], input?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child: ChildProcess = execFile(
      program,
      args,
      { timeout: TIMEOUT_MS, maxBuffer: MAX_RULES_BYTES },
      (error, stdout, stderr) => {
        if (error) reject(new Error(stderr.trim() === '' ? error.message : stderr.trim(), { cause: error }))
        else resolve(stdout)
      },
    )
    // A program that is missing, or ends early, does not read its input; its exit reports the error.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(input ?? '')
  })
}

function reasonOf(error: unknown): Because {
  const known = becauseOf(error)
  if (known) return known
  const message = error instanceof Error ? error.message : String(error)
  if (message.includes('ENOENT')) return because('iptables_not_installed')
  return because('iptables_says', { text: message.split('\n').slice(0, 2).join(' ') })
}
