import { because } from '#manager/contract'
import { type PartCheck, ok, problem } from '../check.ts'

const OLDEST_MAJOR = 24

export const nodeVersion: PartCheck = {
  name: 'Node',
  nameBy: 'check_node',
  of: ['manager', 'agent'],
  run({ nodeVersion: version }) {
    if (Number.parseInt(version.replace(/^v/, ''), 10) >= OLDEST_MAJOR) return ok(because('version_is', { version }))
    return problem(because('version_too_old', { version }), because('node_mend', { major: OLDEST_MAJOR }))
  },
}
