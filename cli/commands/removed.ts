import { type Removed } from '#manager/contract'
import { counted } from '../counted.ts'

export interface RemoveFlags {
  purge?: boolean
  json?: boolean
}

/** `Deleted research/vision, with 2 members and 17 records of ended sessions.` */
export function removedText({ name, members, sessions }: Removed): string {
  const parts = [
    ...(members === 0 ? [] : [counted(members, 'member')]),
    ...(sessions === 0
      ? []
      : [sessions === 1 ? 'the record of 1 ended session' : `${sessions} records of ended sessions`]),
  ]
  return parts.length === 0 ? `Deleted ${name}.` : `Deleted ${name}, with ${parts.join(' and ')}.`
}
