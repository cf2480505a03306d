import { reactive, watch } from 'vue'

const KEY = 'berth.terminal'
export const FONT_SIZES = { min: 9, max: 28, normal: 14 } as const
export interface TerminalSettings {
  fontSize: number
  screenReader: boolean
}

/** A setting that is not usable becomes the usual one; the others stay. */
export function parseTerminalSettings(text: string): TerminalSettings {
  const { fontSize, screenReader } = stored(text)
  const isUsable =
    Number.isInteger(fontSize) && Number(fontSize) >= FONT_SIZES.min && Number(fontSize) <= FONT_SIZES.max
  return { fontSize: isUsable ? Number(fontSize) : FONT_SIZES.normal, screenReader: screenReader === true }
}

function stored(text: string): { fontSize?: unknown; screenReader?: unknown } {
  try {
    return (JSON.parse(text) as object | null) ?? {}
  } catch {
    return {}
  }
}

/** How terminals look on this computer; remembered, and the same in every tab that opens later. */
export function useTerminalSettings(): TerminalSettings & { zoom(step: number): void } {
  const settings = reactive(parseTerminalSettings(localStorage.getItem(KEY) ?? '{}'))
  watch(settings, next => localStorage.setItem(KEY, JSON.stringify(next)))
  return Object.assign(settings, {
    zoom(step: number) {
      settings.fontSize = Math.min(FONT_SIZES.max, Math.max(FONT_SIZES.min, settings.fontSize + step))
    },
  })
}
