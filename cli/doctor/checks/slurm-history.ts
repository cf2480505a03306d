import { because } from '#manager/contract'
import { type PartCheck, ok, warning } from '../check.ts'

/** Whether Slurm's history answers: without it, nobody knows why a job has ended that is gone from the list. */
export const slurmHistory: PartCheck = {
  name: 'Slurm history',
  nameBy: 'check_slurm_history',
  of: ['manager'],
  run({ slurm }) {
    if (slurm?.isHistoryThere === undefined) return undefined
    if (slurm.isHistoryThere) return ok(because('slurm_history_answers'))
    return warning(because('slurm_history_away'), because('slurm_history_mend'))
  },
}
