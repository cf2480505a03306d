import { createVuetify, type VuetifyOptions } from 'vuetify'
import { aliases, mdi } from 'vuetify/iconsets/mdi-svg'
import { dark, light } from './theme.ts'

/** Vuetify options, shared by the page and the component tests. */
export const vuetifyOptions: VuetifyOptions = {
  icons: { defaultSet: 'mdi', aliases, sets: { mdi } },
  theme: { defaultTheme: 'system', themes: { light, dark }, transition: false },
  display: { mobileBreakpoint: 'md' },
  defaults: {
    global: { ripple: false },
    VBtn: { variant: 'flat', rounded: 'lg', height: 36 },
    VCard: { rounded: 'xl', elevation: 0 },
    VTextField: { variant: 'outlined', density: 'compact', color: 'primary', hideDetails: 'auto' },
    VSelect: { variant: 'outlined', density: 'compact', color: 'primary', hideDetails: 'auto' },
    VSwitch: { color: 'primary', density: 'compact', hideDetails: 'auto', inset: true },
    VCheckbox: { color: 'primary', density: 'compact', hideDetails: 'auto' },
    VCheckboxBtn: { color: 'primary', density: 'compact' },
    VTabs: { color: 'primary', density: 'compact' },
    VTooltip: { openDelay: 350, location: 'bottom' },
    VMenu: { offset: 6 },
    VList: { density: 'compact', rounded: 'lg' },
    VDialog: { scrollable: true },
    VAlert: { variant: 'tonal', density: 'compact', rounded: 'lg' },
  },
}

export const createPageVuetify = () => createVuetify(vuetifyOptions)
