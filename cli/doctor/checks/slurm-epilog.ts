import { because } from '#manager/contract'
import { type PartCheck, ok, warning } from '../check.ts'

/** Whether Slurm waits for the containers of a session before it gives their GPUs to the next job. */
export const slurmEpilog: PartCheck = {
  name: 'Slurm epilog',
  nameBy: 'check_slurm',
  of: ['manager', 'agent'],
  run({ slurm }) {
    if (slurm === undefined) return undefined
    if (slurm.epilogs.length === 0) return warning(because('slurm_no_epilog'), because('slurm_epilog_mend'))
    const epilog = slurm.epilogs.join(', ')
    if (slurm.hasOwn === false) return warning(because('slurm_other_epilog', { epilog }), because('slurm_epilog_mend'))
    return ok(because(slurm.hasOwn ? 'slurm_own_epilog' : 'slurm_some_epilog', { epilog }))
  },
}
