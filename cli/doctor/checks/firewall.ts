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
    if (!iptables) return warning(together(because('iptables_missing'), partial), because('iptables_missing_mend'))
    if (!isRoot) return warning(together(because('firewall_needs_root'), partial), because('firewall_needs_root_mend'))
    return ok(because('firewall_possible'))
  },
}
