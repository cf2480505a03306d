import { type BrowserWindowConstructorOptions, type NativeImage } from 'electron'
import { type ElectronSlice } from '../electron-slice.ts'

/** Options that all our windows have before their page is loaded; `show-first.ts` shows them. */
export type WindowAppearance = Pick<
  BrowserWindowConstructorOptions,
  'title' | 'backgroundColor' | 'icon' | 'minWidth' | 'minHeight' | 'show'
>

/** @param icon undefined if the system uses the icon of the program */
export function windowAppearance(
  { nativeTheme }: Pick<ElectronSlice, 'nativeTheme'>,
  icon?: NativeImage,
): WindowAppearance {
  return {
    title: 'Berth',
    // Colours of the page (`renderer/app/style.css`): a window is empty for a moment, and its scroll bars have a gutter.
    backgroundColor: nativeTheme.shouldUseDarkColors ? '#0c1418' : '#f3f6f7',
    minWidth: 480,
    minHeight: 480,
    show: false,
    ...(icon ? { icon } : {}),
  }
}
