import { type Check, ok, warning } from '../check.ts'

export const firewall: Check = {
  name: 'isolation of sessions',
  of: ['agent'],
  run({ platform, isRoot, iptables, engine }) {
    if (engine.status === 'unreachable') return undefined
    const partial = 'Sessions can reach the services of this host and its cloud metadata address.'
    if (platform !== 'linux') return warning(partial, 'Run the agent on Linux, where it sets up a firewall.')
    if (!iptables)
      return warning(`iptables is not installed. ${partial}`, 'Install iptables: apt-get install iptables.')
    if (!isRoot) return warning(`Only root can set up the firewall. ${partial}`, 'Run the agent as root.')
    return ok('The agent can set up the firewall.')
  },
}
