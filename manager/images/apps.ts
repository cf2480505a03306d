import { App, forwardedPort } from '#manager/contract'
import { BUILT_IN_APPS, type KernelApp } from '#agent/contract'
import { type SessionRow } from '../store/sessions/sessions.ts'

const TERMINAL: App = { name: 'terminal', title: 'Terminal', protocol: 'tcp', path: '/' }

/** Apps as users see them: those of the image, then those that every session has. Invalid entries are left out. */
export function appsOf(session: Pick<SessionRow, 'apps'>): App[] {
  const builtIn = new Set([TERMINAL.name, ...BUILT_IN_APPS.map(app => app.name)])
  const own = session.apps.flatMap(app => App.safeParse(app).data ?? []).filter(app => !builtIn.has(app.name))
  return [...own, TERMINAL, ...BUILT_IN_APPS.map(toApp)]
}

/** Finds an app that a tunnel may lead to: any but the terminal, which has its own endpoint, or any port by its name (`http-8080`). */
export function findTunnelApp(session: Pick<SessionRow, 'apps'>, name: string): App | undefined {
  if (name === TERMINAL.name) return undefined
  return appsOf(session).find(app => app.name === name) ?? portApp(name)
}

function portApp(name: string): App | undefined {
  const found = forwardedPort(name)
  if (!found) return undefined
  const { title, protocol, path } = found
  return { name, title, protocol, path }
}

export function toApp({ name, title, protocol, path, allowedOptions }: KernelApp): App {
  const app = { name, title, protocol, path: path.startsWith('/') ? path : `/${path}` }
  return allowedOptions ? { ...app, allowedOptions } : app
}
