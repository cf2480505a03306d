import { type ContextMenuParams, type MenuItemConstructorOptions } from 'electron'
import { type ContentsSlice, type ElectronSlice } from '../electron-slice.ts'
import { type Language, wordsOf } from '../questions/words.ts'

export interface ContextMenuDeps {
  readonly electron: Pick<ElectronSlice, 'Menu'>
  readonly language: () => Language
}

type Params = Pick<ContextMenuParams, 'isEditable' | 'editFlags' | 'selectionText' | 'dictionarySuggestions'>

/** Offers cut, copy, paste and corrections after a right-click on a text field or a selection; nothing elsewhere. */
export function offerContextMenu(contents: ContentsSlice, { electron, language }: ContextMenuDeps): void {
  contents.on('context-menu', (_event, params) => {
    const template = contextMenu(params, language(), word => contents.replaceMisspelling(word))
    if (template.length > 0) electron.Menu.buildFromTemplate(template).popup()
  })
}

export function contextMenu(
  params: Params,
  language: Language,
  replace: (word: string) => void,
): MenuItemConstructorOptions[] {
  const words = wordsOf(language)
  const { isEditable, editFlags, selectionText, dictionarySuggestions } = params
  if (!isEditable) return selectionText.trim() === '' ? [] : [{ role: 'copy', label: words.copy }]
  const corrections = dictionarySuggestions.map(word => ({ label: word, click: () => replace(word) }))
  return [
    ...corrections,
    ...(corrections.length > 0 ? [{ type: 'separator' } as const] : []),
    { role: 'cut', label: words.cut, enabled: editFlags.canCut },
    { role: 'copy', label: words.copy, enabled: editFlags.canCopy },
    { role: 'paste', label: words.paste, enabled: editFlags.canPaste },
    { type: 'separator' },
    { role: 'selectAll', label: words.selectAll, enabled: editFlags.canSelectAll },
  ]
}
