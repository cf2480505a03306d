import { because } from '#manager/contract'
import { type PartCheck, ok, problem } from '../check.ts'

export const ipForward: PartCheck = {
  name: 'IP forwarding',
  nameBy: 'check_ip_forward',
  of: ['agent'],
  run({ ipForward: on, engine }) {
    if (on === undefined || engine.status === 'unreachable') return undefined
    if (on) return ok(because('switched_on'))
    return problem(because('ip_forward_off'), because('ip_forward_off_mend'))
  },
}
