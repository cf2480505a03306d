import { because } from '#manager/contract'
import { DISK_PROBLEM_BYTES, DISK_WARNING_BYTES, gib } from '../amounts.ts'
import { type PartCheck, ok, problem, warning } from '../check.ts'

const MEND = because('data_disk_mend')

export const dataDisk: PartCheck = {
  name: 'disk of the data directory',
  nameBy: 'check_data_disk',
  of: ['manager', 'agent'],
  run({ data }) {
    if (data.freeBytes === undefined) return undefined
    const values = { size: gib(data.freeBytes), path: data.path }
    if (data.freeBytes < DISK_PROBLEM_BYTES) return problem(because('data_disk_full', values), MEND)
    if (data.freeBytes < DISK_WARNING_BYTES) return warning(because('disk_low', values), MEND)
    return ok(because('disk_free', values))
  },
}
