import { type KeyHint } from '../../../ui/key-hint.ts'
import { t } from '../../../words/en/explorer.ts'

/** Command of a key in the list of files. */
export type KeyCommand =
  | { readonly do: 'move'; readonly step: number; readonly extend: boolean }
  | { readonly do: KeyAction }

export type KeyAction =
  | 'open'
  | 'up'
  | 'preview'
  | 'toggle'
  | 'all'
  | 'none'
  | 'rename'
  | 'delete'
  | 'copy'
  | 'cut'
  | 'paste'
  | 'menu'

type Pressed = Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey'>

const CONTROL: Readonly<Record<string, KeyAction>> = { a: 'all', c: 'copy', x: 'cut', v: 'paste', ' ': 'toggle' }
const PLAIN: Readonly<Record<string, KeyAction>> = {
  Enter: 'open',
  Backspace: 'up',
  ' ': 'preview',
  Escape: 'none',
  F2: 'rename',
  Delete: 'delete',
  ContextMenu: 'menu',
}

/** @param pageRows number of rows that one screen shows */
export function commandOf(event: Pressed, pageRows: number): KeyCommand | undefined {
  if (event.altKey) return event.key === 'ArrowUp' ? { do: 'up' } : undefined
  const action = (of: KeyAction | undefined): KeyCommand | undefined => (of ? { do: of } : undefined)
  if (event.ctrlKey || event.metaKey) return action(CONTROL[event.key.toLowerCase()])
  const step = { ArrowUp: -1, ArrowDown: 1, Home: -Infinity, End: Infinity, PageUp: -pageRows, PageDown: pageRows }[
    event.key
  ]
  if (step !== undefined) return { do: 'move', step, extend: event.shiftKey }
  if (event.shiftKey) return event.key === 'F10' ? { do: 'menu' } : undefined
  return action(PLAIN[event.key])
}

/** Keys for the sheet of shortcuts. */
export const explorerKeys = (): KeyHint[] => [
  { keys: '↑ ↓ Home End', what: t('keysMove') },
  { keys: 'Shift+↑ ↓', what: t('keysExtend') },
  { keys: 'Enter', what: t('keysOpen') },
  { keys: 'Space', what: t('keysPreview') },
  { keys: 'Backspace', what: t('keysUp') },
  { keys: 'Ctrl+A', what: t('keysAll') },
  { keys: 'Ctrl+Space', what: t('keysToggle') },
  { keys: 'Ctrl+C, X, V', what: t('keysClipboard') },
  { keys: 'F2', what: t('keysRename') },
  { keys: 'Delete', what: t('keysDelete') },
  { keys: 'Shift+F10', what: t('keysMenu') },
]
