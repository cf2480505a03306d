import { DISK_PROBLEM_BYTES, DISK_WARNING_BYTES, gib } from '../amounts.ts'
import { type Check, ok, problem, warning } from '../check.ts'

const MEND = 'Free space, or choose a data directory on a larger disk with --data.'

export const dataDisk: Check = {
  name: 'disk of the data directory',
  of: ['manager', 'agent'],
  run({ data }) {
    if (data.freeBytes === undefined) return undefined
    const says = `${gib(data.freeBytes)} free at ${data.path}`
    if (data.freeBytes < DISK_PROBLEM_BYTES) return problem(`Only ${says}: new sessions are refused.`, MEND)
    if (data.freeBytes < DISK_WARNING_BYTES) return warning(`Only ${says}.`, MEND)
    return ok(`${says}.`)
  },
}
