import { type KeyHint } from '../../ui/key-hint.ts'
import { t } from './words.ts'

/** Keys that the terminal page takes; all others go to the shell. */
export const terminalKeys = (): readonly KeyHint[] => [
  { keys: 'Ctrl+Shift+C', what: t('keyCopy') },
  { keys: 'Ctrl+Shift+V', what: t('keyPaste') },
  { keys: 'Ctrl+Shift+F', what: t('keySearch') },
  { keys: 'Shift+drag', what: t('keySelect') },
]
