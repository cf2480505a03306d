import { type Plugin } from 'vite'

const ADAPTER = /[\\/]vuetify[\\/]lib[\\/]composables[\\/]date[\\/]adapters[\\/]vuetify\.js$/

/** Leaves out the calendar that Vuetify makes for its date pickers, of which the page has none: 17 kB in what the sign-in loads. */
export function withoutDates(): Plugin {
  return {
    name: 'berth:without-dates',
    apply: 'build',
    transform(code, id) {
      if (!ADAPTER.test(id)) return undefined
      if (!code.includes('export class VuetifyDateAdapter')) throw new Error('Vuetify has changed its date adapter')
      return { code: 'export class VuetifyDateAdapter {}', map: null }
    },
  }
}
