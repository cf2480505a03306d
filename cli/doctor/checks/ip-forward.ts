import { type Check, ok, problem } from '../check.ts'

export const ipForward: Check = {
  name: 'IP forwarding',
  of: ['agent'],
  run({ ipForward: on, engine }) {
    if (on === undefined || engine.status === 'unreachable') return undefined
    if (on) return ok('On.')
    return problem(
      'Off: sessions cannot reach the internet.',
      'Run sysctl -w net.ipv4.ip_forward=1, and look in /etc/sysctl.d for the setting that switches forwarding off.',
    )
  },
}
