import { reactive, watch } from 'vue'
import { parseJson } from '#base/parse-json'

const KEY = 'berth.terminal'
export const FONT_SIZES = { min: 9, max: 28, normal: 14 } as const
export interface TerminalSettings {
  fontSize: number
  screenReader: boolean
  /** On a Mac keyboard, Option sends Escape before a key, as Alt does elsewhere; otherwise it types `@`, `|`, `[` and others. */
  optionIsMeta: boolean
}

/** Parses stored settings. An unusable setting becomes its default; the others stay. */
export function parseTerminalSettings(text: string): TerminalSettings {
  const { fontSize, screenReader, optionIsMeta } = (parseJson(text) ?? {}) as Partial<
    Record<keyof TerminalSettings, unknown>
  >
  const isUsable =
    Number.isInteger(fontSize) && Number(fontSize) >= FONT_SIZES.min && Number(fontSize) <= FONT_SIZES.max
  return {
    fontSize: isUsable ? Number(fontSize) : FONT_SIZES.normal,
    screenReader: screenReader === true,
    optionIsMeta: optionIsMeta === true,
  }
}

/** Appearance of terminals, remembered on this computer; tabs that open later use the same. */
export function useTerminalSettings(): TerminalSettings & { zoom(step: number | 'normal'): void } {
  const settings = reactive(parseTerminalSettings(localStorage.getItem(KEY) ?? '{}'))
  watch(settings, next => localStorage.setItem(KEY, JSON.stringify(next)))
  return Object.assign(settings, {
    zoom(step: number | 'normal') {
      const size = step === 'normal' ? FONT_SIZES.normal : settings.fontSize + step
      settings.fontSize = Math.min(FONT_SIZES.max, Math.max(FONT_SIZES.min, size))
    },
  })
}
