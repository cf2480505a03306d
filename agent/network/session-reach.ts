import { AppError, type Because } from '#manager/contract'
import { type Log } from '../log.ts'
import { type Firewall } from './firewall.ts'
import { type NameProxy } from './name-proxy.ts'
import { type NetworkMember } from './session-networks.ts'
import { formatAddress, parseCidr, SESSION_BITS } from './subnets.ts'

/**
 * Keeps sessions from the network, or within their allow list.
 *
 * Threat model: such a session must never run where it could reach more. Three things keep it in, each by itself: its network has no route
 * to the outside, the rules of the firewall refuse what would leave its bridge, and its resolver forwards no question. Before a container is
 * created, the rules are looked at, and the start fails if they are not in place as a whole. They do not depend on this process: they name
 * bridges by a prefix, are there before a bridge is, and stay when the agent is killed.
 *
 * Not kept in: what people carry. Whoever may enter a session can bring a network along (`ssh -R`), a folder of several sessions carries
 * files between them, and apps that are opened or published answer whom they are opened for.
 */
export interface SessionReach {
  /** Why sessions cannot be kept from the network on this host; null if they can. */
  readonly problem: Because | null
  /**
   * Call it when the network of a kernel is there, before its container is created.
   * @returns the address of the proxy for the programs of the session; undefined if it has none
   * @throws AppError `network_not_enforceable`, `unavailable` (the port of the proxy is taken)
   */
  prepare(member: NetworkMember, network: { readonly gateway: string }): Promise<string | undefined>
  /** Serves a kernel that an earlier process of this agent has left. Never throws: it is called again. */
  resume(member: NetworkMember, address: string | null): Promise<void>
  /** Call it when a kernel's container is gone, before its network is removed. */
  leave(member: Pick<NetworkMember, 'kernelId'>): Promise<void>
}

export interface SessionReachDeps {
  readonly firewall: () => Pick<Firewall, 'state' | 'apply'>
  readonly proxy: NameProxy
  readonly log: Pick<Log, 'warn'>
}

export function createSessionReach({ firewall, proxy, log }: SessionReachDeps): SessionReach {
  /** Addresses of the proxy by the kernels that use them: kernels of one session share one. */
  const gateways = new Map<string, string>()

  async function serve({ kernelId, allowedNames = [] }: NetworkMember, gateway: string): Promise<void> {
    gateways.set(kernelId, gateway)
    await proxy.open(gateway, allowedNames)
  }

  return {
    get problem() {
      return firewall().state.reason
    },
    async prepare(member, { gateway }) {
      if (member.allowedNames === undefined) return undefined
      await firewall().apply()
      const { reason } = firewall().state
      if (reason) throw new AppError('network_not_enforceable', { ...reason })
      if (member.allowedNames.length === 0) return undefined
      await serve(member, gateway)
      return `http://${gateway}:${proxy.port}`
    },
    async resume(member, address) {
      if (!member.allowedNames?.length || address === null || gateways.has(member.kernelId)) return
      const network = parseCidr(`${address}/${SESSION_BITS}`)
      if (!network) return
      await serve(member, formatAddress(network.base + 1)).catch((error: unknown) => {
        gateways.delete(member.kernelId)
        log.warn({ kernelId: member.kernelId, err: error }, 'a session with an allow list reaches nothing for now')
      })
    },
    async leave({ kernelId }) {
      const gateway = gateways.get(kernelId)
      gateways.delete(kernelId)
      if (gateway === undefined || [...gateways.values()].includes(gateway)) return
      await proxy.close(gateway)
    },
  }
}
