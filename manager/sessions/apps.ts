import { type App } from '#manager/contract'
import { BUILT_IN_APPS, KernelApp } from '#agent/contract'
import { type SessionRow } from '../store/sessions.ts'

const TERMINAL: App = { name: 'terminal', title: 'Terminal', protocol: 'tcp', path: '/' }

/** Apps of the image, with their commands. */
export function kernelAppsOf(session: Pick<SessionRow, 'apps'>): KernelApp[] {
  return KernelApp.array().parse(session.apps)
}

/** Apps as users see them: those of the image, then the ones that every session has. */
export function appsOf(session: Pick<SessionRow, 'apps'>): App[] {
  const builtIn = new Set([TERMINAL.name, ...BUILT_IN_APPS.map(app => app.name)])
  const own = kernelAppsOf(session).filter(app => !builtIn.has(app.name))
  return [...own.map(toApp), TERMINAL, ...BUILT_IN_APPS.map(toApp)]
}

/** An app that a tunnel may lead to; the terminal has an endpoint of its own. */
export function findTunnelApp(session: Pick<SessionRow, 'apps'>, name: string): App | undefined {
  return appsOf(session).find(app => app.name === name && app.name !== TERMINAL.name)
}

export function toApp({ name, title, protocol, path }: KernelApp): App {
  return { name, title, protocol, path: path.startsWith('/') ? path : `/${path}` }
}
