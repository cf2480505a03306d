import { type Because } from '#manager/contract'
import { type Output } from '../output.ts'

/** Answer of the agent to `get_isolation`: null if sessions reach neither this computer nor its network. */
export type PartlyIsolated = Because | null

/** Names what sessions can reach, for the person who starts Berth: they run other people's code. Empty for full isolation. */
export function isolationText(partly: PartlyIsolated): string {
  if (!partly) return ''
  return (
    `Sessions can reach this computer and its network. ${partly.why}\n` +
    'Until that is mended, run only code that you trust. docs/admin/agents.md, "Isolation", says what is open.'
  )
}

/** Tells people by a text, and the desktop app by a line of JSON, which also says that sessions are isolated. */
export function tellIsolation(
  partly: PartlyIsolated,
  { ticket, output }: { readonly ticket: boolean; readonly output: Pick<Output, 'note'> },
): void {
  if (ticket) output.note(JSON.stringify({ partlyIsolated: partly }))
  else if (partly) output.note(isolationText(partly))
}
