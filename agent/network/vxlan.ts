import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { AppError, because } from '#manager/contract'
import { VXLAN_PORT } from './vxlan-port.ts'
import { withRootsPrograms } from './iptables.ts'

const run = promisify(execFile)

/** Largest packet of a kernel: 50 bytes of each go to the outer headers. */
export const CLUSTER_MTU = 1450
const TIMEOUT_MS = 10_000
const LINK_PREFIX = 'berthv'
const EVERYBODY = '00:00:00:00:00:00'

/** A link of a network between hosts: it carries the frames of one bridge to the hosts of one session, and to no other host. */
export interface VxlanLink {
  /** Number of the network. */
  readonly id: number
  /** Address of this host in the private network. */
  readonly local: string
  /** Interface of the bridge that has the kernels. */
  readonly bridge: string
  /** Kernels on other hosts: hardware address, and address of the host. */
  readonly remote: readonly { readonly mac: string; readonly host: string }[]
}

/** Links of the kernel, through `ip` and `bridge` of iproute2. The kernel's own tables are the only record. */
export interface Vxlan {
  /** Makes the link with its forwarding entries, still down. Safe to repeat. */
  prepare(link: VxlanLink): Promise<void>
  /** Connects the link to its bridge and opens it. Call once the firewall admits the hosts. */
  open(link: Pick<VxlanLink, 'id' | 'bridge'>): Promise<void>
  /** No-op if there is no such link. */
  remove(id: number): Promise<void>
  /** Numbers of links that are on no bridge: their network was never made, or is gone. */
  loose(): Promise<number[]>
  /** Addresses of all hosts to which a link of ours leads. */
  peers(): Promise<string[]>
  /** Checks that this host can make links. @throws AppError `unavailable` with the reason */
  probe(local: string): Promise<void>
}

export function createVxlan(): Vxlan {
  const call = async (program: 'ip' | 'bridge', ...words: string[]) => {
    const options = { timeout: TIMEOUT_MS, maxBuffer: 16 * 2 ** 20, env: withRootsPrograms(process.env) }
    return (await run(program, words, options)).stdout
  }
  const nameOf = (id: number) => `${LINK_PREFIX}${id.toString(16)}`
  const exists = (name: string) =>
    call('ip', 'link', 'show', 'dev', name).then(
      () => true,
      () => false,
    )
  const add = (name: string, { id, local }: Pick<VxlanLink, 'id' | 'local'>) => {
    const how = ['id', String(id), 'dstport', String(VXLAN_PORT), 'local', local, 'nolearning', 'ttl', '64']
    return call('ip', 'link', 'add', name, 'type', 'vxlan', ...how)
  }

  async function prepare({ remote, ...link }: VxlanLink): Promise<void> {
    const name = nameOf(link.id)
    // A link that was left over may lead to other hosts.
    if (await exists(name)) await call('ip', 'link', 'del', name)
    await add(name, link)
    await call('ip', 'link', 'set', 'dev', name, 'addrgenmode', 'none', 'mtu', String(CLUSTER_MTU))
    for (const host of new Set(remote.map(one => one.host))) {
      await call('bridge', 'fdb', 'append', EVERYBODY, 'dev', name, 'dst', host)
    }
    for (const { mac, host } of remote) await call('bridge', 'fdb', 'replace', mac, 'dev', name, 'dst', host)
  }

  return {
    prepare,
    async open({ id, bridge }) {
      // The host itself has no address in the network.
      await call('ip', 'link', 'set', 'dev', bridge, 'addrgenmode', 'none')
      await call('ip', '-6', 'address', 'flush', 'dev', bridge)
      await call('ip', 'link', 'set', 'dev', nameOf(id), 'master', bridge, 'up')
    },
    async remove(id) {
      if (await exists(nameOf(id))) await call('ip', 'link', 'del', nameOf(id))
    },
    async loose() {
      const found = await call('ip', '-o', 'link', 'show', 'nomaster', 'type', 'vxlan')
      return [...found.matchAll(/^\d+: berthv([0-9a-f]+)[:@]/gm)].map(([, id = '']) => parseInt(id, 16))
    },
    async peers() {
      return peersIn(await call('bridge', 'fdb', 'show'))
    },
    async probe(local) {
      const name = `${LINK_PREFIX}-probe`
      try {
        if (await exists(name)) await call('ip', 'link', 'del', name)
        await add(name, { id: 2 ** 24 - 1, local })
        await call('ip', 'link', 'del', name)
        await call('bridge', 'fdb', 'show')
      } catch (error) {
        const { stderr, message } = error as Error & { readonly stderr?: string }
        const text = (stderr?.trim() || message).split('\n')[0] ?? ''
        throw new AppError('unavailable', because('no_vxlan', { text }), { cause: error })
      }
    },
  }
}

/** @param table output of `bridge fdb show` */
export function peersIn(table: string): string[] {
  const found = [...table.matchAll(/ dev (\S+) dst (\d+\.\d+\.\d+\.\d+) /g)]
  return [
    ...new Set(found.flatMap(([, device = '', host = '']) => (device.startsWith(LINK_PREFIX) ? [host] : []))),
  ].toSorted()
}
