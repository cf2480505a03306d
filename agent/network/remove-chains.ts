import { firewallChains } from './firewall-rules.ts'
import { type Iptables } from './iptables.ts'
import { type Cidr } from './subnets.ts'

/** Chains from which ours may be called; Docker makes the last one. */
const PLACES = ['INPUT', 'FORWARD', 'OUTPUT', 'DOCKER-USER'] as const

/**
 * Removes the rules of the sessions in this range from the firewall. Rules that are not there are no error.
 * @throws the reason of iptables
 */
export async function removeChains(iptables: Iptables, range: Cidr): Promise<void> {
  iptables.check()
  const lines = (await iptables.run('iptables-save', ['-t', 'filter'])).split('\n')
  const chains = firewallChains({ range, deny: [], nameServers: [], agentUid: 0 })
  for (const { name } of chains) {
    for (const place of PLACES) {
      const calls = lines.filter(line => line === `-A ${place} -j ${name}`)
      for (const _call of calls) await iptables.run('iptables', ['-w', '5', '-D', place, '-j', name])
    }
    if (!lines.some(line => line.startsWith(`:${name} `))) continue
    await iptables.run('iptables', ['-w', '5', '-F', name])
    await iptables.run('iptables', ['-w', '5', '-X', name])
  }
}
