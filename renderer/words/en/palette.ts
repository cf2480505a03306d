import { defineWords } from '../i18n.ts'

const en = {
  palette: 'Command palette',
  searchLabel: 'Search pages, sessions and actions',
  placeholder: 'Go to a page or session, or do something',
  nothing: 'Nothing matches',
  pages: 'Pages',
  administration: 'Administration',
  sessions: 'Sessions',
  actions: 'Actions',
  folders: 'Folders',
  newSession: 'New session',
  lightTheme: 'Light theme',
  darkTheme: 'Dark theme',
  languageAction: 'Language: {language}',
  showShortcuts: 'Keyboard shortcuts',
  signOut: 'Sign out',
  terminalOf: 'Terminal of {name}',
} as const

export default en
export const t = defineWords('palette', en)
