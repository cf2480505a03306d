import { userInfo } from 'node:os'
import { type SlurmSettings, slurmUserOf } from '#manager/contract'

/**
 * The user of Slurm whose job the session of a person is; null: the user of this process, also where the map names that user, because lists
 * do not tell the two apart.
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
