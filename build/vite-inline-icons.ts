import * as icons from '@mdi/js'
import { type Plugin } from 'vite'

const IMPORT = /import\s*\{([^}]*)\}\s*from\s*["']@mdi\/js["'];?/g

/**
 * Inlines the path of each icon at its use. All icons are one module, and a module goes into one file: the sign-in would load
 * the icons of every page.
 */
export function inlineIcons(): Plugin {
  return {
    name: 'berth:inline-icons',
    apply: 'build',
    transform(code) {
      if (!code.includes('@mdi/js')) return undefined
      return { code: code.replaceAll(IMPORT, (_, names: string) => constantsOf(names)), map: null }
    },
  }
}

function constantsOf(names: string): string {
  const wanted = names.split(',').map(name => name.trim())
  return wanted
    .filter(name => name !== '')
    .map(name => `const ${name} = ${JSON.stringify(pathOf(name))};`)
    .join(' ')
}

function pathOf(name: string): string {
  const path: unknown = Object.hasOwn(icons, name) ? icons[name as keyof typeof icons] : undefined
  if (typeof path !== 'string') throw new Error(`@mdi/js has no icon "${name}"`)
  return path
}
