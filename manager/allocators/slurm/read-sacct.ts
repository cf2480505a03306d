import { type AllocationEnd, type PastAllocation } from '../allocator.ts'
import { ENDS } from './read-squeue.ts'

/** Fields of the rows that `readSacct` reads. The name is the last one: names of other jobs may have the separator in them. */
export const SACCT_FIELDS = 'JobIDRaw,UID,User,State,JobName'

/**
 * How a job ended, from rows of `sacct --parsable2 --noheader`; undefined if none of them says that this job has ended. Numbers come again,
 * so a row counts only with the number, the name and the user of the job. Pure.
 *
 * @param uid this process's user; undefined: all jobs without another user's name are taken for its own
 */
export function readSacct(
  text: string,
  { name, user, identity }: PastAllocation,
  uid: number | undefined,
): AllocationEnd | undefined {
  return text
    .split('\n')
    .flatMap(line => {
      const [id, owner, userName, state = '', ...rest] = line.split('|')
      const isOwners = user === null ? uid === undefined || owner === String(uid) : userName === user
      if (!isOwners || rest.join('|') !== name || (identity && id !== identity.id)) return []
      // Such as `CANCELLED by 1000`. The history of a controller that was killed may say RUNNING for ever.
      return (state.split(' ')[0] === 'REQUEUED' ? 'requeued' : ENDS[state.split(' ')[0] ?? '']) ?? []
    })
    .at(-1)
}
