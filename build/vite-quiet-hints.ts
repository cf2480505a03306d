import { type Plugin } from 'vite'

const LOUD = /"role": "alert",\s*"aria-live": "polite"/

/**
 * Quiets Vuetify's hints. Vuetify marks the line below every field as an alert, even a hint: a screen reader would read all
 * seven hints of a dialog when it opens. The line stays the description of the field, and a polite live region for errors.
 */
export function quietHints(): Plugin {
  return {
    name: 'berth:quiet-hints',
    transform(code, id) {
      if (!/[\\/]VInput[\\/]VInput\.js$/.test(id)) return undefined
      if (!LOUD.test(code)) throw new Error('Vuetify has changed VInput: look whether its hints are still alerts')
      return { code: code.replace(LOUD, '"aria-live": "polite"'), map: null }
    },
  }
}
