import { type Plugin } from 'vite'

const ADAPTER = /[\\/]vuetify[\\/]lib[\\/]composables[\\/]date[\\/]adapters[\\/]vuetify\.js$/

/** Removes the calendar that Vuetify creates for its date pickers, which the page does not use: 17 kB of what the sign-in loads. */
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
