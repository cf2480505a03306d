import { type Check, ok, problem } from '../check.ts'

export const ipForward: Check = {
  name: 'IP forwarding',
  run({ ipForward: on, engine }) {
    if (on === undefined || engine.status === 'unreachable') return undefined
    if (on) return ok('On.')
    return problem(
      'It is off: sessions do not reach the internet.',
      'sysctl -w net.ipv4.ip_forward=1, and look for what turns it off in /etc/sysctl.d.',
    )
  },
}
