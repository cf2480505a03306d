import { DISK_PROBLEM_BYTES, DISK_WARNING_BYTES, gib } from '../amounts.ts'
import { type Check, ok, problem, warning } from '../check.ts'

const MEND = 'See `docker system df`; `docker image prune` removes unused images.'

export const engineDisk: Check = {
  name: 'disk of the engine',
  of: ['agent'],
  run({ engine }) {
    if (engine.status === 'unreachable' || engine.rootFreeBytes === undefined) return undefined
    const says = `${gib(engine.rootFreeBytes)} free at ${engine.rootDirectory}`
    if (engine.rootFreeBytes < DISK_PROBLEM_BYTES) return problem(`Only ${says}: containers cannot write.`, MEND)
    if (engine.rootFreeBytes < DISK_WARNING_BYTES) return warning(`Only ${says}.`, MEND)
    return ok(`${says}.`)
  },
}
