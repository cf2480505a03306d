import { isMac } from '../../ui/is-mac.ts'
import { type KeyHint } from '../../ui/key-hint.ts'
import { t } from '../../words/en/terminal.ts'

/**
 * Keys that the terminal page handles; all others go to the shell. @param zooms true in the desktop app: the page handles the zoom keys,
 * too
 */
export const terminalKeys = (zooms: boolean): readonly KeyHint[] => [
  { keys: 'Ctrl+Shift+C', what: t('keyCopy') },
  { keys: 'Ctrl+Shift+V', what: t('keyPaste') },
  { keys: 'Ctrl+Shift+F', what: t('keySearch') },
  ...(zooms ? [{ keys: isMac() ? '⌘ + − 0' : 'Ctrl + − 0', what: t('keyZoom') }] : []),
  { keys: 'Shift+drag', what: t('keySelect') },
  { keys: 'Shift+Page Up', what: t('keyScroll') },
  { keys: 'tmux', what: t('keyTmux') },
  ...(isMac() ? [{ keys: 'Option+←', what: t('keyWord') }] : []),
]

/** Input for Option and an arrow key on a Mac, which moves by a word in every shell, as in that system's own terminals. */
export function wordKeys(
  event: Pick<KeyboardEvent, 'key' | 'altKey' | 'ctrlKey' | 'metaKey' | 'shiftKey'>,
  mac: boolean = isMac(),
): string | undefined {
  if (!mac || !event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return undefined
  return { ArrowLeft: '\u001bb', ArrowRight: '\u001bf' }[event.key]
}
