import { createHash } from 'node:crypto'
import { type Cidr, formatCidr, SESSION_BITS } from './subnets.ts'
import { VXLAN_PORT } from './vxlan-port.ts'

export interface FirewallSpec {
  readonly range: Cidr
  readonly deny: readonly Cidr[]
  /** Name servers of the host outside loopback: containers query them directly. */
  readonly nameServers: readonly string[]
  /** User that may dial sessions on this machine, besides root. */
  readonly agentUid: number
  /**
   * Whether the rules see and can match frames within a bridge (`br_netfilter`), over which kernels of one session talk to each
   * other. Without the module such frames never pass the rules.
   */
  readonly bridged?: boolean
  /** Whether the kernel can count the connections of a session (`xt_connlimit`). */
  readonly counted?: boolean
  /** Hosts with which this one shares networks of sessions; undefined if it takes no part in sessions over several hosts. */
  readonly clusterPeers?: readonly string[] | undefined
  /** Port of the proxy by which sessions with an allow list reach names; left out: there is no such proxy. */
  readonly proxyPort?: number | undefined
}

/** A chain of ours; `from` is the built-in chain that leads into it. */
export interface Chain {
  readonly name: string
  readonly from: 'INPUT' | 'FORWARD' | 'OUTPUT'
  readonly rules: readonly string[]
}

export const DEFAULT_RANGE = '10.213.0.0/16'
const METADATA = '169.254.0.0/16'
const ESTABLISHED = '-m conntrack --ctstate ESTABLISHED,RELATED -j RETURN'

/**
 * Connections that a session may have open at a time. The kernel keeps all connections of the host in one table, of 262,144 places usually,
 * and refuses new ones of everybody when it is full.
 */
const MOST_CONNECTIONS = 8_192

/**
 * Bridges of sessions without network, and of those with an allow list. Their rules name bridges by these prefixes, so they are in place
 * before there is such a bridge, and stay when the agent is killed.
 */
export const CLOSED_BRIDGE = 'berthn'
export const LISTED_BRIDGE = 'berthp'

/**
 * Rules that isolate sessions, as chains of our own. All other traffic is left to the existing rules: our chains only reject or return.
 *
 * - INPUT: a session may not open connections to the host.
 * - FORWARD, by way of DOCKER-USER where Docker has one: a session opens no connection to link-local addresses (metadata services of
 *   clouds), to another session, or to addresses that the admin denies. Only kernels of one session share a bridge and reach each other.
 *   Only this host opens a connection to a session.
 * - OUTPUT: of the users of this host, only root and the agent's user may open a connection to a session.
 *
 * A session without network, or with an allow list, opens no connection at all but to its other kernels and, with a list, to the proxy on
 * its own bridge. This one rule accepts, because a firewall of the host behind ours would refuse what it does not know.
 *
 * Embedded DNS works through Docker's resolver inside the container's namespace; its queries go to the host's name servers.
 */
export function firewallChains({
  range,
  deny,
  nameServers,
  agentUid,
  bridged = true,
  counted = true,
  clusterPeers,
  proxyPort,
}: FirewallSpec): Chain[] {
  const sessions = formatCidr(range)
  const suffix = sessions === DEFAULT_RANGE ? '' : `-${createHash('sha256').update(sessions).digest('hex').slice(0, 8)}`
  const dns = nameServers.flatMap(server =>
    ['udp', 'tcp'].map(protocol => `-s ${sessions} -d ${server} -p ${protocol} --dport 53 -j RETURN`),
  )
  const reject = (match: string) => [`${match} -p tcp -j REJECT --reject-with tcp-reset`, `${match} -j REJECT`]
  const tooMany = counted
    ? [`-s ${sessions} -m connlimit --connlimit-above ${MOST_CONNECTIONS} --connlimit-mask ${SESSION_BITS} -j REJECT`]
    : []
  const uids = [...new Set([0, agentUid])]
  const vxlan = clusterRules(clusterPeers)
  const closed = [CLOSED_BRIDGE, LISTED_BRIDGE].map(prefix => `-s ${sessions} -i ${prefix}+`)
  const proxy =
    proxyPort === undefined
      ? []
      : [`-s ${sessions} -d ${sessions} -i ${LISTED_BRIDGE}+ -p tcp --dport ${proxyPort} -j ACCEPT`]
  // Frames from one kernel of such a session to another stay on their bridge.
  const leaving = [CLOSED_BRIDGE, LISTED_BRIDGE].map(prefix => `-s ${sessions} -i ${prefix}+ ! -o ${prefix}+`)
  return [
    {
      name: `BERTH-INPUT${suffix}`,
      from: 'INPUT',
      rules: [
        ...vxlan.input,
        `-s ${sessions} ${ESTABLISHED}`,
        ...tooMany,
        ...proxy,
        ...closed.flatMap(reject),
        ...dns,
        ...reject(`-s ${sessions}`),
      ],
    },
    {
      name: `BERTH-FORWARD${suffix}`,
      from: 'FORWARD',
      rules: [
        ...vxlan.forward,
        // Before the rule for established connections: nothing of theirs is forwarded, whatever the kernel takes it for.
        ...leaving.flatMap(reject),
        `-s ${sessions} ${ESTABLISHED}`,
        `-d ${sessions} ${ESTABLISHED}`,
        ...tooMany,
        ...(bridged ? [`-s ${sessions} -d ${sessions} -m physdev --physdev-is-bridged -j RETURN`] : []),
        ...dns,
        ...[METADATA, ...deny.map(formatCidr)].flatMap(cidr => reject(`-s ${sessions} -d ${cidr}`)),
        ...reject(`-d ${sessions}`),
      ],
    },
    {
      name: `BERTH-OUTPUT${suffix}`,
      from: 'OUTPUT',
      rules: [
        ...vxlan.output,
        `-d ${sessions} ${ESTABLISHED}`,
        ...uids.map(uid => `-d ${sessions} -m owner --uid-owner ${uid} -j RETURN`),
        ...reject(`-d ${sessions}`),
      ],
    },
  ]
}

/**
 * Rules for the networks between hosts. VXLAN proves nothing about its sender: the port admits the hosts of present sessions only, and
 * nothing but the kernel's own links may send to such a port from here, neither a program of any user nor a container, which would come
 * from the address of this host.
 */
function clusterRules(peers: readonly string[] | undefined): Record<'input' | 'forward' | 'output', string[]> {
  if (!peers) return { input: [], forward: [], output: [] }
  const port = `-p udp --dport ${VXLAN_PORT}`
  return {
    input: [...peers.map(host => `-s ${host} ${port} -j RETURN`), `${port} -j DROP`],
    forward: [`${port} -j DROP`],
    output: [`${port} -m owner --socket-exists -j DROP`],
  }
}

/** Input of `iptables-restore --noflush`: naming an existing chain empties it, and the whole input is applied atomically. */
export function restoreInput(chains: readonly Chain[]): string {
  return [
    '*filter',
    ...chains.map(chain => `:${chain.name} - [0:0]`),
    ...chains.flatMap(chain => chain.rules.map(rule => `-A ${chain.name} ${rule}`)),
    'COMMIT',
    '',
  ].join('\n')
}

/** IPv4 name servers of a resolv.conf, without loopback ones, which Docker queries from the host's own namespace. */
export function nameServersOf(resolvConf: string): string[] {
  return [...resolvConf.matchAll(/^nameserver\s+(\d+\.\d+\.\d+\.\d+)\s*$/gm)]
    .map(match => match[1] ?? '')
    .filter(address => !address.startsWith('127.'))
}
