import { type Plugin } from 'vite'

const LOUD = /"role": "alert",\s*"aria-live": "polite"/

/**
 * Vuetify marks the line below every field as an alert, its hint too: a dialog with seven hints makes a screen reader read all
 * seven when it opens. The line stays what describes the field, and a polite live region for errors.
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
