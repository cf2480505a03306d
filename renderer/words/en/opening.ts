import { defineWords } from '../i18n.ts'

/** Texts shown while an app opens, also with one click from a row: separate from the dialog of apps, which is loaded later. */
const en = {
  startingTab: 'Starting {app}…',
  ownTunnel: 'your connection to {app} of {session}',
  processOf: '{program} (process {pid})',
  aProgram: 'a program',
  tunnelCount: '{count, plural, one {# open tunnel} other {# open tunnels}}',
} as const

export default en
export const t = defineWords('opening', en)
