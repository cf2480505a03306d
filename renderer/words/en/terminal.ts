import { defineWords } from '../i18n.ts'

const en = {
  terminal: 'Terminal',
  terminalName: 'Terminal {name}',
  connected: 'Connected',
  connecting: 'Connecting',
  reconnecting: 'Reconnecting',
  shellEnded: 'Shell ended',
  sessionEnded: 'Session ended',
  failed: 'Failed',
  noSuchSession: 'No such session',
  addressNamesNone: 'The address does not name a session. Open the terminal from the list of sessions.',
  loadingSession: 'Loading the session',
  foreignTitle: 'This session belongs to somebody else',
  ownerOnly: 'Only the owner of a session, and members whom the owner lets use it, can open its terminal.',
  ownerOnlyOf:
    'Only the owner of a session, and members whom the owner lets use it, can open its terminal. It belongs to {owner}.',
  hasEnded: 'The session has ended',
  notRunningYet: 'The session is not running yet',
  opensItself: '{reason} The terminal opens by itself as soon as it runs.',
  noAnswer: 'The terminal does not answer.',

  // Notices
  connectionLost: 'Connection lost',
  shellKeepsRunning: 'Your shell keeps running in the session. Reconnecting…',
  hostAway: 'The host of this session is not connected',
  hostAwayText: 'Your shell keeps running there. The terminal reconnects by itself when the host is back.',
  tryNow: 'Try now',
  hasEndedText: 'What you see stays here until you close this window. The page of the session says what is left of it.',
  openSession: 'Open the session',
  shellHasEnded: 'The shell has ended',
  startNewShell: 'Start a new shell in the same session.',
  newShell: 'New shell',

  // Links
  openHost: 'Open {host}?',
  openLink: 'Open',
  hiddenLink: 'A program in the session wrote this link. Its text need not be its address, which is:',

  // Shells and tools
  shells: 'Shells',
  anotherShell: 'Another shell in this session',
  closeTab: 'Close this tab; its shell keeps running',
  closeTabOf: 'Close the tab {name}; its shell keeps running',
  searchKeys: 'Search (Ctrl+Shift+F)',
  search: 'Search',
  searchOutput: 'Search the output',
  nothingFound: 'Nothing found',
  previousMatch: 'Previous match',
  nextMatch: 'Next match',
  closeSearch: 'Close the search',
  smallerText: 'Smaller text',
  largerText: 'Larger text',
  screenReader: 'Screen reader mode',
  optionIsMeta: 'Option is the Meta key; otherwise it types characters such as @ and |',
  keysAndClipboard: 'Keys and clipboard',
  clipboardAbout:
    'While you are in the terminal, programs inside may copy to your clipboard (OSC 52); none may read it. Shells go on when you close this page: open it again to continue.',
  keyCopy: 'copy the selection',
  keyPaste: 'paste',
  keySearch: 'search',
  keyZoom: 'larger, smaller or normal text',
  keySelect: 'select, while a program uses the mouse',
  keyScroll: 'scroll back, as the wheel does',
  keyTmux: 'this command gives windows and panes, with its own keys',
  keyWord: 'back by a word; with → forward',
} as const

export default en
export const t = defineWords('terminal', en)
