import { type Session } from '#manager/contract'

/** Whether the person may open the dialog of a session's members: its owner, and admins where there are members to remove. */
export function canShare({ sharedWith }: Pick<Session, 'sharedWith'>, isOwner: boolean): boolean {
  return sharedWith !== null && (isOwner || sharedWith > 0)
}
