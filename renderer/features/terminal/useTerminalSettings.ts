import { reactive, watch } from 'vue'
import { z } from 'zod'

const KEY = 'berth.terminal'
export const FONT_SIZES = { min: 9, max: 28, normal: 14 } as const
const Settings = z.object({
  fontSize: z.number().int().min(FONT_SIZES.min).max(FONT_SIZES.max).catch(FONT_SIZES.normal),
  screenReader: z.boolean().catch(false),
})
export type TerminalSettings = z.infer<typeof Settings>

function read(): TerminalSettings {
  try {
    return Settings.parse(JSON.parse(localStorage.getItem(KEY) ?? '{}'))
  } catch {
    return Settings.parse({})
  }
}

/** How terminals look on this computer; remembered, and the same in every tab that opens later. */
export function useTerminalSettings(): TerminalSettings & { zoom(step: number): void } {
  const settings = reactive(read())
  watch(settings, next => localStorage.setItem(KEY, JSON.stringify(next)))
  return Object.assign(settings, {
    zoom(step: number) {
      settings.fontSize = Math.min(FONT_SIZES.max, Math.max(FONT_SIZES.min, settings.fontSize + step))
    },
  })
}
