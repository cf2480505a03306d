import { type Reason } from '#manager/contract'
import { type GroupSnapshot } from './snapshot.ts'

const GROUP_INACTIVE = 'An admin has closed this resource group, so sessions do not start in it. Launch in another one.'

/** Why sessions of a group that is not active wait. */
export function closedReason({ notice = '' }: Pick<GroupSnapshot, 'notice'>): Reason {
  if (notice === '') return { code: 'group_inactive', message: GROUP_INACTIVE }
  return { code: 'group_inactive', message: `An admin has closed this resource group: ${notice}`, note: notice }
}
