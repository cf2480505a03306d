import { ref, watch, type Ref } from 'vue'
import { useTheme } from 'vuetify'

export type ThemeChoice = 'light' | 'dark' | 'system'
const KEY = 'berth.theme'
const CHOICES: readonly ThemeChoice[] = ['light', 'dark', 'system']

export function readThemeChoice(): ThemeChoice {
  const stored = globalThis.localStorage.getItem(KEY)
  return CHOICES.find(choice => choice === stored) ?? 'system'
}

/** The theme: light, dark, or that of the system. Remembered on this computer and followed by every open tab. */
export const themeChoice: Ref<ThemeChoice> = ref(readThemeChoice())

/** Applies the chosen theme to the page from now on. For the root component. */
export function useThemeChoice(): Ref<ThemeChoice> {
  const theme = useTheme()
  const choice = themeChoice
  watch(
    choice,
    next => {
      globalThis.localStorage.setItem(KEY, next)
      void theme.change(next)
    },
    { immediate: true },
  )
  globalThis.addEventListener('storage', ({ key }) => {
    if (key === KEY) choice.value = readThemeChoice()
  })
  return choice
}
