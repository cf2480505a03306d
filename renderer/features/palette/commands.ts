/** Something that the palette offers. */
export interface Command {
  readonly id: string
  readonly group: 'pages' | 'administration' | 'sessions' | 'folders' | 'actions'
  readonly title: string
  readonly hint?: string
  /** True if it always matches, whatever the title and the hint say. */
  readonly found?: true
  readonly run: () => void
}

const MOST_SHOWN = 30

/**
 * The commands that match a text: every word must occur in the title or hint, in any letter case. Titles that begin with the text
 * come first; otherwise the order stays.
 */
export function matchCommands(commands: readonly Command[], text: string): readonly Command[] {
  const wanted = text.trim().toLowerCase()
  const words = wanted.split(/\s+/).filter(Boolean)
  const matching = commands.filter(({ title, hint = '', found = false }) => {
    if (found) return true
    const hay = `${title} ${hint}`.toLowerCase()
    return words.every(word => hay.includes(word))
  })
  const begins = ({ title }: Command) => wanted !== '' && title.toLowerCase().startsWith(wanted)
  return [...matching.filter(begins), ...matching.filter(command => !begins(command))].slice(0, MOST_SHOWN)
}
