import { type Plugin } from 'vite'
import { compileMessage } from './compile-message.ts'
import { AS_WRITTEN, readCatalogue, type Catalogue } from './read-catalogue.ts'

const CATALOGUE = /[\\/]renderer[\\/]words[\\/]([a-z]{2})[\\/]([^\\/]+)\.ts$/

/** Compiles the catalogues of texts (`renderer/words/<language>/<feature>.ts`) to texts and functions. */
export function compiledWords(): Plugin {
  return {
    name: 'berth:words',
    enforce: 'pre',
    async load(id) {
      const [path = '', query = ''] = id.split('?')
      if (query.startsWith(AS_WRITTEN)) return undefined
      const [, language, feature] = CATALOGUE.exec(path) ?? []
      if (language === undefined || feature === undefined) return undefined
      const messages = catalogueSource(language, await readCatalogue(path))
      return language === 'en' ? `${messages}${readerSource(feature)}` : messages
    },
  }
}

/** The module of a catalogue: its default export has a text or a function for each key. */
export function catalogueSource(language: string, messages: Catalogue): string {
  const entries = Object.entries(messages).map(([key, text]) => {
    const compiled = compileMessage(language, text)
    return `${JSON.stringify(key)}:${'text' in compiled ? JSON.stringify(compiled.text) : compiled.source}`
  })
  return `import { number, plural, select } from '../icu.ts'\nconst messages = {\n${entries.join(',\n')}\n}\nexport default messages\n`
}

/** The export `t` of an English catalogue, as written in it. */
function readerSource(feature: string): string {
  return `import { defineWords } from '../i18n.ts'\nexport const t = defineWords(${JSON.stringify(feature)}, messages)\n`
}
