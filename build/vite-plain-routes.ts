import { fileURLToPath } from 'node:url'
import { type Plugin } from 'vite'

const ROUTES_FILE = fileURLToPath(new URL('../manager/contract/routes.ts', import.meta.url))

interface RoutesModule {
  readonly ROUTES: Readonly<Record<string, { readonly method: string; readonly path: string }>>
  readonly [constant: string]: unknown
}

/**
 * Gives the page the table of routes without its schemas: the typed client needs only method and path, and does not check
 * answers a second time. The types are those of the real module.
 */
export function plainRoutes(): Plugin {
  return {
    name: 'berth:plain-routes',
    apply: 'build',
    async load(id) {
      if (id !== ROUTES_FILE) return null
      const { ROUTES, ...others } = (await import(ROUTES_FILE)) as RoutesModule
      const table = Object.fromEntries(
        Object.entries(ROUTES).map(([name, { method, path }]) => [name, { method, path }]),
      )
      const constants = Object.entries(others).map(([name, value]) => `export const ${name} = ${JSON.stringify(value)}`)
      return [`export const ROUTES = ${JSON.stringify(table)}`, ...constants].join('\n')
    },
  }
}
