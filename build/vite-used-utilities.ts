import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Plugin } from 'vite'

/** Classes that Vuetify's components create from their properties. */
const OF_PROPERTIES = /^(rounded|elevation|border|position|text|bg|opacity|overflow|d|flex|float|w|h)(-|$)/

/**
 * Removes the utility classes of Vuetify that the page does not name: they are 240 kB, of which about twenty classes are used.
 * A class counts as used if its name appears anywhere in the sources of the page, or if a property of a component creates it.
 */
export function usedUtilities(sources: string): Plugin {
  return {
    name: 'berth:used-utilities',
    enforce: 'pre',
    transform(css, id) {
      if (!/vuetify\/lib\/styles\/utilities\.css/.test(id)) return null
      const words = wordsIn(sources)
      const isUsed = (name: string) => words.has(name) || OF_PROPERTIES.test(name)
      return css.replaceAll(/^[ \t]*(\.[^{}]*)\{[^{}]*\}\n?/gm, (rule, selectors: string) => {
        const names = [...selectors.matchAll(/\.(-?[_a-zA-Z][\w-]*)/g)].map(([, name = '']) => name)
        return names.some(isUsed) ? rule : ''
      })
    },
  }
}

function wordsIn(folder: string): Set<string> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && /\.(vue|ts)$/.test(entry.name))
    .map(entry => join(entry.parentPath, entry.name))
  return new Set(files.flatMap(file => readFileSync(file, 'utf8').split(/[^\w-]+/)))
}
