import { userInfo } from 'node:os'
import { type SlurmSettings, slurmUserOf } from '#manager/contract'

/**
 * User of Slurm under whose name the jobs of a person run. Null means the user of this process, also if the map names that user: lists of
 * jobs cannot tell the two apart.
 *
 * @param own name of the user of this process
 */
export function jobUser({ people }: SlurmSettings, email: string, own = ownName()): string | null {
  const user = people && slurmUserOf(people, email)
  return user === undefined || user === own ? null : user
}

/** Undefined for a user without a name, as in some containers. */
function ownName(): string | undefined {
  try {
    return userInfo().username
  } catch {
    return undefined
  }
}
