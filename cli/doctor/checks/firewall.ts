import { because, together } from '#manager/contract'
import { type PartCheck, ok, warning } from '../check.ts'

export const firewall: PartCheck = {
  name: 'isolation of sessions',
  nameBy: 'check_firewall',
  of: ['agent'],
  run({ platform, isRoot, iptables, engine }) {
    if (engine.status === 'unreachable') return undefined
    const partial = because('sessions_reach_host')
    if (platform !== 'linux') return warning(partial, because('firewall_on_linux'))
    if (!engine.hasBridgesHere)
      return warning(together(because('engine_elsewhere'), partial), because('agent_beside_engine'))
    // Only root may run iptables on this computer.
    if (!isRoot) return ok(because('firewall_by_container'))
    if (iptables.status === 'missing')
      return warning(together(because('iptables_missing'), partial), because('iptables_missing_mend'))
    if (iptables.status === 'failing') {
      const fails = because('iptables_fails', { text: iptables.why })
      return warning(together(fails, partial), because('iptables_fails_mend'))
    }
    const way = because(iptables.dockerUser ? 'firewall_by_docker_user' : 'firewall_by_forward')
    const { firewallBackend: backend } = engine
    const docker = backend === undefined ? [] : [because('docker_firewall', { backend })]
    return ok(together(because('firewall_possible'), way, ...docker))
  },
}
