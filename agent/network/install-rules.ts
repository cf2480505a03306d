import { type Chain, firewallChains, type FirewallSpec, restoreInput } from './firewall-rules.ts'
import { type Iptables } from './iptables.ts'

/** Installed rules: the text for iptables-restore, and the resulting listing. */
export interface Installed {
  readonly input: string
  /** The lines of iptables-save that concern us. */
  readonly listing: string
}

/** Errors by built-in chain: the rules of these chains are not installed. */
export type Failures = ReadonlyMap<Chain['from'], unknown>

/**
 * Chain that Docker calls first in FORWARD, and leaves to others. Docker puts its other jumps before ours each time it starts, so we use
 * FORWARD itself only for engines without this chain: Docker 29 with nftables, `"iptables": false`, or an engine whose rules are in the
 * other back end of iptables. Our rules work there too, because an accept of Docker in nftables, or in another table, does not override our
 * reject.
 */
const DOCKER_USER = 'DOCKER-USER'
const JUMP_TO_DOCKER_USER = `-A FORWARD -j ${DOCKER_USER}`

/**
 * Installs the rules unless they are still in place: checking costs one process, installing seven. If one chain fails, the others stay in
 * place.
 *
 * @returns `installed` is undefined if the next call must install again: something failed, another program has removed rules since, the
 *   rules cannot be listed, or this kernel has refused those for bridged frames or numbers of connections, which may work once a module is
 *   loaded
 */
export async function keepInstalled(
  iptables: Iptables,
  spec: FirewallSpec,
  before: Installed | undefined,
): Promise<{ readonly installed: Installed | undefined; readonly failures: Failures }> {
  const chains = firewallChains(spec)
  const input = restoreInput(chains)
  if (before?.input === input && before.listing === (await listRules(iptables, chains))) {
    return { installed: before, failures: new Map() }
  }
  const { isComplete, failures } = await restore(iptables, spec)
  for (const chain of chains) {
    await hook(iptables, chain).catch((error: unknown) => {
      // Keep the first error, which is the cause: a chain that could not be created cannot be called either.
      if (!failures.has(chain.from)) failures.set(chain.from, error)
    })
  }
  const listing = isComplete ? await listRules(iptables, chains) : undefined
  const isInPlace = listing !== undefined && failures.size === 0 && areListed(chains, listing)
  return { installed: isInPlace ? { input, listing } : undefined, failures }
}

/**
 * Matches that a kernel may lack, in the order in which they are given up. Isolation counts more than the number of connections. A kernel
 * without the match for bridged frames does not show them to the rules either.
 */
const WITHOUT: readonly Partial<FirewallSpec>[] = [{}, { counted: false }, { bridged: false }]

/** Restores all chains at once if the kernel can, else as many parts of each as it can. */
async function restore(iptables: Iptables, spec: FirewallSpec) {
  const send = (chains: readonly Chain[]) =>
    iptables.run('iptables-restore', ['--noflush', '-w', '5'], restoreInput(chains))
  const failures = new Map<Chain['from'], unknown>()
  for (const [given, without] of WITHOUT.entries()) {
    const isSent = await send(firewallChains({ ...spec, ...without })).then(
      () => true,
      () => false,
    )
    if (isSent) return { isComplete: given === 0, failures }
  }
  const chains = firewallChains({ ...spec, bridged: false, counted: false })
  await send(chains).catch(async () => {
    for (const chain of chains) await send([chain]).catch((error: unknown) => failures.set(chain.from, error))
  })
  return { isComplete: false, failures }
}

/** Makes the built-in chain call ours. */
async function hook(iptables: Iptables, { name, from }: Chain): Promise<void> {
  const place = from === 'FORWARD' && (await isCalled(iptables, from, DOCKER_USER)) ? DOCKER_USER : from
  try {
    await jump(iptables, place, name)
  } catch (error) {
    if (place === from) throw error
    await jump(iptables, from, name)
    return
  }
  // A jump left over from a time without DOCKER-USER.
  const isTwice = place !== from && (await isCalled(iptables, from, name))
  if (isTwice) await iptables.run('iptables', ['-w', '5', '-D', from, '-j', name])
}

async function jump(iptables: Iptables, from: string, to: string): Promise<void> {
  // Insert the jump first, so that no other rule accepts before it.
  if (!(await isCalled(iptables, from, to))) await iptables.run('iptables', ['-w', '5', '-I', from, '1', '-j', to])
}

async function isCalled(iptables: Iptables, from: string, to: string): Promise<boolean> {
  return await iptables.run('iptables', ['-w', '5', '-C', from, '-j', to]).then(
    () => true,
    () => false,
  )
}

/** Whether the listing has every jump and as many rules as were installed: iptables prints rules in another form. */
function areListed(chains: readonly Chain[], listing: string): boolean {
  const lines = listing.split('\n')
  const place = ({ from }: Chain) => (from === 'FORWARD' && lines.includes(JUMP_TO_DOCKER_USER) ? DOCKER_USER : from)
  return chains.every(
    chain =>
      lines.includes(`-A ${place(chain)} -j ${chain.name}`) &&
      lines.filter(line => line.startsWith(`-A ${chain.name} `)).length === chain.rules.length,
  )
}

/**
 * The rules in our chains, the jumps to them, and Docker's jump that decides where ours belongs, one per line; undefined if they cannot be
 * listed.
 */
async function listRules(iptables: Iptables, chains: readonly Chain[]): Promise<string | undefined> {
  const saved = await iptables.run('iptables-save', ['-t', 'filter']).catch(() => undefined)
  const concernsUs = (line: string) =>
    line === JUMP_TO_DOCKER_USER ||
    chains.some(({ name }) => line.startsWith(`-A ${name} `) || line.endsWith(` -j ${name}`))
  return saved?.split('\n').filter(concernsUs).join('\n')
}
