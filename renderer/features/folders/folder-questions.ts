import { type Folder } from '#manager/contract'

/** Dialogs of the page, and dialogs about one folder. */
export const QUESTIONS = ['create', 'sftp', 'share', 'leave', 'rename', 'clone', 'trash', 'remove'] as const
export type Question = (typeof QUESTIONS)[number]

/** Whether the row of a folder offers this dialog: another person may open its URL, or the same person later. */
export function offers(question: Question, { manageable, usable, invited, cloning, trashedAt }: Folder): boolean {
  const inTrash = trashedAt !== null
  if (cloning) return false
  if (question === 'clone') return usable && !inTrash
  if (question === 'leave') return invited && !manageable
  if (question === 'remove') return manageable && inTrash
  return manageable && !inTrash
}
