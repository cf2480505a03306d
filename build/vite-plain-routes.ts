import { fileURLToPath } from 'node:url'
import { type Plugin } from 'vite'

const ROUTES_FILE = fileURLToPath(new URL('../manager/contract/routes.ts', import.meta.url))

interface RoutesModule {
  readonly ROUTES: Readonly<Record<string, { readonly method: string; readonly path: string }>>
  readonly [constant: string]: unknown
}

/** Prefix that most paths have; the table leaves it out. */
const PREFIX = '/api/v1/'

/** Makes the table of routes from lines such as `getSession sessions/:id`, by method; half as long as the table. Runs in the page. */
function expand(table: Readonly<Record<string, string>>, prefix: string): Record<string, object> {
  return Object.fromEntries(
    Object.entries(table).flatMap(([method, lines]) =>
      lines.split('\n').map(line => {
        const [name = '', path = ''] = line.split(' ')
        return [name, { method, path: path.startsWith('/') ? path : prefix + path }]
      }),
    ),
  )
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
      const byMethod = Object.groupBy(Object.entries(ROUTES), ([, { method }]) => method)
      const lines = Object.entries(byMethod).map(([method, routes = []]) => [
        method,
        routes.map(([name, { path }]) => `${name} ${path.replace(PREFIX, '')}`).join('\n'),
      ])
      const constants = Object.entries(others).map(([name, value]) => `export const ${name} = ${JSON.stringify(value)}`)
      const table = JSON.stringify(Object.fromEntries(lines))
      return [`export const ROUTES = (${expand.toString()})(${table}, '${PREFIX}')`, ...constants].join('\n')
    },
  }
}
