import { because } from '#manager/contract'
import { ok, type PartCheck, warning } from '../check.ts'

/** Without a token, every program of the computer reads the metrics, also those of other users of a shared server. */
export const metrics: PartCheck = {
  name: 'metrics',
  nameBy: 'check_metrics',
  of: ['manager'],
  run({ metrics: { hosts, hasToken } }) {
    if (hasToken) return ok(because('metrics_with_token'))
    if (hosts.length === 0) return ok(because('metrics_on_loopback'))
    return warning(because('metrics_open', { hosts: hosts.join(', ') }), because('metrics_open_mend'))
  },
}
