import { type KeyHint } from '../../ui/key-hint.ts'

/** Keys that the terminal page takes; all others go to the shell. */
export const TERMINAL_KEYS: readonly KeyHint[] = [
  { keys: 'Ctrl+Shift+C', what: 'copy the selection' },
  { keys: 'Ctrl+Shift+V', what: 'paste' },
  { keys: 'Ctrl+Shift+F', what: 'search' },
  { keys: 'Shift+drag', what: 'select, while a program uses the mouse' },
]
